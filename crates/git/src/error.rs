//! What can go wrong with a repository, in words for the person who must mend it.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use loop_core::append::AppendError;

/// Why something with a repository did not work. [`GitError::hint`] says what to do next.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// No repository at or above the path.
    #[error("no git repository at or above {}", path.display())]
    NotARepository {
        /// Where the search began.
        path: PathBuf,
    },
    /// A repository without a working tree.
    #[error("{} is a bare repository: there is no working tree to work in", path.display())]
    Bare {
        /// Its git directory.
        path: PathBuf,
    },
    /// The repository belongs to somebody else ("dubious ownership").
    #[error("{} belongs to another user, so git does not trust it", path.display())]
    Owner {
        /// The directory that git does not trust.
        path: PathBuf,
    },
    /// The repository uses something that this version cannot read.
    #[error("{} uses `{extension}`, which this version of loop cannot read", path.display())]
    Unsupported {
        /// Where the repository was looked for.
        path: PathBuf,
        /// The setting that says so, for example `extensions.refstorage = reftable`.
        extension: String,
    },
    /// Another git process holds the index, or left its lock behind.
    #[error("another git process holds {}", path.display())]
    Locked {
        /// The lock file.
        path: PathBuf,
    },
    /// Another `loop` process holds STATUS.md.
    #[error("{} is held {}", path.display(), holder(*pid))]
    StatusLocked {
        /// The lock file.
        path: PathBuf,
        /// The process that holds it, where known.
        pid: Option<u32>,
    },
    /// git does not know in whose name to commit.
    #[error("git does not know in whose name to commit")]
    NoIdentity {
        /// What git said.
        words: String,
    },
    /// git refused.
    #[error("git refused to {what}{}", colon(words))]
    Refused {
        /// What was tried, as an infinitive (`commit`).
        what: String,
        /// What git and its hooks said, without control characters.
        words: String,
    },
    /// git did not finish in time and was ended.
    #[error("git did not {what} within {} s and was ended{}", after.as_secs_f32(), colon(words))]
    TimedOut {
        /// What was tried, as an infinitive.
        what: String,
        /// How long it was waited for.
        after: Duration,
        /// What git and its hooks had said until then.
        words: String,
    },
    /// The `git` program cannot be started.
    #[error("cannot start `{}`", program.display())]
    Program {
        /// The program.
        program: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A path that is none inside the repository.
    #[error("{path:?} is no path inside the repository: {why}")]
    Path {
        /// The path.
        path: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Something other than a file stands where a file should be.
    #[error("{} is {what}, not a file", path.display())]
    NotAFile {
        /// Where.
        path: PathBuf,
        /// What it is (`a directory`).
        what: &'static str,
    },
    /// A symlink that leads out of the repository.
    #[error("{} is a symlink to {target}, outside the repository", path.display())]
    Outside {
        /// The symlink.
        path: PathBuf,
        /// Where it leads.
        target: String,
    },
    /// A file that may not be written.
    #[error("{} is read-only", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// A file too large to be what it should be.
    #[error("{} has {size} bytes, more than the {} that are read", path.display(), crate::MAX_FILE_BYTES)]
    TooBig {
        /// The file.
        path: PathBuf,
        /// Its size in bytes.
        size: u64,
    },
    /// The section cannot be appended.
    #[error("cannot append to {}", path.display())]
    Append {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: AppendError,
    },
    /// Somebody else wrote the file since.
    #[error("{} was changed by somebody else in the meantime", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// A commit that is not there.
    #[error("there is no commit {id} here")]
    NoSuchCommit {
        /// The id that was asked for.
        id: String,
    },
    /// A file or folder that could not be read or written.
    #[error("cannot {doing} {}", path.display())]
    Io {
        /// What was tried (`read`).
        doing: &'static str,
        /// With what.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A record of ours that cannot be read.
    #[error("cannot read the record {}", path.display())]
    Record {
        /// The record.
        path: PathBuf,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// libgit2 failed.
    #[error("cannot {doing}")]
    Git2 {
        /// What was tried.
        doing: &'static str,
        /// Why.
        #[source]
        source: git2::Error,
    },
}

impl GitError {
    /// Returns what the user can do about it, where there is something to say.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NotARepository { .. } => {
                "run this inside a repository, or make one with `git init`".to_owned()
            }
            Self::Bare { .. } => "use a worktree of it: `git worktree add ../work`".to_owned(),
            Self::Owner { path } => {
                format!("if you trust it: git config --global --add safe.directory '{}'", path.display())
            }
            Self::Unsupported { .. } => {
                "use a clone with git's default formats (`git clone --ref-format=files`, SHA-1 objects)"
                    .to_owned()
            }
            Self::Locked { path } => {
                format!("wait for it; if no git runs any more, delete {}", path.display())
            }
            Self::StatusLocked { .. } => "wait until that commit is done, then try again".to_owned(),
            Self::NoIdentity { .. } => {
                "git config --global user.name 'Your Name' && git config --global user.email you@example.com"
                    .to_owned()
            }
            Self::TimedOut { .. } => {
                "a hook or a signing prompt may be waiting for somebody: try the same with git by hand"
                    .to_owned()
            }
            Self::Program { .. } => "install git, or put it on PATH".to_owned(),
            Self::Outside { .. } => "put a file there instead".to_owned(),
            Self::ReadOnly { path } => format!("chmod u+w '{}'", path.display()),
            Self::Changed { path } => format!("look at it: git diff -- '{}'", path.display()),
            _ => return None,
        })
    }

    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { doing, path, source }
    }

    pub(crate) fn git2(doing: &'static str) -> impl FnOnce(git2::Error) -> Self {
        move |source| Self::Git2 { doing, source }
    }
}

fn holder(pid: Option<u32>) -> String {
    match pid {
        Some(pid) => format!("by process {pid}"),
        None => "by another process".to_owned(),
    }
}

fn colon(words: &str) -> String {
    if words.is_empty() { String::new() } else { format!(": {words}") }
}
