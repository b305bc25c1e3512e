//! What git is in the middle of.

use std::fmt;

use git2::RepositoryState;

use crate::repo::Repo;

/// An operation of git's that is under way in a worktree, so that its commits are not turns yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// `git rebase`.
    Rebase,
    /// `git merge`, not yet committed.
    Merge,
    /// `git cherry-pick`.
    CherryPick,
    /// `git revert`.
    Revert,
    /// `git bisect`.
    Bisect,
    /// `git am`.
    Am,
}

impl fmt::Display for Operation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::Rebase => "rebase",
            Self::Merge => "merge",
            Self::CherryPick => "cherry-pick",
            Self::Revert => "revert",
            Self::Bisect => "bisect",
            Self::Am => "am",
        })
    }
}

impl Repo {
    /// Returns what git is in the middle of in this worktree.
    pub fn operation(&self) -> Option<Operation> {
        use RepositoryState as State;
        match self.git2.state() {
            State::Clean => None,
            State::Merge => Some(Operation::Merge),
            State::Revert | State::RevertSequence => Some(Operation::Revert),
            State::CherryPick | State::CherryPickSequence => Some(Operation::CherryPick),
            State::Bisect => Some(Operation::Bisect),
            State::Rebase | State::RebaseInteractive | State::RebaseMerge => Some(Operation::Rebase),
            State::ApplyMailbox | State::ApplyMailboxOrRebase => Some(Operation::Am),
        }
    }
}
