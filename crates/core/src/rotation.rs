//! Who comes after whom.

use crate::name::Name;

/// The order of turns: a ring or a table of any number of agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rotation {
    /// Each one hands over to the next, the last to the first.
    Ring(Vec<Name>),
    /// From each name to its successor, in the order of the file.
    Table(Vec<(Name, Name)>),
}

impl Rotation {
    /// The first agent: the ring's first, the table's first row.
    pub fn first(&self) -> Option<&Name> {
        match self {
            Self::Ring(names) => names.first(),
            Self::Table(rows) => rows.first().map(|(from, _)| from),
        }
    }

    /// The successor of `name`, skipping whom `skipped` names; `None` when `name` is outside the rotation or
    /// everyone reachable is skipped. Gives the turn back to `name` only when nobody else is left.
    pub fn next(&self, name: &Name, skipped: &dyn Fn(&Name) -> bool) -> Option<&Name> {
        let mut seen = 0;
        let mut current = self.successor(name)?;
        while skipped(current) {
            seen += 1;
            if seen > self.len() {
                return None;
            }
            current = self.successor(current)?;
        }
        Some(current)
    }

    /// The first agent of the rotation that is not skipped, following successors from the first.
    pub fn first_active(&self, skipped: &dyn Fn(&Name) -> bool) -> Option<&Name> {
        let first = self.first()?;
        if skipped(first) { self.next(first, skipped) } else { Some(first) }
    }

    /// Whether `name` stands in the rotation.
    pub fn contains(&self, name: &Name) -> bool {
        self.members().any(|member| member == name)
    }

    /// Every name in the rotation, each once.
    pub fn members(&self) -> impl Iterator<Item = &Name> {
        let names: Vec<&Name> = match self {
            Self::Ring(names) => names.iter().collect(),
            Self::Table(rows) => rows.iter().map(|(from, _)| from).collect(),
        };
        names.into_iter()
    }

    /// How many agents the rotation has.
    pub fn len(&self) -> usize {
        match self {
            Self::Ring(names) => names.len(),
            Self::Table(rows) => rows.len(),
        }
    }

    /// Whether the rotation has no agent; a checked configuration never does.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn successor(&self, name: &Name) -> Option<&Name> {
        match self {
            Self::Ring(names) => {
                let place = names.iter().position(|member| member == name)?;
                names.get((place + 1) % names.len())
            }
            Self::Table(rows) => rows.iter().find(|(from, _)| from == name).map(|(_, to)| to),
        }
    }
}
