//! Why a hook could not be installed, removed or looked at.

use std::io;
use std::path::PathBuf;

use loop_git::GitError;

/// Why a hook could not be installed, removed or looked at.
#[derive(Debug, thiserror::Error)]
pub enum HookError {
    /// Git does not know the folder as a worktree.
    #[error("{worktree} is no worktree of a git repository: {words}", worktree = worktree.display())]
    NoWorktree {
        /// The folder that was asked about.
        worktree: PathBuf,
        /// Git's own words.
        words: String,
    },
    /// Git could not be run, or did not end.
    #[error(transparent)]
    Git(#[from] GitError),
    /// A hook cannot name this program.
    #[error("{path:?} cannot be called by a hook: {why}")]
    Binary {
        /// The program.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A file holds one of our marks without the other, so that nobody can tell which lines are ours.
    #[error("{path} holds half a section of loop's (line {line}): remove what is left of it by hand", path = path.display())]
    Half {
        /// The file.
        path: PathBuf,
        /// The line of the mark that stands alone, from 1.
        line: usize,
    },
    /// Something else stands where a file has to be.
    #[error("{path} is in the way: {what}", path = path.display())]
    InTheWay {
        /// Where it stands.
        path: PathBuf,
        /// What it is, and what to do about it.
        what: String,
    },
    /// A CLI's settings file cannot be understood, and is left as it is.
    #[error("{path}:{line}:{column} cannot be understood: {why}", path = path.display())]
    Settings {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// What is wrong there.
        why: String,
    },
    /// A file could not be read or written.
    #[error("cannot {doing} {path}", path = path.display())]
    Io {
        /// What was tried (`read`, `write`, …).
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl HookError {
    /// Returns a closure that adds what was tried to the system's answer.
    pub(crate) fn io(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { doing, path, source }
    }
}
