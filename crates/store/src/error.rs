//! What can go wrong with the store, by what a caller does about it.

use std::io;
use std::path::{Path, PathBuf};

use loop_core::DeliveryState;

/// Why the store could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The URL names a kind of store that does not exist here.
    #[error("no store is known for `{scheme}:` URLs; known: {known}")]
    UnknownScheme {
        /// The URL's scheme. The rest of the URL may hold a password and is not shown.
        scheme: String,
        /// The known schemes, separated by commas.
        known: String,
    },
    /// The URL has a known scheme, but does not name a store.
    #[error("the store's URL cannot be used: {why}")]
    BadUrl {
        /// What is wrong with it.
        why: String,
    },
    /// The file is damaged, or no store at all. It was left as it is.
    #[error("{} cannot be read as a store: {advice}", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What was found, and what a person can do.
        advice: String,
    },
    /// The store was written by a newer version. It was left as it is.
    #[error("{} has schema {found}, this version of loop knows up to {known}: use the newer loop", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// The store's schema.
        found: i64,
        /// The newest schema known here.
        known: i64,
    },
    /// The file, its folder or its file system cannot be written to.
    #[error("cannot write to {}: the file or its folder is read-only", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// The disk is full. Nothing was changed.
    #[error("cannot write to {}: the disk is full", path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// Another process kept the store locked for longer than the patience here. Trying again may help.
    #[error("{} is busy: another process keeps it locked; try again", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// There is no such row.
    #[error("the store has no {what} {id}")]
    Missing {
        /// What was looked for: `loop`, `delivery`.
        what: &'static str,
        /// Its id.
        id: String,
    },
    /// A delivery cannot make this move, whatever its present state: the caller is wrong.
    #[error("delivery {id} cannot go from {} to {}", from.as_str(), to.as_str())]
    Refused {
        /// The delivery.
        id: String,
        /// The state it would leave.
        from: DeliveryState,
        /// The state it would reach.
        to: DeliveryState,
    },
    /// The operating system refused.
    #[error("cannot use {}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// SQLite refused for another reason.
    #[error("cannot {doing} in {}", path.display())]
    Sql {
        /// The file.
        path: PathBuf,
        /// What was being tried, for example `record a decision`.
        doing: &'static str,
        /// Why.
        #[source]
        source: sqlx::Error,
    },
}

/// What the inside of the crate fails with, before the store's path and the deed are known.
#[derive(Debug)]
pub(crate) enum Fault {
    /// From the database.
    Sql(sqlx::Error),
    /// Already in a caller's words.
    Store(StoreError),
}

impl From<sqlx::Error> for Fault {
    fn from(error: sqlx::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Fault {
    /// There is no row `id` of the kind `what`.
    pub(crate) fn missing(what: &'static str, id: &str) -> Self {
        Self::Store(StoreError::Missing { what, id: id.to_owned() })
    }

    /// Whether a foreign key points at nothing.
    pub(crate) fn is_orphan(&self) -> bool {
        match self {
            Self::Sql(sqlx::Error::Database(error)) => error.is_foreign_key_violation(),
            _ => false,
        }
    }

    /// Whether another connection was in the way.
    pub(crate) fn is_busy(&self) -> bool {
        matches!(self, Self::Sql(error) if matches!(primary_code(error), Some(BUSY | LOCKED)))
    }

    /// Puts it in a caller's words: what was being tried, with which file.
    pub(crate) fn into_error(self, path: &Path, doing: &'static str) -> StoreError {
        let source = match self {
            Self::Store(error) => return error,
            Self::Sql(source) => source,
        };
        let path = path.to_owned();
        match primary_code(&source) {
            Some(BUSY | LOCKED) => return StoreError::Busy { path },
            Some(READONLY | PERM) => return StoreError::ReadOnly { path },
            Some(FULL) => return StoreError::Full { path },
            Some(IOERR) if code(&source) == Some(IOERR_SHMSIZE) => return StoreError::Full { path },
            Some(CORRUPT | NOTADB) => return damaged(&path),
            _ => {}
        }
        match source {
            sqlx::Error::PoolTimedOut => StoreError::Busy { path },
            sqlx::Error::ColumnDecode { .. }
            | sqlx::Error::ColumnNotFound(_)
            | sqlx::Error::ColumnIndexOutOfBounds { .. }
            | sqlx::Error::Decode(_) => {
                let advice = format!("a row holds what loop never writes ({source}); {KEEP}");
                StoreError::Corrupt { path, advice }
            }
            source => StoreError::Sql { path, doing, source },
        }
    }
}

/// What a person can do with a damaged store. Nothing of a loop's protocol is lost with it: that is in git.
pub(crate) const KEEP: &str = "it was left as it is; move it, its -wal and its -shm file away to start with an \
                               empty store (turns and verdicts are in git)";

/// What is said of a file that SQLite cannot read.
pub(crate) fn damaged(path: &Path) -> StoreError {
    let advice = format!("the file is damaged or is no SQLite database; {KEEP}");
    StoreError::Corrupt { path: path.to_owned(), advice }
}

/// Puts a refusal of the operating system, met while making `path`, in a caller's words.
pub(crate) fn from_io(path: &Path, source: io::Error) -> StoreError {
    let path = path.to_owned();
    match source.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => StoreError::ReadOnly { path },
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full { path },
        _ => StoreError::Io { path, source },
    }
}

// SQLite's primary result codes (https://www.sqlite.org/rescode.html).
const PERM: u32 = 3;
const BUSY: u32 = 5;
const LOCKED: u32 = 6;
const READONLY: u32 = 8;
const IOERR: u32 = 10;
const CORRUPT: u32 = 11;
const FULL: u32 = 13;
const NOTADB: u32 = 26;

/// An extended one: the file beside the store that its users share cannot grow.
const IOERR_SHMSIZE: u32 = IOERR | 19 << 8;

/// SQLite's primary result code: the low byte of the extended one.
fn primary_code(error: &sqlx::Error) -> Option<u32> {
    code(error).map(|code| code & 0xff)
}

/// SQLite's extended result code.
fn code(error: &sqlx::Error) -> Option<u32> {
    error.as_database_error()?.code()?.parse().ok()
}
