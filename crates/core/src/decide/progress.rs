//! Loops that turn without getting anywhere.

use std::collections::BTreeSet;

use crate::cast::Role;
use crate::config::Config;
use crate::decide::order::Order;
use crate::decide::{Facts, Hold, limits};
use crate::status::Status;

/// Two agents can need a turn each to say that they have read the other: fewer turns than this are no standstill.
const FEWEST_TURNS: usize = 4;

/// Whether the loop stands still or goes in circles: which, what happened, and what a person can do.
pub(super) fn none(
    status: &Status,
    config: &Config,
    facts: &Facts,
    order: &Order<'_>,
) -> Option<(Hold, String, String)> {
    let rounds = config.limits.no_progress?;
    let from = facts.resumed.as_ref().map_or(0, |resume| resume.after_turn).min(status.turns.len());
    standstill(status, config, facts, order, from, rounds).or_else(|| circle(status, facts, from))
}

/// Whole rounds in which no agent changed a file but STATUS.md or gave a verdict.
fn standstill(
    status: &Status,
    config: &Config,
    facts: &Facts,
    order: &Order<'_>,
    from: usize,
    rounds: u32,
) -> Option<(Hold, String, String)> {
    let changed = facts.changes.iter().filter(|change| !change.set_up).map(|change| change.turn).max();
    let verdict = status.turns.iter().rposition(|turn| turn.verdict.is_some()).map(|at| at + 1);
    let last = from.max(changed.unwrap_or(0)).max(verdict.unwrap_or(0));
    let idle = status.turns.get(last..)?.iter().filter(|turn| turn.role == Role::Agent).count();
    if idle < FEWEST_TURNS || limits::count(&status.turns, last, order, config, facts).done < rounds {
        return None;
    }
    Some((
        Hold::NoProgress,
        format!("no progress: {idle} turns changed no file but STATUS.md and gave no verdict"),
        "say what is missing with `loop say TEXT --to NAME`, then `loop resume`; or end it with `loop accept`"
            .to_owned(),
    ))
}

/// Agents' turns that changed code back to an earlier state, the newest one for the second time or more.
fn circle(status: &Status, facts: &Facts, from: usize) -> Option<(Hold, String, String)> {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut current: Option<&str> = None;
    let mut returns = 0;
    let mut newest: Option<usize> = None;
    for (at, turn) in status.turns.iter().enumerate().skip(from.saturating_sub(1)) {
        let n = at + 1;
        let Some(tree) = facts.turns.get(&n).and_then(|turn| turn.tree.as_deref()) else { continue };
        if current.is_some_and(|current| current != tree) {
            newest = None;
            if seen.contains(tree) && turn.role == Role::Agent && n > from {
                returns += 1;
                newest = Some(n);
            }
        }
        seen.insert(tree);
        current = Some(tree);
    }
    let n = newest.filter(|_| returns >= 2)?;
    Some((
        Hold::Oscillation,
        format!("no progress: turn {n} changed the code back to an earlier state, for the second time"),
        "decide which state is right, say so with `loop say TEXT --to NAME`, then `loop resume`".to_owned(),
    ))
}
