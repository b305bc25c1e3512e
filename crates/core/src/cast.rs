//! Who takes part in a loop.

use serde::Serialize;

use crate::name::{Name, fold};

/// What a participant may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Works and gives verdicts.
    Agent,
    /// Opens and closes the loop; gives no verdict, even when it is an agent with a window too.
    Planner,
    /// Writes sections, is in no rotation and gives no verdict.
    Person,
}

/// The names that may write sections.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cast {
    /// Every entry of `agents:`, in the order of the file, in the rotation or not. Holds the planner too when the
    /// planner has a window of its own.
    pub agents: Vec<Name>,
    /// The planner, if there is one.
    pub planner: Option<Name>,
    /// Names of `people:`.
    pub people: Vec<Name>,
}

impl Cast {
    /// Returns the participant that `text` names, as configured, with what it may do.
    pub fn find(&self, text: &str) -> Option<(&Name, Role)> {
        let key = fold(text);
        let with_key = |name: &&Name| name.key() == key;
        if let Some(planner) = self.planner.as_ref().filter(with_key) {
            return Some((planner, Role::Planner));
        }
        if let Some(agent) = self.agents.iter().find(with_key) {
            return Some((agent, Role::Agent));
        }
        self.people.iter().find(with_key).map(|person| (person, Role::Person))
    }

    /// Every name that may write a section, each once.
    pub fn names(&self) -> impl Iterator<Item = &Name> {
        let planner = self.planner.iter().filter(|planner| !self.agents.contains(planner));
        self.agents.iter().chain(planner).chain(&self.people)
    }
}
