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
mod decision;
mod due;
mod facts;
mod limits;
mod order;
mod policy;
mod progress;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

pub use decision::{Decided, Decision, Hold};
pub use facts::{Accept, Change, Facts, Resume, Stopped, TurnFacts, Verify, Who};
pub use limits::{Rounds, rounds};

use commits::short;
use due::Course;
use policy::Ruling;

use crate::config::Config;
use crate::name::Name;
use crate::plain;
use crate::status::{Status, Verdict};

/// Decides what must happen now. The only place that decides.
pub fn decide(status: &Status, config: &Config, facts: &Facts) -> Decided {
    let course = Course::follow(&status.turns, status.turns.len(), config, facts);
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
    Course::follow(&status.turns, n.saturating_sub(1), config, facts).due.cloned()
}

/// As many characters of somebody's words go into a reason.
const WORDS: usize = 300;

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
    let why = accept.why.as_ref().map_or(String::new(), |why| format!(" ({})", plain::line(why, WORDS)));
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
                Some(Verdict::Blocked { reason: Some(reason) }) => {
                    format!(": {}", plain::line(reason, WORDS))
                }
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
        let why =
            if words.trim().is_empty() { String::new() } else { format!(": {}", plain::line(words, WORDS)) };
        return Some(held((Hold::Paused, format!("paused{why}"), "`loop resume` goes on".to_owned())));
    }
    if let (Some(person), Some(newest)) = (course.person, status.turns.last())
        && !is_answered(facts, n)
    {
        return Some(held((
            Hold::ForPerson,
            format!(
                "{} hands the turn to {person} in turn {n}: {}",
                newest.author,
                plain::line(&newest.summary, WORDS)
            ),
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
