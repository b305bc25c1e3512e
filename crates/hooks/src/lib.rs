//! The notifier in git: put into a repository's hooks, proved, taken out again; and what it does when it is called.
//!
//! [`install`] puts a few marked lines into the `post-commit` hook that git really runs in a worktree, wherever
//! `core.hooksPath`, a linked worktree, husky, lefthook or pre-commit have it, and leaves every other byte alone.
//! [`uninstall`] takes exactly those lines out. [`status`] proves by a trial commit that a commit rings.
//!
//! The hook calls `loop notify`, in the foreground. [`notify::run`] reads the new commit, rings the router on
//! loopback, and returns what the one who committed should read, at most half a second later, whatever hangs. It
//! never fails a commit. The ring carries nothing that the router could not read from git itself: losing one loses
//! nothing.
//!
//! [`turn`] does the same for the hooks of the agents' own CLIs, which call `loop turn-hook`.
//!
//! Nothing here prints or reads the environment.

mod env;
mod error;
mod exclude;
mod git;
mod ground;
mod install;
mod language;
mod managers;
mod marked;
pub mod notify;
mod old_way;
mod plan;
mod probe;
mod status;
mod text;
pub mod turn;
mod uninstall;
mod write;

pub use env::HookEnv;
pub use error::HookError;
pub use install::{InstallOptions, Installed, Outcome, install};
pub use old_way::OldWay;
pub use probe::{PROBE_VARIABLE, answer_probe};
pub use status::{HookStatus, Proof, status};
pub use uninstall::{Uninstalled, uninstall};
pub use write::{Write, WriteKind};
