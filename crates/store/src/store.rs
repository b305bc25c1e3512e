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

    /// Begins a change that is on the disk once it is committed. It takes the lock at once: one that reads first and
    /// locks later can fail half-way when somebody else wrote in between. Dropped without a commit it changes nothing.
    pub(crate) async fn begin(&self) -> Result<Transaction<'static, Sqlite>, sqlx::Error> {
        self.begin_with("PRAGMA synchronous = full; BEGIN IMMEDIATE").await
    }

    /// Begins a change that a crash keeps but a power cut may undo as a whole. For what happens all the time while
    /// nothing happens (claims, waits, the clock), and would only happen again: without it a loop that waits for a
    /// person would flush the disk several times a second.
    pub(crate) async fn begin_light(&self) -> Result<Transaction<'static, Sqlite>, sqlx::Error> {
        self.begin_with("PRAGMA synchronous = normal; BEGIN IMMEDIATE").await
    }

    async fn begin_with(&self, sql: &'static str) -> Result<Transaction<'static, Sqlite>, sqlx::Error> {
        match self.opened.writer.begin_with(sql).await {
            // On a full disk SQLite itself rolls back, and sqlx goes on to believe in a transaction that nothing can
            // end any more. Only another connection helps.
            Err(sqlx::Error::InvalidSavePointStatement) => {
                self.opened.writer.acquire().await?.close().await?;
                self.opened.writer.begin_with(sql).await
            }
            begun => begun,
        }
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use jiff::Timestamp;
    use sqlx::Connection;

    use super::*;
    use crate::incidents::{Incident, Severity};

    async fn opened() -> (tempfile::TempDir, Store) {
        let folder = tempfile::TempDir::new().unwrap();
        let url = Store::url_of_file(&folder.path().join("loop.db"));
        let store = Store::open(&url).await.unwrap();
        (folder, store)
    }

    fn incident(detail: &str) -> Incident {
        Incident::new(Timestamp::UNIX_EPOCH, Severity::Low, None, "what", detail)
    }

    async fn pragma(store: &Store, sql: &'static str) {
        sqlx::raw_sql(sql).execute(store.writer()).await.unwrap();
    }

    #[tokio::test]
    async fn every_commit_is_flushed_and_relations_hold() {
        let (_folder, store) = opened().await;
        store.begin_light().await.unwrap().commit().await.unwrap();
        store.begin().await.unwrap().commit().await.unwrap();
        for (question, answer) in
            [("PRAGMA synchronous", 2_i64), ("PRAGMA foreign_keys", 1), ("PRAGMA busy_timeout", 5000)]
        {
            for pool in [store.writer(), store.reader()] {
                let found: i64 = sqlx::query_scalar(question).fetch_one(pool).await.unwrap();
                assert_eq!(found, answer, "{question}");
            }
        }
        let mode: String = sqlx::query_scalar("PRAGMA journal_mode").fetch_one(store.reader()).await.unwrap();
        assert_eq!(mode, "wal");
    }

    #[tokio::test]
    async fn a_full_disk_is_named_and_loses_nothing() {
        let (_folder, store) = opened().await;
        store.incident(&incident("short")).await.unwrap();
        // A limit on the file's pages fails in the same way as a disk without space.
        pragma(&store, "PRAGMA max_page_count = 1").await;
        let error = store.incident(&incident(&"long".repeat(20_000))).await.unwrap_err();
        assert!(matches!(error, StoreError::Full { .. }), "{error:?}");
        assert_eq!(store.incidents(10).await.unwrap().len(), 1);
        // Another connection starts without the limit, as if there were space again.
        store.incident(&incident(&"long".repeat(20_000))).await.unwrap();
        assert_eq!(store.incidents(10).await.unwrap().len(), 2);
    }

    #[tokio::test]
    async fn a_store_that_turns_read_only_is_named() {
        let (_folder, store) = opened().await;
        pragma(&store, "PRAGMA query_only = on").await;
        let error = store.incident(&incident("short")).await.unwrap_err();
        assert!(matches!(error, StoreError::ReadOnly { .. }), "{error:?}");
    }

    #[tokio::test]
    async fn a_lock_that_is_not_given_back_is_named() {
        let (_folder, store) = opened().await;
        let other = Store::open(store.url()).await.unwrap();
        let locked = other.begin().await.unwrap();
        pragma(&store, "PRAGMA busy_timeout = 50").await;
        let error = store.incident(&incident("short")).await.unwrap_err();
        assert!(matches!(error, StoreError::Busy { .. }), "{error:?}");
        assert_eq!(store.incidents(10).await.unwrap().len(), 0, "reading goes on");
        locked.rollback().await.unwrap();
        store.incident(&incident("short")).await.unwrap();
    }

    #[tokio::test]
    async fn the_file_itself_refuses_a_second_wake_of_one_agent() {
        let (_folder, store) = opened().await;
        let mut connection = store.writer().acquire().await.unwrap();
        let mut transaction = connection.begin().await.unwrap();
        sqlx::raw_sql(
            "INSERT INTO loops (id, worktree, common_dir, branch, status_file, slug, created_at)
             VALUES ('L', '/r', '/r/.git', 'b', 'STATUS.md', 's', 0);
             INSERT INTO deliveries
                 (id, loop_id, turn, agent, agent_key, attempt, state, created_at, updated_at, not_before)
             VALUES ('a', 'L', 1, 'CC', 'cc', 1, 'submitted', 0, 0, 0);",
        )
        .execute(&mut *transaction)
        .await
        .unwrap();
        for (turn, attempt, state) in [(2, 1, "typing"), (1, 2, "unknown"), (1, 1, "queued")] {
            let error = sqlx::query(
                "INSERT INTO deliveries
                     (id, loop_id, turn, agent, agent_key, attempt, state, created_at, updated_at, not_before)
                 VALUES ('b', 'L', ?1, 'CC', 'cc', ?2, ?3, 0, 0, 0)",
            )
            .bind(turn)
            .bind(attempt)
            .bind(state)
            .execute(&mut *transaction)
            .await
            .unwrap_err();
            assert!(error.as_database_error().is_some_and(|error| error.is_unique_violation()), "{error:?}");
        }
    }

    #[test]
    fn nothing_but_the_file_is_shown() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (folder, store) = runtime.block_on(opened());
        let shown = format!("{store:?}");
        assert_eq!(shown, format!("Store {{ path: {:?}, .. }}", folder.path().join("loop.db")));
    }

    #[test]
    fn work_on_a_store_can_move_between_threads() {
        fn assert_send<T: Send>(_: &T) {}
        fn assert_store<T: Send + Sync + Clone>() {}
        assert_store::<Store>();
        let opening = Store::open("nothing");
        assert_send(&opening);
    }
}
