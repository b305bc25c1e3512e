//! The schema, in numbered steps.
//!
//! The file itself carries the number of its schema (`user_version`) and the mark that it is ours
//! (`application_id`). All steps that are missing run in one transaction, so a crash leaves the old schema or the
//! new one. A released step is never edited: a change is one more file and one more row.

use sqlx::{Connection, SqliteConnection};

use crate::error::{Fault, KEEP, StoreError};
use crate::store::Store;

/// The steps, oldest first; the schema's number is how many of them a store has.
const STEPS: &[&str] = &[
    include_str!("../migrations/0001_loops_and_deliveries.sql"),
    include_str!("../migrations/0002_witnessed.sql"),
];

/// Marks a SQLite file as a store of loop: `loop` in ASCII.
pub(crate) const APPLICATION_ID: i64 = 0x6c6f_6f70;

/// The newest schema known here.
pub(crate) fn newest() -> i64 {
    crate::columns::int(STEPS.len())
}

/// Brings the store to the newest schema, after making sure that it is one; else leaves it as it is.
pub(crate) async fn run(store: &Store) -> Result<(), Fault> {
    let mut connection = store.writer().acquire().await?;
    // In a transaction, so that the values belong together while another process makes the schema.
    let mut look = connection.begin().await?;
    let found = schema_of(&mut look, store).await?;
    look.rollback().await?;
    if found == 0 || journal_mode(&mut connection).await? != "wal" {
        sqlx::raw_sql("PRAGMA journal_mode = wal").execute(&mut *connection).await?;
    }

    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    let found = schema_of(&mut transaction, store).await?;
    let missing = STEPS.iter().skip(usize::try_from(found).unwrap_or(usize::MAX));
    for step in missing {
        sqlx::raw_sql(*step).execute(&mut *transaction).await?;
    }
    // Written even where no step was missing: this is where a store shows that cannot be written to. (A pragma
    // takes no parameters.)
    let mark = format!("PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {}", newest());
    sqlx::raw_sql(sqlx::AssertSqlSafe(mark)).execute(&mut *transaction).await?;
    if found < newest() {
        transaction.commit().await?;
    } else {
        transaction.rollback().await?;
    }
    Ok(())
}

/// The number of the store's schema; 0 for an empty file.
async fn schema_of(connection: &mut SqliteConnection, store: &Store) -> Result<i64, Fault> {
    let mark: i64 = number(connection, "PRAGMA application_id").await?;
    let version: i64 = number(connection, "PRAGMA user_version").await?;
    let objects: i64 = number(connection, "SELECT count(*) FROM sqlite_schema").await?;
    let path = || store.path().to_owned();
    if mark != APPLICATION_ID && (mark, version, objects) != (0, 0, 0) {
        let advice =
            "it is another program's database; it was left as it is; give loop a file of its own".into();
        return Err(StoreError::Corrupt { path: path(), advice }.into());
    }
    if version > newest() {
        return Err(StoreError::Newer { path: path(), found: version, known: newest() }.into());
    }
    if version < 0 || (mark == APPLICATION_ID && (version == 0 || objects == 0)) {
        let advice = format!("its schema has the impossible number {version}; {KEEP}");
        return Err(StoreError::Corrupt { path: path(), advice }.into());
    }
    Ok(version)
}

async fn number(connection: &mut SqliteConnection, sql: &'static str) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar(sql).fetch_one(connection).await
}

async fn journal_mode(connection: &mut SqliteConnection) -> Result<String, sqlx::Error> {
    sqlx::query_scalar("PRAGMA journal_mode").fetch_one(connection).await
}
