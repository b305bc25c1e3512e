//! The page to read first: how a notice becomes a decision, and a decision a delivery.
//!
//! A [`Notice`] says no more than "look at this loop". The relay reads the branch, decides, and writes down in
//! one transaction what it saw and whom to wake. It never wakes anybody itself: that is the
//! `courier`'s, which is nudged afterwards. Reading the same state again writes nothing new, so a
//! notice may come twice, late, or from a clock.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use loop_core::decide::{Decision, Hold};
use loop_core::history::Damage;
use loop_core::{DeliveryState, Name, Verdict};
use loop_git::GitError;
use loop_store::{Delivery, LoopPatch, LoopRow, Outcome, Recorded, StoreError, TurnRecord};

use crate::desk::Desk;
use crate::reading::{Known, Observed, ReadError, Reader, Reading};
use crate::seats::Seen;
use crate::unread::gone;

/// "Look at this loop."
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Which loop.
    pub loop_id: String,
    /// Who rang, for the log: `hook`, `webhook`, `refs`, `sweep`, `start`, `person`, `courier`, `settled`, `verify`.
    pub from: &'static str,
}

/// What came of a notice.
#[derive(Debug)]
pub enum Relayed {
    /// Nothing to read now, and why.
    Nothing(String),
    /// The loop was read.
    Read {
        /// What was seen and decided.
        observed: Box<Observed>,
        /// What was written down.
        recorded: Box<Recorded>,
    },
}

/// Why a notice could not be followed.
#[derive(Debug, thiserror::Error)]
pub enum RelayError {
    /// No such loop.
    #[error("no loop {0} is known here")]
    UnknownLoop(String),
    /// The loop cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A thread of ours died.
    #[error("reading the repository stopped: {0}")]
    Thread(String),
}

impl Desk {
    /// Follows one notice. A loop is read, decided and written down by one notice at a time.
    ///
    /// # Errors
    /// Fails when the loop is unknown, cannot be read, or the store cannot be written; the state on record stays.
    pub async fn relay(&self, notice: &Notice) -> Result<Relayed, RelayError> {
        let mut seat = self.seats.take(&notice.loop_id).await;
        let row = self
            .store
            .loop_row(&notice.loop_id)
            .await?
            .ok_or_else(|| RelayError::UnknownLoop(notice.loop_id.clone()))?;
        if row.ended_at.is_some() {
            self.seats.close(&notice.loop_id).await;
            return Ok(Relayed::Nothing("the loop has ended".to_owned()));
        }
        let known = remembered(&self.store, row.clone()).await?;
        let kinds = self.options.kinds.clone();
        let git_env = self.options.git_env.clone();
        // libgit2 blocks: it gets a thread of its own, and the reader goes along and comes back with its seat.
        let (mut seat, reading, known) = tokio::task::spawn_blocking(move || {
            let worktree = known.row.as_ref().map(|row| row.worktree.clone()).unwrap_or_default();
            seat.seen = None;
            let reading = (|| {
                if !worktree.is_dir() {
                    return Err(ReadError::from(GitError::NotARepository { path: worktree.clone() }));
                }
                let reader = match seat.reader.as_mut() {
                    Some(reader) => reader,
                    None => seat.reader.insert(Reader::open(&worktree, &git_env)?),
                };
                reader.read(&known, &kinds)
            })();
            if reading.is_err() {
                // A repository that was moved or repacked under us is opened anew the next time.
                seat.reader = None;
            }
            (seat, reading, known)
        })
        .await
        .map_err(|error| RelayError::Thread(error.to_string()))?;
        let (tip, relayed) = self.write_down(&row, &known, reading, notice).await?;
        seat.seen = tip.map(|tip| Seen::new(&row, &known.deliveries, tip));
        Ok(relayed)
    }

    /// Writes down what was read. Returns the tip too, where the same tip would lead to the same again.
    async fn write_down(
        &self,
        row: &LoopRow,
        known: &Known,
        reading: Result<Reading, ReadError>,
        notice: &Notice,
    ) -> Result<(Option<String>, Relayed), RelayError> {
        let tip_text = |tip: Option<&loop_git::CommitId>| tip.map(ToString::to_string).unwrap_or_default();
        match reading {
            Ok(Reading::Underway(operation)) => {
                self.look_again(&row.id);
                let why = format!("a {operation} is under way; the turn is looked at after it");
                Ok((None, Relayed::Nothing(why)))
            }
            Ok(Reading::Idle { tip }) => {
                let why = self.without_status(row, known, tip.as_ref()).await?;
                Ok((Some(tip_text(tip.as_ref())), Relayed::Nothing(why)))
            }
            Ok(Reading::Unreadable { tip, why }) => {
                self.hold_unread(row, known, &why, "the loop then goes on by itself").await?;
                Ok((Some(tip_text(Some(&tip))), Relayed::Nothing(why)))
            }
            Ok(Reading::Loop(observed)) => {
                if observed.status.loop_id.as_ref().is_some_and(|id| *id != row.id) {
                    let why = format!("the branch {} carries another loop now", row.branch);
                    self.idle(row, &why).await?;
                    return Ok((Some(observed.tip.to_string()), Relayed::Nothing(why)));
                }
                let recorded = self.record(row, known, &observed, notice).await?;
                Ok((Some(observed.tip.to_string()), Relayed::Read { observed, recorded: Box::new(recorded) }))
            }
            Err(error) => match gone(row, &error) {
                Some((why, next)) => {
                    self.hold_unread(row, known, &why, &next).await?;
                    Ok((None, Relayed::Nothing(why)))
                }
                None => Err(error.into()),
            },
        }
    }

    async fn record(
        &self,
        row: &LoopRow,
        known: &Known,
        observed: &Observed,
        notice: &Notice,
    ) -> Result<Recorded, RelayError> {
        if observed.forgiven {
            self.store.forget_turns(&row.id).await?;
        }
        self.note_damage(row, known, observed).await?;
        let decision = &observed.decided.decision;
        let outcome = Outcome {
            tip: observed.tip.to_string(),
            turns: turns_to_record(known, observed),
            state: observed.report().state.to_owned(),
            decision_json: serde_json::to_string(&observed.report().decision).unwrap_or_default(),
            decision_key: decision.key(),
            wake: whom_to_wake(row, observed),
            cause_turn: observed.status.turns.len(),
            now: Timestamp::now(),
        };
        let mut recorded = self.store.record(&row.id, &outcome).await?;
        self.wake_again(row, decision, &mut recorded).await?;
        self.counters.notices.inc();
        self.narrate(row, known, observed, &outcome.turns, recorded.changed, notice).await?;
        if let Decision::Held { why: Hold::Verifying, .. } = decision {
            self.start_verify(row, observed);
        }
        self.bell.notify_waiters();
        Ok(recorded)
    }

    /// The decided wake was made before and came to nothing, and the decision stands: the next attempt. (Whether it
    /// may stand is [`facts`](crate::facts)' to say: after the second time the loop is held.)
    ///
    /// A planner owes no section. It is woken once for each thing that ends or holds the loop.
    async fn wake_again(
        &self,
        row: &LoopRow,
        decision: &Decision,
        recorded: &mut Recorded,
    ) -> Result<(), StoreError> {
        let Some(last) = &recorded.delivery else { return Ok(()) };
        let to_planner = !matches!(decision, Decision::Wake { .. });
        let key = decision.key();
        let is_told = !to_planner || row.planner_told.as_deref() == Some(key.as_str());
        if to_planner && !is_told {
            let patch = LoopPatch { planner_told: Some(Some(key)), ..LoopPatch::default() };
            self.store.update_loop(&row.id, patch).await?;
        }
        let again = last.state.is_final() && last.state != DeliveryState::Superseded && !recorded.new;
        if again && (!to_planner || !is_told) {
            let next = self.store.next_attempt(&last.id, "woken once more", Timestamp::now()).await?;
            recorded.new = next.is_some();
            recorded.delivery = next.or_else(|| recorded.delivery.take());
        }
        Ok(())
    }
}

/// Whom the decision wakes: the next agent, or, at the end, a planner who has a window of its own.
fn whom_to_wake(row: &LoopRow, observed: &Observed) -> Option<Name> {
    if !row.up {
        return None;
    }
    let planner = || {
        let planner = observed.config.planner.as_ref()?;
        observed.config.agent(planner).map(|agent| agent.name.clone())
    };
    match &observed.decided.decision {
        Decision::Wake { agent, .. } => Some(agent.clone()),
        Decision::Passed { .. } => planner(),
        Decision::Held { why: Hold::Verifying | Hold::Paused, .. } => None,
        Decision::Held { .. } => planner(),
    }
}

/// What the store remembers of a loop, for whoever has the store.
///
/// # Errors
/// Fails when the store cannot be read.
pub async fn remembered(store: &loop_store::Store, row: LoopRow) -> Result<Known, StoreError> {
    let turns = store.turns(&row.id).await?;
    let mut deliveries: Vec<Delivery> = store.deliveries(&row.id, 200).await?;
    // Newest first as they come; newest last is what everything here goes by.
    deliveries.reverse();
    let mut verified = BTreeMap::new();
    for event in store.events_of_kind(&row.id, "verify").await? {
        if let Some((commit, result)) = crate::verify::from_event(&event.text) {
            verified.insert(commit, result);
        }
    }
    let is_damaged = row
        .decision_key
        .as_deref()
        .is_some_and(|key| key.starts_with("held damaged") || key.starts_with("held two-names"));
    let damaged_at = match is_damaged {
        true => store.events_of_kind(&row.id, "damage").await?.pop().map(|event| event.text),
        false => None,
    };
    let out = deliveries.iter().rfind(|delivery| delivery.state.is_out());
    let turn_minutes = out.map(|out| out.worked_ms as f64 / 60_000.0);
    Ok(Known { row: Some(row), turns, deliveries, verified, turn_minutes, branch: None, damaged_at })
}

/// The sections to be put on record: none while they are damaged, and an answered one as it was.
fn turns_to_record(known: &Known, observed: &Observed) -> Vec<TurnRecord> {
    let holds = |damage: &Damage| !matches!(damage, Damage::Edited { .. });
    if observed.facts.damage.iter().any(holds) {
        return Vec::new();
    }
    let before: HashMap<usize, &TurnRecord> = match observed.forgiven {
        true => HashMap::new(),
        false => known.turns.iter().map(|record| (record.n, record)).collect(),
    };
    let newest = observed.status.turns.len();
    observed
        .status
        .turns
        .iter()
        .map(|turn| {
            let facts = observed.facts.turns.get(&turn.n);
            let kept = before.get(&turn.n).filter(|record| record.answered);
            TurnRecord {
                n: turn.n,
                author: turn.author.clone(),
                to: turn.to.clone(),
                summary: turn.summary.clone(),
                fingerprint: kept
                    .map_or_else(|| turn.fingerprint.clone(), |record| record.fingerprint.clone()),
                verdict: turn.verdict.as_ref().map(|verdict| match verdict {
                    Verdict::Pass { .. } => "pass".to_owned(),
                    Verdict::Blocked { .. } => "blocked".to_owned(),
                }),
                commit: facts.and_then(|facts| facts.commit.clone()),
                woken: facts.and_then(|facts| facts.woken),
                answered: turn.n < newest || kept.is_some(),
            }
        })
        .collect()
}

/// A decision in one line, and the title under which a person is told of it.
pub fn headline(decision: &Decision) -> (String, Option<&'static str>) {
    match decision {
        Decision::Wake { agent, turn, reason } => (format!("turn {turn} goes to {agent}: {reason}"), None),
        Decision::Passed { reason, verified, .. } => {
            // The reason says both by itself where a verdict ended the loop.
            let mark = if *verified || reason.contains("unverified") { "" } else { " (unverified)" };
            let text = match reason.starts_with("passed") {
                true => format!("{reason}{mark}"),
                false => format!("passed{mark}: {reason}"),
            };
            (text, Some("passed"))
        }
        Decision::Held { why, reason, next, .. } => {
            let title = match why {
                Hold::Verifying | Hold::Paused => None,
                Hold::Blocked => Some("blocked"),
                Hold::Dead => Some("dead"),
                _ => Some("held"),
            };
            (format!("held: {reason}; {next}"), title)
        }
    }
}
