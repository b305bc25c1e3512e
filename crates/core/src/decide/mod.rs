//! What must happen now.
//!
//! [`decide`] asks in this order, and the first answer stands:
//!
//! 1. STATUS.md cannot be read: held. Nothing below could be trusted.
//! 2. A person accepted: passed by them. They have seen what is held; it needs no rule of `loop.yaml`.
//! 3. `loop.yaml` is not the approved one: held. Its rules do not hold, so no verdict can be weighed.
//! 4. A section vanished, changed its author or was put between others: held. A verdict next to a missing
//!    section proves nothing.
//! 5. The newest section is a pass that the policy accepts: passed, or held while `verify` runs on it.
//! 6. It is a block that nobody has answered: held.
//! 7. An agent stopped without a section, or a delivery is dead: held.
//! 8. A person paused: held.
//! 9. The newest section hands the turn to a person or the planner: held for them.
//! 10. A limit is reached, or nothing moves: held.
//! 11. Whoever is due (`due.rs`) is woken; with nobody left, held.
//!
//! A verdict (5, 6) is looked at before any limit (10): a loop that ends in its last round has passed.

mod commits;
mod damage;
mod due;
mod limits;
mod order;
mod policy;
mod progress;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;

pub use limits::{Rounds, rounds};

use commits::short;
use due::Course;
use policy::Ruling;

use crate::config::Config;
use crate::diagnostic::Diagnostic;
use crate::history::Damage;
use crate::name::Name;
use crate::status::{Status, Verdict};

/// What git, the ledger and the clock add to STATUS.md. [`Facts::default`] knows nothing: no file changed, no
/// time passed, every agent counts as woken, nothing holds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts {
    /// Whether these facts come from a repository. Without one no limit and no no-progress rule applies, the
    /// commit that a pass names is not looked for, and `verify`, which nobody can run, is not waited for.
    pub repository: bool,
    /// Every commit of the loop, oldest first, to find the one that a pass names. Empty: told from the commits of
    /// the turns and changes alone.
    pub commits: Vec<String>,
    /// Facts of single turns, by their number. A missing turn is unknown.
    pub turns: BTreeMap<usize, TurnFacts>,
    /// Every commit of the loop that changed a file other than STATUS.md, oldest first.
    pub changes: Vec<Change>,
    /// Agents left out by a person (`loop skip`), besides `skip: true` in the configuration.
    pub skipped: BTreeSet<Name>,
    /// A person's pause, with the reason in their words.
    pub paused: Option<String>,
    /// Working minutes since the start, or since the last `loop resume`.
    pub minutes: Option<f64>,
    /// Working minutes that the agent due now has had for its turn, since it was woken or since the last `loop
    /// resume`, whichever is later.
    pub turn_minutes: Option<f64>,
    /// Tokens used since the start or the last `loop resume`, where the agents tell them.
    pub tokens: Option<u64>,
    /// The last `loop resume`.
    pub resumed: Option<Resume>,
    /// A person's `loop accept`.
    pub accepted: Option<Accept>,
    /// What later commits did to earlier sections.
    pub damage: Vec<Damage>,
    /// The commit in which that damage was first seen.
    pub damaged_at: Option<String>,
    /// A reason to hold that the router found outside STATUS.md (an agent that settled twice without a section,
    /// a dead delivery, a changed `loop.yaml`), in words, with what a person can do.
    pub stopped: Option<Stopped>,
}

/// What is known of one turn beside its text.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TurnFacts {
    /// The commit in which the section first stood in its present form.
    pub commit: Option<String>,
    /// Whether the router had woken this agent for this turn; `None`: unknown, counts as woken.
    pub woken: Option<bool>,
    /// Id of the tree at the section's commit, STATUS.md left out: equal ids, equal code.
    pub tree: Option<String>,
    /// What the router's own run of `verify` at this turn's commit said.
    pub verify: Option<Verify>,
    /// Whether a pass in this turn ended the loop, by the decision on record. History that is rewritten
    /// afterwards (a rebase renames every commit) then does not make the pass one for an unknown commit.
    pub ended: bool,
}

/// Result of a verify run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verify {
    /// The command has not finished yet.
    Running,
    /// The command succeeded.
    Passed,
    /// The command failed; the text says how (`exit 1: 2 tests failed`).
    Failed(String),
}

/// A commit that changed a file other than STATUS.md.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The full commit id.
    pub commit: String,
    /// The turn in which it was made: the first section whose commit is this one or a later one; one more than
    /// the newest turn for changes that no section follows yet.
    pub turn: usize,
    /// Who made it.
    pub by: Who,
    /// Whether everything it changed is a file that loop itself wrote for the start of a loop (`loop.yaml`, skills).
    pub set_up: bool,
}

/// Who made a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Who {
    /// An agent, by the commit's trailer or by the section that it or the next section's commit adds.
    Agent(Name),
    /// Somebody else, in words (`Dana`, `a person`).
    Person(String),
}

impl fmt::Display for Who {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Agent(name) => name.fmt(formatter),
            Self::Person(words) => formatter.pad(words),
        }
    }
}

/// A `loop resume`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Resume {
    /// How many turns there were then: limits and no-progress count from here, and a block or a hand-over to a
    /// person at or before this turn is answered.
    pub after_turn: usize,
    /// To whom the turn goes instead of to whoever was due (`--to NAME`); holds until the next turn.
    pub to: Option<Name>,
    /// Rounds granted instead of `limits.rounds`.
    pub rounds: Option<u32>,
    /// Hours granted instead of `limits.hours`.
    pub hours: Option<f64>,
}

/// A `loop accept`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accept {
    /// How many turns there were then; a later turn reopens the loop.
    pub after_turn: usize,
    /// Who accepted.
    pub by: String,
    /// Why, in their words.
    pub why: Option<String>,
    /// The commit that was accepted.
    pub commit: Option<String>,
}

/// A reason to hold from outside STATUS.md.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stopped {
    /// Which rule stopped the loop.
    pub why: Hold,
    /// What happened, for example `CC stopped without committing (4 files changed)`.
    pub reason: String,
    /// What a person can do.
    pub next: String,
}

/// What must happen now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// An agent is to be woken.
    Wake {
        /// Whom.
        agent: Name,
        /// The number of the turn to come.
        turn: usize,
        /// Why this one.
        reason: String,
    },
    /// The loop has passed.
    Passed {
        /// Who gave the pass that ended it, or the person who accepted.
        by: String,
        /// The number of the turn that would come next.
        turn: usize,
        /// The passed commit, where known.
        commit: Option<String>,
        /// Whether `verify` ran and succeeded. `false`: passed but unverified.
        verified: bool,
        /// Commits since the passed one that changed other files than STATUS.md: unreviewed.
        unreviewed: usize,
        /// In words.
        reason: String,
    },
    /// Nothing happens until a person, or time, changes something.
    Held {
        /// Which rule.
        why: Hold,
        /// The number of the turn to come.
        turn: usize,
        /// What happened, with the figures.
        reason: String,
        /// What a person can do.
        next: String,
    },
}

/// Rules that hold a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hold {
    /// An agent wrote REVIEW-BLOCKED.
    Blocked,
    /// A section hands the turn to a person or the planner.
    ForPerson,
    /// A person paused.
    Paused,
    /// The round limit.
    Rounds,
    /// The limit of hours.
    Hours,
    /// The limit of minutes for one turn.
    TurnMinutes,
    /// The limit of tokens.
    Tokens,
    /// Turns without a change and without a verdict.
    NoProgress,
    /// Code that came back to an earlier state.
    Oscillation,
    /// Every agent is skipped.
    AllSkipped,
    /// A section vanished, changed its author or was put before another.
    Damaged,
    /// New sections of two names in one commit.
    TwoNames,
    /// `loop.yaml` is not the one that a person approved, or cannot be read.
    Config,
    /// STATUS.md cannot be read.
    Unreadable,
    /// An agent stopped twice without committing a section.
    Unanswered,
    /// A delivery is dead after ten tries.
    Dead,
    /// `verify` is running.
    Verifying,
}

/// A decision with the diagnostics that only facts could show (`stale-pass`, `not-woken`, `pass-not-enough`, …).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    /// What must happen.
    pub decision: Decision,
    /// Whose turn it is, also while something holds the loop; `None` when every agent is skipped.
    pub due: Option<Name>,
    /// In line order.
    pub diagnostics: Vec<Diagnostic>,
}

impl Decision {
    /// A text that is equal for equal decisions: what has grown since (minutes, commits after the end) or was
    /// renamed (commits, by a rebase) is not in it.
    pub fn key(&self) -> String {
        match self {
            Self::Wake { agent, turn, .. } => format!("wake {} {turn}", agent.key()),
            Self::Passed { by, turn, verified, .. } => format!("passed {turn} {verified} {by}"),
            Self::Held { why, turn, reason, .. } => match why {
                // Their reasons hold figures that grow.
                Hold::Rounds | Hold::Hours | Hold::TurnMinutes | Hold::Tokens | Hold::NoProgress => {
                    format!("held {why} {turn}")
                }
                _ => format!("held {why} {turn} {reason}"),
            },
        }
    }

    /// The number of the turn to come.
    pub fn turn(&self) -> usize {
        match self {
            Self::Wake { turn, .. } | Self::Passed { turn, .. } | Self::Held { turn, .. } => *turn,
        }
    }

    /// Why, in words.
    pub fn reason(&self) -> &str {
        match self {
            Self::Wake { reason, .. } | Self::Passed { reason, .. } | Self::Held { reason, .. } => reason,
        }
    }
}

impl Hold {
    /// The rule's word, for example `turn-minutes`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Blocked => "blocked",
            Self::ForPerson => "for-person",
            Self::Paused => "paused",
            Self::Rounds => "rounds",
            Self::Hours => "hours",
            Self::TurnMinutes => "turn-minutes",
            Self::Tokens => "tokens",
            Self::NoProgress => "no-progress",
            Self::Oscillation => "oscillation",
            Self::AllSkipped => "all-skipped",
            Self::Damaged => "damaged",
            Self::TwoNames => "two-names",
            Self::Config => "config",
            Self::Unreadable => "unreadable",
            Self::Unanswered => "unanswered",
            Self::Dead => "dead",
            Self::Verifying => "verifying",
        }
    }

    /// Whether one of the configured limits holds the loop (exit code 4 for those who wait for its end).
    pub fn is_limit(self) -> bool {
        matches!(self, Self::Rounds | Self::Hours | Self::TurnMinutes | Self::Tokens)
    }
}

impl fmt::Display for Hold {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

/// Decides what must happen now. The only place that decides.
pub fn decide(status: &Status, config: &Config, facts: &Facts) -> Decided {
    let course = Course::follow(&status.turns, config, facts);
    let (damage, mut diagnostics) = damage::judge(status, config, facts);
    let decision = held_before_verdicts(status, facts, damage, &course)
        .or_else(|| by_verdict(status, config, facts, &course))
        .or_else(|| held_after_verdicts(status, config, facts, &course))
        .unwrap_or_else(|| wake(status, &course));
    let due = course.due.cloned();
    diagnostics.extend(course.diagnostics);
    diagnostics.sort_by_key(|diagnostic| diagnostic.line);
    Decided { decision, due, diagnostics }
}

/// Whom the decision before section `n` would have woken, had nothing held it; `None` when every agent was
/// skipped. For `n` one more than the newest section: who is due now.
pub fn expected(status: &Status, config: &Config, facts: &Facts, n: usize) -> Option<Name> {
    let before = n.saturating_sub(1).min(status.turns.len());
    Course::follow(&status.turns[..before], config, facts).due.cloned()
}

/// Steps 1 to 4.
fn held_before_verdicts(
    status: &Status,
    facts: &Facts,
    damage: Option<damage::Holding>,
    course: &Course<'_>,
) -> Option<Decision> {
    let turn = status.turns.len() + 1;
    let stopped = |wanted: Hold| stopped(facts, turn, |why| why == wanted);
    stopped(Hold::Unreadable)
        .or_else(|| accepted(status, facts, course))
        .or_else(|| stopped(Hold::Config))
        .or_else(|| damage.map(|(why, reason, next)| Decision::Held { why, turn, reason, next }))
        .or_else(|| stopped(Hold::Damaged))
        .or_else(|| stopped(Hold::TwoNames))
}

fn stopped(facts: &Facts, turn: usize, wanted: impl Fn(Hold) -> bool) -> Option<Decision> {
    let Stopped { why, reason, next } = facts.stopped.as_ref().filter(|stopped| wanted(stopped.why))?;
    Some(Decision::Held { why: *why, turn, reason: reason.clone(), next: next.clone() })
}

/// A person's `loop accept`, unless a later turn has reopened the loop.
fn accepted(status: &Status, facts: &Facts, course: &Course<'_>) -> Option<Decision> {
    let turns = status.turns.len();
    let accept = facts.accepted.as_ref().filter(|accept| accept.after_turn == turns)?;
    let unreviewed = course.bench.since(accept.commit.as_deref(), turns);
    let why = accept.why.as_ref().map_or(String::new(), |why| format!(" ({why})"));
    Some(Decision::Passed {
        by: accept.by.clone(),
        turn: turns + 1,
        commit: accept.commit.clone(),
        verified: false,
        unreviewed,
        reason: format!(
            "accepted by {}{why}{}, unverified{}",
            accept.by,
            at(accept.commit.as_deref()),
            since(unreviewed)
        ),
    })
}

/// Steps 5 and 6.
fn by_verdict(status: &Status, config: &Config, facts: &Facts, course: &Course<'_>) -> Option<Decision> {
    let n = status.turns.len();
    let newest = status.turns.last()?;
    let author = &newest.author;
    match course.ruling {
        Ruling::Passed { verified } => {
            let known = facts.turns.get(&n).and_then(|turn| turn.commit.clone());
            let named = match &newest.verdict {
                Some(Verdict::Pass { commit }) => commit.clone(),
                _ => None,
            };
            let unreviewed = course.bench.since(None, n);
            let commit = known.or(named);
            let mark = if verified { "verified" } else { "unverified" };
            let reason = format!(
                "passed{} by {author} in turn {n}, {mark}{}",
                at(commit.as_deref()),
                since(unreviewed)
            );
            Some(Decision::Passed {
                by: author.to_string(),
                turn: n + 1,
                commit,
                verified,
                unreviewed,
                reason,
            })
        }
        Ruling::Verifying => {
            let command = config.verify.as_deref().unwrap_or_default().join(" ");
            Some(Decision::Held {
                why: Hold::Verifying,
                turn: n + 1,
                reason: format!("`{command}` runs on the pass of {author} in turn {n}"),
                next: "nothing to do: the loop goes on by itself when it has ended".to_owned(),
            })
        }
        Ruling::Blocked if !is_answered(facts, n) => {
            let why = match &newest.verdict {
                Some(Verdict::Blocked { reason: Some(reason) }) => format!(": {reason}"),
                _ => ", without a reason".to_owned(),
            };
            Some(Decision::Held {
                why: Hold::Blocked,
                turn: n + 1,
                reason: format!("{author} is blocked since turn {n}{why}"),
                next: format!(
                    "answer with `loop say TEXT`, which wakes {author} again, or go on with `loop resume [--to NAME]`"
                ),
            })
        }
        _ => None,
    }
}

/// Steps 7 to 10.
fn held_after_verdicts(
    status: &Status,
    config: &Config,
    facts: &Facts,
    course: &Course<'_>,
) -> Option<Decision> {
    let n = status.turns.len();
    let held = |(why, reason, next)| Decision::Held { why, turn: n + 1, reason, next };
    if let Some(decision) = stopped(facts, n + 1, |_| true) {
        return Some(decision);
    }
    if let Some(words) = &facts.paused {
        let why = if words.trim().is_empty() { String::new() } else { format!(": {words}") };
        return Some(held((Hold::Paused, format!("paused{why}"), "`loop resume` goes on".to_owned())));
    }
    if let (Some(person), Some(newest)) = (course.person, status.turns.last())
        && !is_answered(facts, n)
    {
        return Some(held((
            Hold::ForPerson,
            format!("{} hands the turn to {person} in turn {n}: {}", newest.author, newest.summary),
            format!(
                "{person} answers with `loop say TEXT [--to NAME]`, or goes on with `loop resume [--to NAME]`"
            ),
        )));
    }
    if !facts.repository {
        return None;
    }
    limits::reached(status, config, facts, course.due)
        .or_else(|| progress::none(status, config, facts, &course.order))
        .map(held)
}

/// Step 11.
fn wake(status: &Status, course: &Course<'_>) -> Decision {
    let turn = status.turns.len() + 1;
    match course.due {
        Some(agent) => Decision::Wake { agent: agent.clone(), turn, reason: course.reason.clone() },
        None => Decision::Held {
            why: Hold::AllSkipped,
            turn,
            reason: "every agent that could have the turn is skipped".to_owned(),
            next:
                "hand it to one with `loop resume --to NAME`, or take one back in (`loop agents` shows them)"
                    .to_owned(),
        },
    }
}

/// Whether a `loop resume` came after section `n`.
fn is_answered(facts: &Facts, n: usize) -> bool {
    facts.resumed.as_ref().is_some_and(|resume| resume.after_turn >= n)
}

fn at(commit: Option<&str>) -> String {
    commit.map_or(String::new(), |commit| format!(" at {}", short(commit)))
}

fn since(unreviewed: usize) -> String {
    match unreviewed {
        0 => String::new(),
        1 => ", 1 commit since is unreviewed".to_owned(),
        more => format!(", {more} commits since are unreviewed"),
    }
}
