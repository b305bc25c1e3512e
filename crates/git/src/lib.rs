//! Everything that opens a repository.
//!
//! Reading goes through libgit2 in this process: [`Repo`] knows where a worktree keeps its things ([`Place`]),
//! what its [`Head`] is, what a file says at a commit or in the working tree ([`Blob`]), what is [`Dirty`], what
//! changed between two commits, and the [`Story`] of a loop: which commit brought which section, and who changed
//! the code in between.
//!
//! Writing that must honour hooks, signing and configuration goes through the `git` program: [`Git`] runs it with
//! a known environment ([`GitEnv`]), no terminal and a deadline; [`commit_paths`] makes a commit of some files
//! and leaves everything else that the user has staged alone.
//!
//! [`append_section`] adds a section to STATUS.md under a lock that lasts until the commit is made, and can take
//! it back byte for byte. [`Baseline`] remembers what was already changed when an agent's turn began.
//!
//! Nothing here reads the environment or prints; libgit2 is opened without it too, so a `GIT_DIR` that a hook
//! inherited never leads into the wrong repository.

mod append;
mod baseline;
mod blob;
mod branch;
mod changes;
mod commit;
mod commit_id;
mod commit_info;
mod config;
mod dirty;
mod env;
mod error;
mod exclude;
mod head;
mod include;
mod lock;
mod operation;
mod place;
mod program;
mod repo;
mod story;
mod tree;
mod words;
mod worktree;
mod write;

#[cfg(test)]
mod testing;

pub use append::{Appended, append_section};
pub use baseline::{
    Baseline, BaselineEntry, Since, changed_since, forget_baseline, read_baseline, record_baseline,
};
pub use blob::{Blob, MAX_FILE_BYTES};
pub use branch::switch_new_branch;
pub use changes::{DiffText, FileStat};
pub use commit::{CommitOpts, Committed, commit_paths};
pub use commit_id::CommitId;
pub use commit_info::{AGENT_TRAILER, ARCHIVE_TRAILER, CommitInfo, ID_TRAILER, INIT_TRAILER};
pub use dirty::{Dirty, DirtyKind};
pub use env::GitEnv;
pub use error::GitError;
pub use head::Head;
pub use include::copy_included;
pub use lock::{LOCK_WAIT, StatusLock};
pub use operation::Operation;
pub use place::Place;
pub use program::{Git, Output};
pub use repo::Repo;
pub use story::{Story, StoryCache, TurnCommit};
pub use worktree::{worktree_add, worktree_add_detached, worktree_remove};
pub use write::write_atomic;
