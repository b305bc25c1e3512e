//! Loops for tests, written as short as they are told.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::cast::Role;
use crate::config::{Config, PassPolicy};
use crate::decide::{Change, Decided, Decision, Facts, TurnFacts, Who, decide};
use crate::name::Name;
use crate::rotation::Rotation;
use crate::status::{Status, Turn, Verdict};

pub(crate) fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

pub(crate) fn names(text: &str) -> Vec<Name> {
    text.split_whitespace().map(name).collect()
}

/// A loop of agents in a ring, with Hermes as planner, Dana as a person, and Helper outside the rotation.
#[derive(Debug, Clone)]
pub(crate) struct Scene {
    pub(crate) status: Status,
    pub(crate) config: Config,
    pub(crate) facts: Facts,
}

impl Scene {
    /// A ring of `agents` and these sections, one per line: `AUTHOR [> TARGET] [pass [SHA] | blocked [REASON]]`.
    pub(crate) fn new(agents: &str, sections: &str) -> Self {
        let ring = names(agents);
        let config = config(&ring);
        let mut scene = Self { status: Status::default(), config, facts: Facts::default() };
        for section in sections.split('\n').map(str::trim).filter(|section| !section.is_empty()) {
            scene.add(section);
        }
        scene
    }

    /// The same loop with a table instead of a ring: `CC>Codex Codex>OC OC>Codex`.
    pub(crate) fn table(mut self, rows: &str) -> Self {
        let rows = rows.split_whitespace().filter_map(|row| row.split_once('>'));
        self.config.rotation = Rotation::Table(rows.map(|(from, to)| (name(from), name(to))).collect());
        self
    }

    pub(crate) fn policy(mut self, policy: PassPolicy) -> Self {
        self.config.pass = policy;
        self
    }

    pub(crate) fn facts(mut self, change: impl FnOnce(&mut Facts)) -> Self {
        self.facts.repository = true;
        change(&mut self.facts);
        self
    }

    pub(crate) fn config(mut self, change: impl FnOnce(&mut Config)) -> Self {
        change(&mut self.config);
        self
    }

    /// These turns' agents had not been woken.
    pub(crate) fn unwoken(self, turns: &[usize]) -> Self {
        self.facts(|facts| {
            for n in turns {
                facts.turns.entry(*n).or_default().woken = Some(false);
            }
        })
    }

    /// Changes as `TURN:AUTHOR` in order; their commits are `c1…`, `c2…`, the sections' `a1…`, `a2…` (40 digits).
    pub(crate) fn changes(self, changes: &str) -> Self {
        let turns = self.status.turns.len();
        let cast = self.config.cast();
        self.facts(|facts| {
            for n in 1..=turns {
                facts.turns.entry(n).or_default().commit = Some(id("a", n));
            }
            for (at, change) in changes.split_whitespace().enumerate() {
                let (turn, by) = change.split_once(':').unwrap();
                let by = match cast.find(by) {
                    Some((agent, Role::Agent)) => Who::Agent(agent.clone()),
                    _ => Who::Person(by.to_owned()),
                };
                let turn = turn.parse().unwrap();
                facts.changes.push(Change { commit: id("c", at + 1), turn, by, set_up: false });
            }
        })
    }

    /// The trees at the sections' commits, one letter each.
    pub(crate) fn trees(self, trees: &str) -> Self {
        self.facts(|facts| {
            for (at, tree) in trees.chars().enumerate() {
                let entry: &mut TurnFacts = facts.turns.entry(at + 1).or_default();
                entry.tree = Some(tree.to_string());
            }
        })
    }

    pub(crate) fn decided(&self) -> Decided {
        decide(&self.status, &self.config, &self.facts)
    }

    /// The decision as `wake CC`, `passed by CC`, `held blocked`, and the codes of its diagnostics behind it.
    pub(crate) fn told(&self) -> String {
        let Decided { decision, diagnostics, .. } = self.decided();
        let mut told = match decision {
            Decision::Wake { agent, .. } => format!("wake {agent}"),
            Decision::Passed { by, .. } => format!("passed by {by}"),
            Decision::Held { why, .. } => format!("held {why}"),
        };
        for diagnostic in diagnostics {
            told.push_str(&format!(" +{}", diagnostic.code.as_str()));
        }
        told
    }

    fn add(&mut self, section: &str) {
        let (head, verdict) = match section.split_once(" pass") {
            Some((head, sha)) => {
                let sha = Some(sha.trim().to_owned()).filter(|sha| !sha.is_empty());
                (head, Some(Verdict::Pass { commit: sha }))
            }
            None => match section.split_once(" blocked") {
                Some((head, reason)) => {
                    let reason = Some(reason.trim().to_owned()).filter(|reason| !reason.is_empty());
                    (head, Some(Verdict::Blocked { reason }))
                }
                None => (section, None),
            },
        };
        let (author, to) = match head.split_once('>') {
            Some((author, to)) => (author.trim(), Some(name(to.trim()))),
            None => (head.trim(), None),
        };
        let n = self.status.turns.len() + 1;
        let role = self.config.cast().find(author).map_or(Role::Person, |(_, role)| role);
        self.status.turns.push(Turn {
            n,
            author: name(author),
            role,
            to,
            summary: format!("work {n}"),
            verdict,
            line: n * 10,
            span: 0..0,
            body: 0..0,
            fingerprint: format!("{n}"),
        });
    }
}

pub(crate) fn id(letter: &str, n: usize) -> String {
    format!("{letter}{n:039}")
}

fn config(ring: &[Name]) -> Config {
    let mut text = "agents:\n  Helper: {kind: claude-code}\n".to_owned();
    for name in ring {
        text.push_str(&format!("  {name}: {{kind: claude-code}}\n"));
    }
    text.push_str(&format!("rotation: {ring:?}\nplanner: Hermes\npeople: [Dana]\n"));
    // Reading the profiles takes its time, and the laws need thousands of these.
    static READ: Mutex<BTreeMap<String, Config>> = Mutex::new(BTreeMap::new());
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    let parse = || Config::parse(&text, "loop.yaml", &BTreeMap::new()).unwrap();
    read.entry(text.clone()).or_insert_with(parse).clone()
}
