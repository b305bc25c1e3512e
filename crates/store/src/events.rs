//! A loop's own log: turn seen, decision, told, …

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sqlx::sqlite::SqliteRow;
use sqlx::{FromRow, Row};

use crate::columns;
use crate::error::{Fault, StoreError};
use crate::store::Store;

/// A line of a loop's log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Larger than that of every event before it; never used twice.
    pub id: i64,
    /// The loop.
    pub loop_id: String,
    /// When.
    pub at: Timestamp,
    /// What kind of thing happened, in a word.
    pub kind: String,
    /// What happened.
    pub text: String,
}

impl Store {
    /// Adds a line to a loop's log; returns its id.
    ///
    /// # Errors
    /// Fails with [`StoreError::Missing`] when there is no such loop.
    pub async fn event(
        &self,
        loop_id: &str,
        at: Timestamp,
        kind: &str,
        text: &str,
    ) -> Result<i64, StoreError> {
        let work = async {
            let query = sqlx::query("INSERT INTO events (loop_id, at, kind, text) VALUES (?1, ?2, ?3, ?4)")
                .bind(loop_id)
                .bind(at.as_millisecond())
                .bind(kind)
                .bind(text);
            let mut transaction = self.begin().await?;
            let done = match query.execute(&mut *transaction).await.map_err(Fault::from) {
                Err(fault) if fault.is_orphan() => return Err(Fault::missing("loop", loop_id)),
                done => done?,
            };
            transaction.commit().await?;
            Ok(done.last_insert_rowid())
        };
        self.settle("log an event", work.await)
    }

    /// Returns up to `limit` events of a loop after the one with the id `after` (0: from the first), oldest first.
    ///
    /// # Errors
    /// Fails when the store cannot be read.
    pub async fn events(&self, loop_id: &str, after: i64, limit: usize) -> Result<Vec<Event>, StoreError> {
        let work = async {
            let query = "SELECT * FROM events WHERE loop_id = ?1 AND id > ?2 ORDER BY id LIMIT ?3";
            let query = sqlx::query_as(query).bind(loop_id).bind(after).bind(columns::int(limit));
            Ok(query.fetch_all(self.reader()).await?)
        };
        self.settle("read the events", work.await)
    }

    /// Returns the last `limit` events of a loop, oldest first.
    ///
    /// # Errors
    /// Fails when the store cannot be read.
    pub async fn last_events(&self, loop_id: &str, limit: usize) -> Result<Vec<Event>, StoreError> {
        let work = async {
            let query = "SELECT * FROM events WHERE loop_id = ?1 ORDER BY id DESC LIMIT ?2";
            let query = sqlx::query_as(query).bind(loop_id).bind(columns::int(limit));
            let mut events: Vec<Event> = query.fetch_all(self.reader()).await?;
            events.reverse();
            Ok(events)
        };
        self.settle("read the events", work.await)
    }

    /// Returns every event of one kind of a loop, oldest first.
    ///
    /// # Errors
    /// Fails when the store cannot be read.
    pub async fn events_of_kind(&self, loop_id: &str, kind: &str) -> Result<Vec<Event>, StoreError> {
        let work = async {
            let query = sqlx::query_as("SELECT * FROM events WHERE loop_id = ?1 AND kind = ?2 ORDER BY id");
            Ok(query.bind(loop_id).bind(kind).fetch_all(self.reader()).await?)
        };
        self.settle("read the events", work.await)
    }
}

impl FromRow<'_, SqliteRow> for Event {
    fn from_row(row: &SqliteRow) -> sqlx::Result<Self> {
        Ok(Self {
            id: row.try_get("id")?,
            loop_id: row.try_get("loop_id")?,
            at: columns::time(row, "at")?,
            kind: row.try_get("kind")?,
            text: row.try_get("text")?,
        })
    }
}
