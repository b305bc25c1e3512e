//! Rounds, hours, minutes and tokens.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::cast::Role;
use crate::config::Config;
use crate::decide::due::Course;
use crate::decide::order::Order;
use crate::decide::{Facts, Hold};
use crate::name::Name;
use crate::status::{Status, Turn};

/// How many rounds there have been since the start, or since the last `loop resume`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Rounds {
    /// Whole rounds.
    pub done: u32,
    /// Agents' turns of the round under way.
    pub turns: usize,
    /// The limit, where there is one.
    pub of: Option<u32>,
}

impl Rounds {
    /// The number of the round under way, from 1; never more than the limit.
    pub fn current(&self) -> u32 {
        let current = self.done.saturating_add(1);
        self.of.map_or(current, |of| current.min(of.max(1)))
    }

    /// Whether half of the rounds, or more, are used up.
    pub fn is_half(&self) -> bool {
        self.of.is_some_and(|of| self.done > 0 && self.done.saturating_mul(2) >= of)
    }

    /// What to tell once half of the rounds are used up.
    pub fn notice(&self) -> Option<String> {
        let of = self.of.filter(|_| self.is_half())?;
        Some(format!(
            "{} of {of} rounds are used; then the loop is held (`loop resume --rounds N`)",
            self.done
        ))
    }
}

/// Counts the rounds: each agent that the rotation still reaches has had a turn, and at most as many turns as
/// there are such agents. Sections of people and the planner are in no round.
pub fn rounds(status: &Status, config: &Config, facts: &Facts) -> Rounds {
    let resume = facts.resumed.as_ref();
    let from = resume.map_or(0, |resume| resume.after_turn).min(status.turns.len());
    let of = resume.and_then(|resume| resume.rounds).or(config.limits.rounds);
    let counted = count(&status.turns, from, &Order::new(config, facts), config, facts);
    Rounds { of, ..counted }
}

/// Counts the rounds in the sections behind the first `from`.
pub(super) fn count(
    turns: &[Turn],
    from: usize,
    order: &Order<'_>,
    config: &Config,
    facts: &Facts,
) -> Rounds {
    let start = Course::follow(turns, from, config, facts).due;
    let mut rounds = Rounds::default();
    let mut reached: BTreeSet<&Name> = start.map(|due| order.reached(due)).unwrap_or_default();
    let mut had: BTreeSet<&Name> = BTreeSet::new();
    for turn in turns.iter().skip(from).filter(|turn| turn.role == Role::Agent) {
        if rounds.turns == 0 && order.contains(&turn.author) && !reached.contains(&turn.author) {
            // A round begins with whoever has the turn, and reaches what the rotation reaches from there.
            reached = order.reached(&turn.author);
        }
        rounds.turns += 1;
        had.insert(&turn.author);
        if rounds.turns >= reached.len() || reached.is_subset(&had) {
            rounds.done = rounds.done.saturating_add(1);
            rounds.turns = 0;
            had.clear();
            reached = order.next(&turn.author).map(|next| order.reached(next)).unwrap_or(reached);
        }
    }
    rounds
}

/// The first limit that is reached: which, what happened, and what a person can do.
pub(super) fn reached(
    status: &Status,
    config: &Config,
    facts: &Facts,
    due: Option<&Name>,
) -> Option<(Hold, String, String)> {
    let limits = &config.limits;
    let rounds = rounds(status, config, facts);
    if let Some(of) = rounds.of.filter(|of| rounds.done >= *of) {
        return Some((
            Hold::Rounds,
            format!("{} of {of} rounds are done without a pass that ends the loop", rounds.done),
            "`loop resume` grants as many again, `loop resume --rounds N` another number, `loop accept` ends it"
                .to_owned(),
        ));
    }
    let hours = facts.resumed.as_ref().and_then(|resume| resume.hours).or(limits.hours);
    if let (Some(hours), Some(minutes)) = (hours, facts.minutes)
        && minutes >= hours * 60.0
    {
        return Some((
            Hold::Hours,
            format!("{} of {} hours of work are used", figure(minutes / 60.0), figure(hours)),
            "`loop resume` grants as many again, `loop resume --hours N` another number, `loop accept` ends it"
                .to_owned(),
        ));
    }
    if let (Some(limit), Some(minutes)) = (limits.turn_minutes, facts.turn_minutes)
        && minutes >= limit
    {
        let name = due.map_or("the agent", Name::as_str);
        return Some((
            Hold::TurnMinutes,
            format!(
                "{name} has worked {} minutes on its turn, the limit is {}",
                figure(minutes),
                figure(limit)
            ),
            format!("look with `loop attach {name}`; then `loop resume`, `loop skip {name}` or `loop stop`"),
        ));
    }
    if let (Some(limit), Some(tokens)) = (limits.tokens, facts.tokens)
        && tokens >= limit
    {
        return Some((
            Hold::Tokens,
            format!("{tokens} of {limit} tokens are used"),
            "`loop resume` grants as many again, `loop accept` ends it".to_owned(),
        ));
    }
    None
}

/// A figure with at most one decimal.
fn figure(value: f64) -> String {
    let rounded = (value * 10.0).round() / 10.0;
    if rounded.fract() == 0.0 { format!("{rounded:.0}") } else { format!("{rounded:.1}") }
}
