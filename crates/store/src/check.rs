//! Whether the store is whole, for `loop store` and `loop doctor`.

use std::path::PathBuf;

use serde::Serialize;
use sqlx::Row;

use crate::columns;
use crate::error::{Fault, StoreError};
use crate::migrate;
use crate::store::Store;

/// What a look at the whole store found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StoreReport {
    /// The file.
    #[serde(serialize_with = "columns::serialize_path")]
    pub path: PathBuf,
    /// Its size in bytes, without the write-ahead log.
    pub bytes: u64,
    /// The number of its schema.
    pub schema: i64,
    /// The newest schema that this code knows.
    pub newest_schema: i64,
    /// What is wrong with it; empty: it is whole.
    pub problems: Vec<String>,
    /// How many loops there are.
    pub loops: u64,
    /// How many of them have not ended.
    pub open_loops: u64,
    /// How many turns are on record.
    pub turns: u64,
    /// How many deliveries there are.
    pub deliveries: u64,
    /// To how many of them something may still happen.
    pub open_deliveries: u64,
    /// How many sessions are registered.
    pub sessions: u64,
    /// How many incidents there are.
    pub incidents: u64,
    /// How many events there are.
    pub events: u64,
    /// How many writes could be taken back.
    pub writes: u64,
}

impl Store {
    /// Reads the whole store and reports its schema, its size in rows, and any damage.
    ///
    /// # Errors
    /// Fails when the store is so damaged that not even its rows can be counted.
    pub async fn check(&self) -> Result<StoreReport, StoreError> {
        let problems = self.settle("look for damage", self.problems().await)?;
        let work = async {
            let row = sqlx::query(
                "SELECT (SELECT count(*) FROM loops) AS loops,
                        (SELECT count(*) FROM loops WHERE ended_at IS NULL) AS open_loops,
                        (SELECT count(*) FROM turns) AS turns,
                        (SELECT count(*) FROM deliveries) AS deliveries,
                        (SELECT count(*) FROM deliveries
                         WHERE state NOT IN ('answered', 'superseded', 'unanswered', 'dead')) AS open_deliveries,
                        (SELECT count(*) FROM sessions) AS sessions,
                        (SELECT count(*) FROM incidents) AS incidents,
                        (SELECT count(*) FROM events) AS events,
                        (SELECT count(*) FROM writes) AS writes",
            )
            .fetch_one(self.reader())
            .await?;
            let schema = sqlx::query_scalar("PRAGMA user_version").fetch_one(self.reader()).await?;
            let bytes = std::fs::metadata(self.path()).map_or(0, |found| found.len());
            Ok(StoreReport {
                path: self.path().to_owned(),
                bytes,
                schema,
                newest_schema: migrate::newest(),
                problems,
                loops: columns::count(&row, "loops")?,
                open_loops: columns::count(&row, "open_loops")?,
                turns: columns::count(&row, "turns")?,
                deliveries: columns::count(&row, "deliveries")?,
                open_deliveries: columns::count(&row, "open_deliveries")?,
                sessions: columns::count(&row, "sessions")?,
                incidents: columns::count(&row, "incidents")?,
                events: columns::count(&row, "events")?,
                writes: columns::count(&row, "writes")?,
            })
        };
        self.settle("count the rows", work.await)
    }

    async fn problems(&self) -> Result<Vec<String>, Fault> {
        let lines: Vec<String> =
            sqlx::query_scalar("PRAGMA integrity_check").fetch_all(self.reader()).await?;
        let mut problems: Vec<String> = lines.into_iter().filter(|line| line != "ok").collect();
        let orphans = sqlx::query("PRAGMA foreign_key_check").fetch_all(self.reader()).await?;
        for orphan in orphans {
            let (table, parent): (String, String) = (orphan.try_get(0)?, orphan.try_get(2)?);
            problems.push(format!("a row of {table} belongs to no row of {parent}"));
        }
        Ok(problems)
    }
}
