//! Whose turn it is after each section.
//!
//! One pass over the sections keeps two answers: whom the decision wakes, and whom the rotation alone would have
//! next. They differ while a section has handed the turn to somebody by name: an agent outside the rotation that
//! was called in takes nobody's place, and after it the rotation goes on where it was.

use crate::cast::Role;
use crate::config::Config;
use crate::decide::Facts;
use crate::decide::order::Order;
use crate::decide::policy::{Bench, Ruling};
use crate::diagnostic::{Code, Diagnostic};
use crate::name::Name;
use crate::status::Turn;

/// Whose turn it is, and why.
type Next<'a> = (Option<&'a Name>, String);

/// The course of the loop up to the newest section.
pub(super) struct Course<'a> {
    facts: &'a Facts,
    pub(super) order: Order<'a>,
    pub(super) bench: Bench<'a>,
    /// Whom the decision wakes now, unless something holds it.
    pub(super) due: Option<&'a Name>,
    /// Why it is that agent.
    pub(super) reason: String,
    /// Whose turn it is by the rotation alone.
    ring: Option<&'a Name>,
    /// What the newest section's verdict comes to.
    pub(super) ruling: Ruling<'a>,
    /// The person or planner that the newest section hands the turn to.
    pub(super) person: Option<&'a Name>,
    pub(super) diagnostics: Vec<Diagnostic>,
    last_author: Option<&'a Name>,
}

impl<'a> Course<'a> {
    /// Follows the first `upto` of a document's `turns`.
    pub(super) fn follow(turns: &'a [Turn], upto: usize, config: &'a Config, facts: &'a Facts) -> Self {
        let order = Order::new(config, facts);
        let first = order.first();
        let mut course = Self {
            facts,
            bench: Bench::new(config, facts),
            due: first,
            reason: "no turn yet: the first of the rotation begins".to_owned(),
            ring: first,
            ruling: Ruling::GoesOn,
            person: None,
            diagnostics: Vec::new(),
            last_author: None,
            order,
        };
        course.redirect(0, turns.len());
        for (at, turn) in turns.iter().enumerate().take(upto) {
            course.step(at + 1, turn, config, turns.len());
        }
        course
    }

    fn step(&mut self, n: usize, turn: &'a Turn, config: &'a Config, turns: usize) {
        self.note_out_of_turn(n, turn);
        self.ruling = self.bench.rule(n, turn, &self.order, n == turns, &mut self.diagnostics);
        let author = &turn.author;
        let before = self.due;
        let by_agent = turn.role == Role::Agent;
        let in_rotation = by_agent && self.order.contains(author);
        if in_rotation {
            self.ring = self.order.next(author);
        }
        let on = if in_rotation {
            (self.ring, self.comes_after(author))
        } else {
            // An agent called in from outside the rotation does not follow itself: the rotation goes on.
            let called_in = by_agent && before == Some(author);
            let due = if called_in { self.ring } else { before };
            (due, format!("{} was due before the section of {author}", shown(due)))
        };
        self.person = None;
        (self.due, self.reason) = match &self.ruling {
            Ruling::Blocked => {
                (self.order.seat(author).or(on.0), format!("{author} was blocked in turn {n}"))
            }
            Ruling::Passed { .. } | Ruling::Verifying => on,
            Ruling::VerifyFailed { mender } => {
                match mender.filter(|mender| self.order.is_agent(mender) && !self.order.is_skipped(mender)) {
                    Some(mender) => (
                        Some(mender),
                        format!("verify failed on turn {n}, and {mender} made the newest change"),
                    ),
                    None => on,
                }
            }
            Ruling::GoesOn => match &turn.to {
                Some(target) if self.order.is_agent(target) => self.hand_over(n, author, target, &on),
                Some(target) if config.planner.as_ref() == Some(target) || config.people.contains(target) => {
                    self.person = Some(target);
                    // The answer goes back to the agent that asked.
                    let back = if by_agent { self.order.seat(author).or(on.0) } else { before };
                    (back, format!("{author} asked {target} in turn {n}"))
                }
                _ => on,
            },
        };
        self.redirect(n, turns);
        self.last_author = Some(author);
    }

    /// Why the turn goes where the rotation leads from `author`.
    fn comes_after(&self, author: &Name) -> String {
        let skipped: Vec<&str> = self.order.skipped_in_rotation().map(Name::as_str).collect();
        match self.ring {
            Some(next) if next == author && !skipped.is_empty() => {
                let verb = if skipped.len() == 1 { "is" } else { "are" };
                format!("nobody else is left ({} {verb} skipped)", skipped.join(", "))
            }
            next => format!("{} comes after {author} in the rotation", shown(next)),
        }
    }

    /// Where the turn goes when `author` names `target`.
    fn hand_over(&self, n: usize, author: &Name, target: &'a Name, on: &Next<'a>) -> Next<'a> {
        if !self.order.is_skipped(target) {
            return (Some(target), format!("{author} handed over to {target} in turn {n}"));
        }
        // Its place in the ring is passed over, but not back to who has just spoken while others are left.
        match self.order.next(target).filter(|next| *next != author) {
            Some(next) => (
                Some(next),
                format!(
                    "{author} handed over to {target} in turn {n}, which is skipped: {next} comes after it"
                ),
            ),
            None => {
                (on.0, format!("{author} handed over to {target} in turn {n}, which is skipped: {}", on.1))
            }
        }
    }

    /// A `loop resume --to NAME` after section `n` overrides whoever is due. A number beyond the newest section
    /// means the newest: sections may have been taken back since.
    fn redirect(&mut self, n: usize, turns: usize) {
        let facts: &'a Facts = self.facts;
        let Some(resume) = &facts.resumed else { return };
        let holds = resume.after_turn.min(turns) == n;
        let target = resume.to.as_ref().filter(|target| holds && self.order.is_agent(target));
        if let Some(target) = target {
            (self.due, self.reason) = match self.order.seat(target) {
                Some(seat) if seat == target => (Some(seat), format!("`loop resume --to {target}`")),
                Some(next) => (Some(next), format!("`loop resume --to {target}`, which is skipped")),
                None => return,
            };
        }
    }

    fn note_out_of_turn(&mut self, n: usize, turn: &Turn) {
        let woken = self.facts.turns.get(&n).and_then(|turn| turn.woken);
        // Several sections in a row by one agent are one hand-over, not one out of turn each.
        let goes_on = self.last_author == Some(&turn.author);
        if !self.facts.repository
            || woken != Some(false)
            || turn.role != Role::Agent
            || goes_on
            || self.due == Some(&turn.author)
        {
            return;
        }
        self.diagnostics.push(Diagnostic {
            line: turn.line,
            code: Code::OutOfTurn,
            message: match self.due {
                Some(due) => format!("turn {n} is by {}, but it was the turn of {due}", turn.author),
                None => format!("turn {n} is by {}, but it was nobody's turn", turn.author),
            },
            hint: format!(
                "it is recorded and the turn goes on; `loop turn {}` says whose turn it is",
                turn.author
            ),
        });
    }
}

fn shown(name: Option<&Name>) -> &str {
    name.map_or("nobody", Name::as_str)
}
