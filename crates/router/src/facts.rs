//! What git and the ledger add to STATUS.md, put beside each other for the decision.

use std::collections::HashMap;

use loop_core::decide::{Facts, Hold, Stopped, TurnFacts, expected};
use loop_core::history::{self, Damage, Recorded};
use loop_core::{Config, DeliveryState, Name, Status};
use loop_git::{Story, TurnCommit};
use loop_store::{Delivery, TurnRecord};

use crate::reading::Known;

/// An agent that a person interrupted owes no section for that wake.
pub(crate) const INTERRUPTED: &str = "interrupted by a person";
/// Nor does one whose loop was taken down.
pub(crate) const TAKEN_DOWN: &str = "the loop was taken down";
/// Nor one that could not go on.
pub(crate) const LIMITED: &str = "it had met a usage limit";
/// Nor one whose section nobody waits for (any more).
pub(crate) const NOT_MISSED: &str = "it has settled, and no section of it is missed";

/// After this many wakes that came to nothing the loop is held.
const WAKES: usize = 2;

/// Stands in a delivery's reason between what happened and the agent's last lines.
pub(crate) const LAST_LINES: &str = "; its last lines: ";

/// Stands in a delivery's reason before the file with what an agent's run printed.
pub(crate) const OUTPUT: &str = "; its output: ";

/// Puts everything together. `forgiven` tells that a person resumed with the present damage before their eyes.
pub(crate) fn facts(status: &Status, config: &Config, story: &Story, known: &Known) -> (Facts, bool) {
    let recorded: Vec<Recorded> = known.turns.iter().map(as_recorded).collect();
    let places: HashMap<usize, &TurnCommit> = story.turns.iter().map(|place| (place.n, place)).collect();
    let mut damage = history::compare(&recorded, status);
    damage.extend(two_names(status, story, known));
    let holds = |damage: &Damage| !matches!(damage, Damage::Edited { .. });
    let forgiven = known.is_resumed_anew() && damage.iter().any(holds);
    if forgiven {
        damage.clear();
    }
    let woken = Woken::new(known, status, config, forgiven);
    let by_n: HashMap<usize, &TurnRecord> = known.turns.iter().map(|record| (record.n, record)).collect();
    let ended_at = known.row.as_ref().filter(|row| row.state == "passed").map(|_| known.turns.len());
    let turns = status
        .turns
        .iter()
        .map(|turn| {
            let place = places.get(&turn.n);
            let commit = place.map(|place| place.commit.to_string());
            let verify = commit.as_ref().and_then(|commit| known.verified.get(commit)).cloned();
            let ended = ended_at == Some(turn.n)
                && by_n.get(&turn.n).is_some_and(|record| {
                    record.author == turn.author && record.fingerprint == turn.fingerprint
                });
            let tree = place.map(|place| place.tree.clone());
            (turn.n, TurnFacts { commit, woken: woken.of(turn.n), tree, verify, ended })
        })
        .collect();
    let row = known.row.as_ref();
    let mut facts = Facts {
        repository: true,
        turns,
        changes: story.changes.clone(),
        skipped: row.map(|row| row.skipped.iter().cloned().collect()).unwrap_or_default(),
        paused: row.and_then(|row| row.paused.clone()),
        minutes: row.map(|row| row.worked_ms as f64 / 60_000.0),
        turn_minutes: known.turn_minutes,
        tokens: None,
        resumed: row.and_then(|row| row.resumed.clone()),
        accepted: row.and_then(|row| row.accepted.clone()),
        damage,
        damaged_at: None,
        commits: Vec::new(),
        stopped: None,
    };
    let due = expected(status, config, &facts, status.turns.len() + 1);
    facts.stopped = due.as_ref().and_then(|due| stopped(status.turns.len(), due, known));
    // The time of an agent that is still at an older turn is not that of the one that is due.
    let out = known.deliveries.iter().rfind(|delivery| delivery.state.is_out());
    if let Some(out) = out.filter(|out| due.as_ref() != Some(&out.agent)) {
        let minutes = facts.turn_minutes.take();
        facts.stopped = facts.stopped.or_else(|| overdue(&out.agent, minutes?, config));
    }
    (facts, forgiven)
}

pub(crate) fn as_recorded(turn: &TurnRecord) -> Recorded {
    Recorded {
        n: turn.n,
        author: turn.author.clone(),
        fingerprint: turn.fingerprint.clone(),
        summary: turn.summary.clone(),
        commit: turn.commit.clone(),
        answered: turn.answered,
    }
}

/// Who had been woken for which turn.
struct Woken<'a> {
    known: &'a Known,
    status: &'a Status,
    config: &'a Config,
    by_n: HashMap<usize, &'a TurnRecord>,
    /// Sections on record by author and text, to find them where damage has moved them.
    by_text: HashMap<(&'a Name, &'a str), &'a TurnRecord>,
    /// Before each section: the number of its author's section before it, else 0.
    before: Vec<usize>,
    /// The section that caused the first wake that is remembered; what came before is anybody's guess.
    first: Option<usize>,
    forgiven: bool,
}

impl<'a> Woken<'a> {
    fn new(known: &'a Known, status: &'a Status, config: &'a Config, forgiven: bool) -> Self {
        let mut last: HashMap<&Name, usize> = HashMap::new();
        let before = status.turns.iter().map(|turn| last.insert(&turn.author, turn.n).unwrap_or(0)).collect();
        Self {
            by_n: known.turns.iter().map(|record| (record.n, record)).collect(),
            by_text: known
                .turns
                .iter()
                .map(|record| ((&record.author, record.fingerprint.as_str()), record))
                .collect(),
            before,
            first: known.deliveries.iter().map(|delivery| delivery.turn).min(),
            known,
            status,
            config,
            forgiven,
        }
    }

    /// What is known of section `n`. What was recorded once stays: deliveries from long ago are not remembered.
    fn of(&self, n: usize) -> Option<bool> {
        let turn = self.status.turns.get(n.wrapping_sub(1))?;
        let row = self.known.row.as_ref()?;
        let record = match self.forgiven {
            true => self.by_text.get(&(&turn.author, turn.fingerprint.as_str())),
            false => self.by_n.get(&n).filter(|record| record.author == turn.author),
        };
        match record {
            Some(record) => record.woken,
            None if row.up && self.first.is_some_and(|first| n > first) => {
                Some(self.was_woken(n, &turn.author))
            }
            None => None,
        }
    }

    /// Whether the router had put its text before `author` since that author's last section.
    fn was_woken(&self, n: usize, author: &Name) -> bool {
        let before = self.before[n - 1];
        // A person reads in `loop status` that it is their turn, told or not.
        let reads =
            self.config.agent(author).is_some_and(|agent| agent.transport.iter().any(|t| t == "person"));
        self.known.deliveries.iter().any(|delivery| {
            delivery.agent == *author
                && (before..n).contains(&delivery.turn)
                && (reads || has_reached(delivery))
        })
    }
}

fn has_reached(delivery: &Delivery) -> bool {
    delivery.typed_at.is_some()
        || delivery.submitted_at.is_some()
        || delivery.started_at.is_some()
        || delivery.state.is_out()
}

/// One commit with new sections of two names, unless all of them were on record before (a squash).
fn two_names(status: &Status, story: &Story, known: &Known) -> Vec<Damage> {
    if known.row.is_none() || story.two_names.is_empty() {
        return Vec::new();
    }
    let recorded: std::collections::HashSet<(&Name, &str)> =
        known.turns.iter().map(|record| (&record.author, record.fingerprint.as_str())).collect();
    let mut damage = Vec::new();
    for (commit, _) in &story.two_names {
        let brought = story.turns.iter().filter(|place| place.commit == *commit);
        let fresh = brought
            .filter_map(|place| status.turns.get(place.n.wrapping_sub(1)))
            .filter(|turn| !recorded.contains(&(&turn.author, turn.fingerprint.as_str())));
        let mut authors: Vec<Name> = Vec::new();
        let mut second = 0;
        for turn in fresh {
            if !authors.contains(&turn.author) {
                authors.push(turn.author.clone());
                if authors.len() == 2 {
                    second = turn.line;
                }
            }
        }
        if authors.len() > 1 {
            damage.push(Damage::TwoNames { commit: Some(commit.to_string()), authors, line: second });
        }
    }
    damage
}

/// A hold that the ledger asks for: the wakes of the agent that is due came to nothing.
fn stopped(turn: usize, due: &Name, known: &Known) -> Option<Stopped> {
    let its = || known.deliveries.iter().filter(|delivery| delivery.turn == turn && delivery.agent == *due);
    let newest = its().rfind(|delivery| delivery.state != DeliveryState::Superseded)?;
    let reason = newest.reason.clone().unwrap_or_default();
    match newest.state {
        DeliveryState::Unanswered
            if !is_excused(newest) && its().filter(|delivery| is_fruitless(delivery)).count() >= WAKES =>
        {
            let (what, lines) = reason.split_once(LAST_LINES).unwrap_or((&reason, ""));
            let lines = if lines.is_empty() { String::new() } else { format!("{LAST_LINES}{lines}") };
            // A run without a window has left a file to look at.
            let (what, look) = match what.split_once(OUTPUT) {
                Some((what, file)) => (what, format!("look at {file}")),
                None => (what, format!("look at its window (`loop attach {due}`)")),
            };
            Some(Stopped {
                why: Hold::Unanswered,
                reason: format!("{due} stopped without committing ({what}){lines}"),
                next: format!("{look}, then `loop resume` wakes it again"),
            })
        }
        DeliveryState::Dead => Some(Stopped {
            why: Hold::Dead,
            reason: format!("{due} could not be woken: {reason}"),
            next: "mend the cause, then `loop resume` tries again".to_owned(),
        }),
        _ => None,
    }
}

/// Somebody spoke out of turn, and the agent that was woken before has been waited for long enough.
fn overdue(agent: &Name, minutes: f64, config: &Config) -> Option<Stopped> {
    let limit = config.limits.turn_minutes.filter(|limit| minutes >= *limit)?;
    Some(Stopped {
        why: Hold::TurnMinutes,
        reason: format!("{agent} is still at an older turn after {minutes:.0} minutes, the limit is {limit}"),
        next: format!("look with `loop attach {agent}`; then `loop resume` or `loop stop`"),
    })
}

fn is_excused(delivery: &Delivery) -> bool {
    let reason = delivery.reason.as_deref().unwrap_or_default();
    [INTERRUPTED, TAKEN_DOWN, LIMITED, NOT_MISSED].iter().any(|excuse| reason.starts_with(excuse))
}

fn is_fruitless(delivery: &Delivery) -> bool {
    delivery.state == DeliveryState::Unanswered && !is_excused(delivery)
}
