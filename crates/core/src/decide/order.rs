//! The rotation with the skipped agents left out.

use std::collections::BTreeSet;

use crate::config::Config;
use crate::decide::Facts;
use crate::name::Name;
use crate::rotation::Rotation;

/// The rotation as it holds now.
pub(super) struct Order<'a> {
    rotation: &'a Rotation,
    planner: Option<&'a Name>,
    agents: BTreeSet<&'a Name>,
    skipped: BTreeSet<&'a Name>,
}

impl<'a> Order<'a> {
    pub(super) fn new(config: &'a Config, facts: &'a Facts) -> Self {
        let by_file = config.agents.iter().filter(|agent| agent.skip).map(|agent| &agent.name);
        Self {
            rotation: &config.rotation,
            planner: config.planner.as_ref(),
            agents: config.agents.iter().map(|agent| &agent.name).collect(),
            skipped: by_file.chain(&facts.skipped).collect(),
        }
    }

    pub(super) fn is_skipped(&self, name: &Name) -> bool {
        self.skipped.contains(name)
    }

    /// Whether `name` is an agent that a turn can be handed to. The planner never is: as a target it holds the
    /// loop, even when it has a window.
    pub(super) fn is_agent(&self, name: &Name) -> bool {
        self.agents.contains(name) && self.planner != Some(name)
    }

    pub(super) fn contains(&self, name: &Name) -> bool {
        self.rotation.contains(name)
    }

    pub(super) fn first(&self) -> Option<&'a Name> {
        self.rotation.first_active(&|name| self.is_skipped(name))
    }

    pub(super) fn next(&self, name: &Name) -> Option<&'a Name> {
        self.rotation.next(name, &|name| self.is_skipped(name))
    }

    /// The rotation's agents that are left out now.
    pub(super) fn skipped_in_rotation(&self) -> impl Iterator<Item = &'a Name> {
        self.rotation.members().filter(|name| self.is_skipped(name))
    }

    /// `wanted` itself, or the next after it when it is skipped.
    pub(super) fn seat(&self, wanted: &'a Name) -> Option<&'a Name> {
        if self.is_skipped(wanted) { self.next(wanted) } else { Some(wanted) }
    }

    /// Every agent of the rotation that is not skipped and can give a verdict.
    pub(super) fn active(&self) -> Vec<&'a Name> {
        self.rotation.members().filter(|name| !self.is_skipped(name) && self.planner != Some(*name)).collect()
    }

    /// The agents that the rotation still reaches when `from` has the turn, `from` included.
    pub(super) fn reached(&self, from: &'a Name) -> BTreeSet<&'a Name> {
        let mut reached = BTreeSet::new();
        let mut current = self.seat(from);
        while let Some(name) = current {
            if !reached.insert(name) {
                break;
            }
            current = self.next(name);
        }
        reached
    }
}
