//! Whether a verdict counts, and whether a pass is enough to end the loop.
//!
//! Sections are looked at once each, in document order; what a pass is worth depends on what stood there then,
//! never on what came later.

use std::collections::BTreeMap;

use crate::cast::Role;
use crate::config::{Config, PassPolicy};
use crate::decide::commits::{Commits, Reviewed, short};
use crate::decide::order::Order;
use crate::decide::{Change, Facts, Verify, Who};
use crate::diagnostic::{Code, Diagnostic};
use crate::name::Name;
use crate::status::{Turn, Verdict};

/// What a section's verdict comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ruling<'a> {
    /// None was given, or it does not count, or it is not enough.
    GoesOn,
    /// The pass is enough.
    Passed {
        /// Whether `verify` succeeded on it.
        verified: bool,
    },
    /// The pass is enough once `verify` succeeds.
    Verifying,
    /// The pass would be enough, but `verify` failed; the turn goes to the agent of the newest change.
    VerifyFailed {
        /// Who made the newest change, where it was an agent.
        mender: Option<&'a Name>,
    },
    /// An agent asks for a person.
    Blocked,
}

/// The sections and changes looked at so far.
pub(super) struct Bench<'a> {
    config: &'a Config,
    facts: &'a Facts,
    commits: Commits<'a>,
    /// The changes that count, by turn.
    changes: Vec<&'a Change>,
    /// How many of them were made up to the section looked at last.
    made: usize,
    newest: BTreeMap<&'a Name, Newest>,
}

/// An agent's newest section.
struct Newest {
    n: usize,
    passes: bool,
}

impl<'a> Bench<'a> {
    pub(super) fn new(config: &'a Config, facts: &'a Facts) -> Self {
        let mut changes: Vec<&Change> = facts.changes.iter().filter(|change| !change.set_up).collect();
        changes.sort_by_key(|change| change.turn);
        Self { config, facts, commits: Commits::new(facts), changes, made: 0, newest: BTreeMap::new() }
    }

    /// Rules on section `n`, the next one.
    pub(super) fn rule(
        &mut self,
        n: usize,
        turn: &'a Turn,
        order: &Order<'a>,
        is_newest: bool,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Ruling<'a> {
        self.made += self.changes[self.made..].iter().take_while(|change| change.turn <= n).count();
        if turn.role != Role::Agent {
            return Ruling::GoesOn;
        }
        let refused = self.refused(n, turn);
        let counts = turn.verdict.is_some() && refused.is_none();
        let passes = counts && matches!(turn.verdict, Some(Verdict::Pass { .. }));
        self.newest.insert(&turn.author, Newest { n, passes });
        diagnostics.extend(refused);
        match &turn.verdict {
            Some(Verdict::Blocked { .. }) if counts => Ruling::Blocked,
            Some(Verdict::Pass { .. }) if counts => match self.missing(&turn.author, order) {
                None => self.verified(n, turn, is_newest, diagnostics),
                Some(missing) => {
                    if is_newest {
                        diagnostics.push(missing.diagnostic(turn));
                    }
                    Ruling::GoesOn
                }
            },
            _ => Ruling::GoesOn,
        }
    }

    /// Why the verdict of section `n` does not count at all, if so.
    fn refused(&self, n: usize, turn: &Turn) -> Option<Diagnostic> {
        let verdict = turn.verdict.as_ref()?;
        let known = self.facts.turns.get(&n);
        if known.and_then(|turn| turn.woken) == Some(false) {
            let word = match verdict {
                Verdict::Pass { .. } => "REVIEW-PASS",
                Verdict::Blocked { .. } => "REVIEW-BLOCKED",
            };
            return Some(Diagnostic {
                line: turn.line,
                code: Code::NotWoken,
                message: format!("{} was not woken for turn {n}, so its {word} does not count", turn.author),
                hint: "a verdict counts from the agent whose turn it is; a person ends the loop with `loop accept`"
                    .to_owned(),
            });
        }
        let Verdict::Pass { commit: Some(reviewed) } = verdict else { return None };
        let newest = self.newest_change().filter(|_| self.facts.repository)?;
        let what = match self.commits.reviewed(reviewed, newest) {
            Reviewed::Fresh => return None,
            Reviewed::Older => "is older than",
            // History that was rewritten after the pass (a rebase, a squash) does not take the pass back.
            Reviewed::Unknown if known.is_some_and(|turn| turn.ended) => return None,
            Reviewed::Unknown => "is no commit of this loop, so it cannot stand for",
        };
        let (reviewed, change) = (short(reviewed), short(&newest.commit));
        Some(Diagnostic {
            line: turn.line,
            code: Code::StalePass,
            message: format!(
                "the pass of {} does not count: {reviewed} {what} the newest change ({change} by {})",
                turn.author, newest.by
            ),
            hint: format!("review {change}, then end the section with `REVIEW-PASS {change}`"),
        })
    }

    /// What the policy still wants before a counted pass of `author`, which has the newest section, ends the loop.
    fn missing(&self, author: &'a Name, order: &Order<'a>) -> Option<Missing<'a>> {
        match &self.config.pass {
            PassPolicy::Any => None,
            PassPolicy::Other => {
                if self.newest.keys().all(|name| *name == author) {
                    return Some(Missing::OtherTurn);
                }
                self.newest_change()
                    .filter(|change| change.by == Who::Agent(author.clone()))
                    .map(|change| Missing::OwnChange { change })
            }
            PassPolicy::All => {
                // An agent from outside the rotation that was called in has a say from then on: its findings would
                // be passed over otherwise. One that was never called need not be asked.
                let mut wanted = order.active();
                let called =
                    self.newest.keys().filter(|name| !order.contains(name) && !order.is_skipped(name));
                wanted.extend(called);
                self.missing_of("all", &wanted, order)
            }
            PassPolicy::Names(names) => {
                let wanted: Vec<&Name> = names.iter().filter(|name| !order.is_skipped(name)).collect();
                self.missing_of("a list of names", &wanted, order)
            }
        }
    }

    /// The rule of `all` and of a list of names: the newest section of each passes, and nothing changed since the
    /// first of those passes.
    fn missing_of(
        &self,
        policy: &'static str,
        wanted: &[&'a Name],
        order: &Order<'a>,
    ) -> Option<Missing<'a>> {
        if wanted.is_empty() {
            return Some(Missing::Nobody { policy });
        }
        let passed = |name: &&&Name| self.newest.get(**name).is_some_and(|newest| newest.passes);
        let missing: Vec<&Name> = wanted.iter().filter(|name| !passed(name)).copied().collect();
        if !missing.is_empty() {
            let outside = missing.iter().find(|name| !order.contains(name)).copied();
            return Some(Missing::Passes { policy, of: missing, outside });
        }
        let passes = wanted.iter().filter_map(|name| self.newest.get_key_value(*name));
        let (first, at) = passes.min_by_key(|(_, newest)| newest.n)?;
        self.newest_change().filter(|change| change.turn > at.n).map(|change| Missing::Changed {
            policy,
            change,
            first,
            turn: at.n,
        })
    }

    /// What `verify` says of a pass that is enough.
    fn verified(
        &self,
        n: usize,
        turn: &Turn,
        is_newest: bool,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Ruling<'a> {
        let Some(command) = &self.config.verify else { return Ruling::Passed { verified: false } };
        match self.facts.turns.get(&n).and_then(|turn| turn.verify.as_ref()) {
            Some(Verify::Passed) => Ruling::Passed { verified: true },
            Some(Verify::Failed(how)) => {
                if is_newest {
                    diagnostics.push(Diagnostic {
                        line: turn.line,
                        code: Code::VerifyFailed,
                        message: format!(
                            "the pass of {} does not count: `{}` failed ({how})",
                            turn.author,
                            command.join(" ")
                        ),
                        hint: "mend it and hand over; the next pass runs it again".to_owned(),
                    });
                }
                Ruling::VerifyFailed { mender: self.newest_author() }
            }
            // Nobody can run it without a repository, and an older pass was judged when it was the newest.
            None | Some(Verify::Running) if !self.facts.repository || !is_newest => {
                Ruling::Passed { verified: false }
            }
            None | Some(Verify::Running) => Ruling::Verifying,
        }
    }

    fn newest_change(&self) -> Option<&'a Change> {
        self.changes[..self.made].last().copied()
    }

    fn newest_author(&self) -> Option<&'a Name> {
        match &self.newest_change()?.by {
            Who::Agent(name) => Some(name),
            Who::Person(_) => None,
        }
    }

    /// How many changes came after the commit `id`, or after section `n` where the commit is not known.
    pub(super) fn since(&self, id: Option<&str>, n: usize) -> usize {
        let is_later = |change: &&&Change| {
            id.and_then(|id| self.commits.is_after(change, id)).unwrap_or(change.turn > n)
        };
        self.changes.iter().filter(is_later).count()
    }
}

/// What a pass lacks.
enum Missing<'a> {
    OtherTurn,
    OwnChange { change: &'a Change },
    Passes { policy: &'static str, of: Vec<&'a Name>, outside: Option<&'a Name> },
    Changed { policy: &'static str, change: &'a Change, first: &'a Name, turn: usize },
    Nobody { policy: &'static str },
}

impl Missing<'_> {
    fn diagnostic(&self, turn: &Turn) -> Diagnostic {
        let (why, hint) = match self {
            Self::OtherTurn => (
                "no other agent has had a turn yet (pass: other)".to_owned(),
                "another agent takes its turn now; one of them ends the loop then".to_owned(),
            ),
            Self::OwnChange { change } => (
                format!(
                    "the newest change is its own ({} in turn {}, pass: other)",
                    short(&change.commit),
                    change.turn
                ),
                "another agent reviews it now and passes, or changes something".to_owned(),
            ),
            Self::Passes { policy, of, outside } => (
                format!("the newest section of {} does not pass (pass: {policy})", listed(of)),
                match outside {
                    Some(name) => format!("{name} is not in the rotation: hand it the turn with `-> {name}`"),
                    None => "the turn goes on until they have all passed the same state".to_owned(),
                },
            ),
            Self::Changed { policy, change, first, turn } => (
                format!(
                    "{} by {} came after the pass of {first} in turn {turn} (pass: {policy})",
                    short(&change.commit),
                    change.by
                ),
                format!("{first} looks at that change and passes again"),
            ),
            Self::Nobody { policy } => (
                format!("everyone who could give it is skipped (pass: {policy})"),
                "a person ends the loop with `loop accept`, or changes `pass` in loop.yaml".to_owned(),
            ),
        };
        Diagnostic {
            line: turn.line,
            code: Code::PassNotEnough,
            message: format!("the pass of {} does not end the loop: {why}", turn.author),
            hint,
        }
    }
}

/// `CC`, `CC and Codex`, `CC, Codex and OC`.
pub(super) fn listed<T: std::fmt::Display>(names: &[T]) -> String {
    let shown: Vec<String> = names.iter().map(ToString::to_string).collect();
    match shown.split_last() {
        None => String::new(),
        Some((only, [])) => only.clone(),
        Some((last, before)) => format!("{} and {last}", before.join(", ")),
    }
}
