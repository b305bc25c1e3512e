//! Which of two commits of the loop is the newer one, by ids that may be shortened.

use crate::decide::{Change, Facts};

/// Where a commit stands in the loop's history; a later commit has a greater place.
type Place = (usize, u8, usize);

/// The commits of the loop that the facts know, sorted by id.
pub(super) struct Commits<'a> {
    places: Vec<(&'a str, Place)>,
}

/// How the commit that a pass names stands to the newest change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reviewed {
    /// It is the newest change, or came later, or nobody can tell.
    Fresh,
    /// It is older than the newest change.
    Older,
    /// It is no commit of this loop.
    Unknown,
}

impl<'a> Commits<'a> {
    pub(super) fn new(facts: &'a Facts) -> Self {
        let mut places: Vec<(&str, Place)> = if facts.commits.is_empty() {
            // A section's commit comes at or after every change of its turn.
            let changes =
                facts.changes.iter().enumerate().map(|(at, change)| (&*change.commit, (change.turn, 0, at)));
            let turns = facts
                .turns
                .iter()
                .filter_map(|(n, turn)| turn.commit.as_deref().map(|commit| (commit, (*n, 1, 0))));
            changes.chain(turns).collect()
        } else {
            facts.commits.iter().enumerate().map(|(at, commit)| (&**commit, (at, 0, 0))).collect()
        };
        places.sort_unstable();
        Self { places }
    }

    /// The latest place of a commit whose id starts with `id`.
    fn place(&self, id: &str) -> Option<Place> {
        let from = self.places.partition_point(|(commit, _)| *commit < id);
        self.places[from..]
            .iter()
            .take_while(|(commit, _)| commit.starts_with(id))
            .map(|(_, place)| *place)
            .max()
    }

    pub(super) fn reviewed(&self, id: &str, newest: &Change) -> Reviewed {
        let Some(newest) = self.place(&newest.commit) else { return Reviewed::Fresh };
        match self.place(id) {
            None => Reviewed::Unknown,
            Some(place) if place < newest => Reviewed::Older,
            Some(_) => Reviewed::Fresh,
        }
    }

    /// Whether `change` came after the commit `id`; `None` when one of them is not known here.
    pub(super) fn is_after(&self, change: &Change, id: &str) -> Option<bool> {
        Some(self.place(&change.commit)? > self.place(id)?)
    }
}

/// A commit id as people write it.
pub(super) fn short(id: &str) -> &str {
    id.get(..7).unwrap_or(id)
}
