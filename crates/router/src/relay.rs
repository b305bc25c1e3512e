//! The page to read first: how a notice becomes a decision, and a decision a delivery.
//!
//! A [`Notice`] says no more than "look at this loop". The relay reads the branch, decides, and writes down in
//! one transaction what it saw and whom to wake. It never wakes anybody itself: that is the
//! [`courier`](crate::courier)'s, which is nudged afterwards. Reading the same state again writes nothing new, so a
//! notice may come twice, late, or from a clock.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use jiff::Timestamp;
use loop_core::decide::{Decision, Hold};
use loop_core::history::Damage;
use loop_core::{Name, Verdict};
use loop_store::{Delivery, LoopPatch, LoopRow, Outcome, Recorded, StoreError, TurnRecord};
use tokio::sync::Mutex;

use crate::desk::Desk;
use crate::reading::{Known, Observed, ReadError, Reader, Reading};
use crate::tell::Message;

/// "Look at this loop."
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Which loop.
    pub loop_id: String,
    /// Who rang, for the log: `hook`, `webhook`, `refs`, `sweep`, `start`, `person`, `settled`, `verify`.
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
        recorded: Recorded,
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

/// Open repositories, one lock each: a loop is read by one notice at a time.
#[derive(Default)]
pub(crate) struct Readers {
    open: Mutex<HashMap<String, Arc<Mutex<Option<Reader>>>>>,
}

impl Readers {
    async fn of(&self, loop_id: &str) -> Arc<Mutex<Option<Reader>>> {
        Arc::clone(self.open.lock().await.entry(loop_id.to_owned()).or_default())
    }

    /// Closes what is kept open of a loop that has ended.
    pub(crate) async fn close(&self, loop_id: &str) {
        self.open.lock().await.remove(loop_id);
    }
}

impl Desk {
    /// Follows one notice.
    ///
    /// # Errors
    /// Fails when the loop is unknown, cannot be read, or the store cannot be written; the state on record stays.
    pub async fn relay(&self, notice: &Notice) -> Result<Relayed, RelayError> {
        let seat = self.readers.of(&notice.loop_id).await;
        let mut seat = seat.lock_owned().await;
        let row = self
            .store
            .loop_row(&notice.loop_id)
            .await?
            .ok_or_else(|| RelayError::UnknownLoop(notice.loop_id.clone()))?;
        let known = self.known(row.clone()).await?;
        let kinds = self.options.kinds.clone();
        let git_env = self.options.git_env.clone();
        // libgit2 blocks: it gets a thread of its own, and the reader goes along and comes back with the seat.
        let (reading, known) = tokio::task::spawn_blocking(move || {
            let known_row = known.row.as_ref().map(|row| row.worktree.clone()).unwrap_or_default();
            let reading = (|| {
                let reader = match seat.as_mut() {
                    Some(reader) => reader,
                    None => seat.insert(Reader::open(&known_row, &git_env)?),
                };
                reader.read(&known, &kinds)
            })();
            if reading.is_err() {
                // A repository that was moved or repacked under us is opened anew the next time.
                *seat = None;
            }
            (reading, known)
        })
        .await
        .map_err(|error| RelayError::Thread(error.to_string()))?;
        match reading? {
            Reading::Underway(operation) => {
                Ok(Relayed::Nothing(format!("{operation} is under way; the turn is looked at after it")))
            }
            Reading::Idle { .. } => {
                if row.state != "idle" {
                    self.set_state(&row, "idle", "there is no STATUS.md at the tip").await?;
                }
                Ok(Relayed::Nothing("no STATUS.md at the tip of the branch".to_owned()))
            }
            Reading::Unreadable { why, .. } => {
                self.hold_unreadable(&row, &why).await?;
                Ok(Relayed::Nothing(why))
            }
            Reading::Loop(observed) => {
                if observed.status.loop_id.as_ref().is_some_and(|id| *id != row.id) {
                    return Ok(Relayed::Nothing(format!(
                        "the branch {} carries another loop now",
                        row.branch
                    )));
                }
                let recorded = self.record(&row, &known, &observed, notice).await?;
                Ok(Relayed::Read { observed, recorded })
            }
        }
    }

    /// What the store remembers of a loop.
    pub(crate) async fn known(&self, row: LoopRow) -> Result<Known, StoreError> {
        let mut known = remembered(&self.store, row).await?;
        let out = known.deliveries.iter().rfind(|delivery| delivery.state.is_out());
        if let Some(out) = out {
            known.turn_minutes = Some(self.worked.of(&out.id).as_secs_f64() / 60.0);
        }
        Ok(known)
    }

    async fn record(
        &self,
        row: &LoopRow,
        known: &Known,
        observed: &Observed,
        notice: &Notice,
    ) -> Result<Recorded, RelayError> {
        let wake = self.whom_to_wake(row, observed);
        let outcome = Outcome {
            tip: observed.tip.to_string(),
            turns: turns_to_record(known, observed),
            state: observed.report().state.to_owned(),
            decision_json: serde_json::to_string(&observed.report().decision).unwrap_or_default(),
            decision_key: observed.decided.decision.key(),
            wake,
            cause_turn: observed.status.turns.len(),
            now: Timestamp::now(),
        };
        let recorded = self.store.record(&row.id, &outcome).await?;
        self.counters.notices.inc();
        self.narrate(row, known, observed, &recorded, notice).await?;
        if let Decision::Held { why: Hold::Verifying, .. } = observed.decided.decision {
            self.start_verify(row, observed);
        }
        self.bell.notify_waiters();
        Ok(recorded)
    }

    /// Whom the decision wakes: the next agent, or, at the end, a planner who has a window of its own.
    fn whom_to_wake(&self, row: &LoopRow, observed: &Observed) -> Option<Name> {
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

    /// Puts into the loop's own log what happened, and tells a person what a person must know.
    async fn narrate(
        &self,
        row: &LoopRow,
        known: &Known,
        observed: &Observed,
        recorded: &Recorded,
        notice: &Notice,
    ) -> Result<(), RelayError> {
        for turn in &observed.status.turns {
            let seen = known
                .turns
                .iter()
                .any(|record| record.n == turn.n && record.fingerprint == turn.fingerprint);
            if !seen {
                let verdict = match &turn.verdict {
                    Some(Verdict::Pass { .. }) => " REVIEW-PASS",
                    Some(Verdict::Blocked { .. }) => " REVIEW-BLOCKED",
                    None => "",
                };
                let text = format!("turn {} by {}: {}{verdict}", turn.n, turn.author, turn.summary);
                self.say(Some(&row.id), "turn", &text).await?;
            }
        }
        if recorded.changed {
            let (text, loud) = headline(&observed.decided.decision);
            tracing::info!(loop_id = row.id, from = notice.from, "{text}");
            self.say(Some(&row.id), "decision", &text).await?;
            if row.up
                && let Some(title) = loud
            {
                self.tell_once(row, title, text.strip_prefix("held: ").unwrap_or(&text)).await?;
            }
        }
        Ok(())
    }

    /// Tells a person, unless this very thing was the last that they were told of this loop.
    pub(crate) async fn tell_once(&self, row: &LoopRow, title: &str, text: &str) -> Result<(), StoreError> {
        let fingerprint = format!("{title}|{text}");
        let told = self.store.loop_row(&row.id).await?.and_then(|row| row.told);
        if told.as_deref() == Some(fingerprint.as_str()) {
            return Ok(());
        }
        self.store
            .update_loop(&row.id, LoopPatch { told: Some(Some(fingerprint)), ..LoopPatch::default() })
            .await?;
        self.say(Some(&row.id), "told", &format!("{title}: {text}")).await?;
        self.options.tell.send_in_background(Message {
            title: format!("loop {title}: {}", row.slug),
            text: loop_core::plain::plain(text).into_owned(),
            repo: row.worktree.display().to_string(),
        });
        Ok(())
    }

    async fn set_state(&self, row: &LoopRow, state: &str, why: &str) -> Result<(), StoreError> {
        let patch = LoopPatch { state: Some(state.to_owned()), ..LoopPatch::default() };
        self.store.update_loop(&row.id, patch).await?;
        self.store.supersede_untyped(&row.id, why, Timestamp::now()).await?;
        self.say(Some(&row.id), "decision", why).await
    }

    async fn hold_unreadable(&self, row: &LoopRow, why: &str) -> Result<(), RelayError> {
        let decision = serde_json::json!({"kind": "held", "agent": null, "turn": 0, "reason": why}).to_string();
        if row.decision_json.as_deref() == Some(decision.as_str()) {
            return Ok(());
        }
        let patch = LoopPatch {
            state: Some("held".to_owned()),
            decision_json: Some(Some(decision)),
            decision_key: Some(Some("unreadable".to_owned())),
            ..LoopPatch::default()
        };
        self.store.update_loop(&row.id, patch).await?;
        self.store.supersede_untyped(&row.id, why, Timestamp::now()).await?;
        self.say(Some(&row.id), "decision", &format!("held: {why}")).await?;
        if row.up {
            self.tell_once(row, "held", why).await?;
        }
        Ok(())
    }
}

/// What the store remembers of a loop, for whoever has the store.
///
/// # Errors
/// Fails when the store cannot be read.
pub async fn remembered(store: &loop_store::Store, row: LoopRow) -> Result<Known, StoreError> {
    let turns = store.turns(&row.id).await?;
    let mut deliveries: Vec<Delivery> = store.deliveries(&row.id, 200).await?;
    deliveries.sort_by(|left, right| left.id.cmp(&right.id));
    let mut verified = BTreeMap::new();
    for event in store.events_of_kind(&row.id, "verify").await? {
        if let Some((commit, result)) = crate::verify::from_event(&event.text) {
            verified.insert(commit, result);
        }
    }
    Ok(Known { row: Some(row), turns, deliveries, verified, turn_minutes: None, branch: None })
}

/// The sections to be put on record: none while they are damaged, and an answered one as it was.
fn turns_to_record(known: &Known, observed: &Observed) -> Vec<TurnRecord> {
    let holds = |damage: &Damage| !matches!(damage, Damage::Edited { .. });
    if observed.facts.damage.iter().any(holds) {
        return Vec::new();
    }
    let newest = observed.status.turns.len();
    observed
        .status
        .turns
        .iter()
        .map(|turn| {
            let before = known.turns.iter().find(|record| record.n == turn.n);
            let facts = observed.facts.turns.get(&turn.n);
            let answered = turn.n < newest;
            let kept = before.filter(|record| record.answered);
            TurnRecord {
                n: turn.n,
                author: turn.author.clone(),
                to: turn.to.clone(),
                summary: turn.summary.clone(),
                fingerprint: kept.map_or_else(|| turn.fingerprint.clone(), |record| record.fingerprint.clone()),
                verdict: turn.verdict.as_ref().map(|verdict| match verdict {
                    Verdict::Pass { .. } => "pass".to_owned(),
                    Verdict::Blocked { .. } => "blocked".to_owned(),
                }),
                commit: facts.and_then(|facts| facts.commit.clone()),
                woken: facts.and_then(|facts| facts.woken),
                answered: answered || kept.is_some(),
            }
        })
        .collect()
}

/// A decision in one line, and the title under which a person is told of it.
pub fn headline(decision: &Decision) -> (String, Option<&'static str>) {
    match decision {
        Decision::Wake { agent, turn, reason } => (format!("turn {turn} goes to {agent}: {reason}"), None),
        Decision::Passed { reason, verified, .. } => {
            let mark = if *verified { "" } else { " (unverified)" };
            (format!("passed{mark}: {reason}"), Some("passed"))
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
