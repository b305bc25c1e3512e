//! The handle on an open store.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sqlx::{Sqlite, SqlitePool, Transaction};

use crate::error::{Fault, StoreError};
use crate::stores;

/// An open store. Cloning gives another handle on the same one.
#[derive(Clone)]
pub struct Store {
    opened: Arc<Opened>,
}

struct Opened {
    url: String,
    path: PathBuf,
    writer: SqlitePool,
    reader: SqlitePool,
}

impl Store {
    /// Opens the store that `url` names; where there is none, makes it.
    ///
    /// A new folder is readable by its user only (0700), and so is the file (0600). The schema is brought up to
    /// date.
    ///
    /// # Errors
    /// Fails when the URL is unusable, and when the store is damaged, somebody else's, newer than this code,
    /// read-only, or locked for more than five seconds. Such a store is left exactly as it is.
    pub async fn open(url: &str) -> Result<Self, StoreError> {
        let kind = stores::kind_of(url)?;
        (kind.open)(url.to_owned()).await
    }

    /// The URL of the store in the file `path`, which must be absolute.
    pub fn url_of_file(path: &Path) -> String {
        stores::sqlite::url_of(path)
    }

    /// The file that holds the store.
    pub fn path(&self) -> &Path {
        &self.opened.path
    }

    /// The URL that the store was opened with.
    pub fn url(&self) -> &str {
        &self.opened.url
    }

    /// Closes the store for every handle, once what is under way is done. Dropping the last handle does the same
    /// in the background.
    pub async fn close(&self) {
        self.opened.reader.close().await;
        // Last, so that SQLite can fold the write-ahead log into the file.
        self.opened.writer.close().await;
    }

    pub(crate) fn new(url: String, path: PathBuf, writer: SqlitePool, reader: SqlitePool) -> Self {
        Self { opened: Arc::new(Opened { url, path, writer, reader }) }
    }

    pub(crate) fn writer(&self) -> &SqlitePool {
        &self.opened.writer
    }

    pub(crate) fn reader(&self) -> &SqlitePool {
        &self.opened.reader
    }

    /// Begins a change. It takes the lock at once: one that reads first and locks later can fail half-way when
    /// somebody else wrote in between. Dropped without a commit it changes nothing.
    pub(crate) async fn begin(&self) -> Result<Transaction<'static, Sqlite>, sqlx::Error> {
        self.opened.writer.begin_with("BEGIN IMMEDIATE").await
    }

    /// Puts what went wrong inside in a caller's words.
    pub(crate) fn settle<T>(&self, doing: &'static str, outcome: Result<T, Fault>) -> Result<T, StoreError> {
        outcome.map_err(|fault| fault.into_error(&self.opened.path, doing))
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the URL: that of another kind of store may hold a password.
        formatter.debug_struct("Store").field("path", &self.opened.path).finish_non_exhaustive()
    }
}
