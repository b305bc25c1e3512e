//! The loops: where each one is, what was decided last, and what a person ordered.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use loop_core::decide::{Accept, Resume};
use loop_core::{DeliveryState, Name};
use serde::{Deserialize, Serialize};
use sqlx::sqlite::SqliteRow;
use sqlx::{FromRow, Row, SqliteConnection};

use crate::columns::{self, bind_path};
use crate::error::{Fault, StoreError};
use crate::ledger;
use crate::steering::{self, StoredAccept, StoredResume};
use crate::store::Store;

/// A loop that begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewLoop {
    /// The id that stands in STATUS.md's preamble.
    pub id: String,
    /// The working tree.
    #[serde(serialize_with = "columns::serialize_path")]
    pub worktree: PathBuf,
    /// The git directory that all working trees of the repository share.
    #[serde(serialize_with = "columns::serialize_path")]
    pub common_dir: PathBuf,
    /// The branch, in its short form.
    pub branch: String,
    /// STATUS.md's path within the working tree.
    pub status_file: String,
    /// The short form of the task, for names of branches and folders.
    pub slug: String,
    /// When.
    pub created_at: Timestamp,
}

/// A loop on record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoopRow {
    /// The id that stands in STATUS.md's preamble.
    pub id: String,
    /// The working tree.
    #[serde(serialize_with = "columns::serialize_path")]
    pub worktree: PathBuf,
    /// The git directory that all working trees of the repository share.
    #[serde(serialize_with = "columns::serialize_path")]
    pub common_dir: PathBuf,
    /// The branch, in its short form.
    pub branch: String,
    /// STATUS.md's path within the working tree.
    pub status_file: String,
    /// The short form of the task.
    pub slug: String,
    /// When the loop was made known here.
    pub created_at: Timestamp,
    /// `running`, `passed`, `blocked`, `held` or `idle`.
    pub state: String,
    /// Equal keys mean the same decision.
    pub decision_key: Option<String>,
    /// The last decision, as JSON.
    pub decision_json: Option<String>,
    /// The branch's tip when it was made.
    pub tip: Option<String>,
    /// A person's pause, with the reason in their words.
    pub paused: Option<String>,
    /// Agents that a person leaves out.
    pub skipped: Vec<Name>,
    /// The last `loop resume`.
    #[serde(with = "steering::resume", default)]
    pub resumed: Option<Resume>,
    /// A person's `loop accept`.
    #[serde(with = "steering::accept", default)]
    pub accepted: Option<Accept>,
    /// The hash of the `loop.yaml` that a person approved.
    pub approved: Option<String>,
    /// Its text: what holds, and what a change is shown against.
    pub approved_text: Option<String>,
    /// Whether agents may be woken; false until `loop up`.
    pub up: bool,
    /// The fingerprint of what a person was last told.
    pub told: Option<String>,
    /// Working time since the start, or since it was last set to 0, in milliseconds.
    pub worked_ms: i64,
    /// When the work began.
    pub started_at: Option<Timestamp>,
    /// When the loop was archived or given up.
    pub ended_at: Option<Timestamp>,
    /// The tmux session that holds its windows.
    pub session: Option<String>,
    /// The fingerprint of what the planner was last told.
    pub planner_told: Option<String>,
}

/// What is to change in a loop; `None` leaves a field as it is, `Some(None)` empties it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LoopPatch {
    /// See [`LoopRow::worktree`].
    pub worktree: Option<PathBuf>,
    /// See [`LoopRow::common_dir`].
    pub common_dir: Option<PathBuf>,
    /// See [`LoopRow::branch`].
    pub branch: Option<String>,
    /// See [`LoopRow::status_file`].
    pub status_file: Option<String>,
    /// See [`LoopRow::slug`].
    pub slug: Option<String>,
    /// See [`LoopRow::state`].
    pub state: Option<String>,
    /// See [`LoopRow::decision_key`].
    pub decision_key: Option<Option<String>>,
    /// See [`LoopRow::decision_json`].
    pub decision_json: Option<Option<String>>,
    /// See [`LoopRow::tip`].
    pub tip: Option<Option<String>>,
    /// See [`LoopRow::paused`].
    pub paused: Option<Option<String>>,
    /// See [`LoopRow::skipped`].
    pub skipped: Option<Vec<Name>>,
    /// See [`LoopRow::resumed`].
    pub resumed: Option<Option<Resume>>,
    /// See [`LoopRow::accepted`].
    pub accepted: Option<Option<Accept>>,
    /// See [`LoopRow::approved`].
    pub approved: Option<Option<String>>,
    /// See [`LoopRow::approved_text`].
    pub approved_text: Option<Option<String>>,
    /// See [`LoopRow::up`].
    pub up: Option<bool>,
    /// See [`LoopRow::told`].
    pub told: Option<Option<String>>,
    /// See [`LoopRow::worked_ms`].
    pub worked_ms: Option<i64>,
    /// See [`LoopRow::started_at`].
    pub started_at: Option<Option<Timestamp>>,
    /// See [`LoopRow::ended_at`].
    pub ended_at: Option<Option<Timestamp>>,
    /// See [`LoopRow::session`].
    pub session: Option<Option<String>>,
    /// See [`LoopRow::planner_told`].
    pub planner_told: Option<Option<String>>,
}

impl LoopPatch {
    fn apply(self, row: &mut LoopRow) {
        fn put<T>(field: &mut T, change: Option<T>) {
            if let Some(value) = change {
                *field = value;
            }
        }
        put(&mut row.worktree, self.worktree);
        put(&mut row.common_dir, self.common_dir);
        put(&mut row.branch, self.branch);
        put(&mut row.status_file, self.status_file);
        put(&mut row.slug, self.slug);
        put(&mut row.state, self.state);
        put(&mut row.decision_key, self.decision_key);
        put(&mut row.decision_json, self.decision_json);
        put(&mut row.tip, self.tip);
        put(&mut row.paused, self.paused);
        put(&mut row.skipped, self.skipped);
        put(&mut row.resumed, self.resumed);
        put(&mut row.accepted, self.accepted);
        put(&mut row.approved, self.approved);
        put(&mut row.approved_text, self.approved_text);
        put(&mut row.up, self.up);
        put(&mut row.told, self.told);
        put(&mut row.worked_ms, self.worked_ms);
        put(&mut row.started_at, self.started_at);
        put(&mut row.ended_at, self.ended_at);
        put(&mut row.session, self.session);
        put(&mut row.planner_told, self.planner_told);
    }
}

impl Store {
    /// Makes a loop known and returns it; one that is known already is returned as it stands.
    ///
    /// # Errors
    /// Fails when the store cannot be written to.
    pub async fn add_loop(&self, new: &NewLoop) -> Result<LoopRow, StoreError> {
        let work = async {
            let mut transaction = self.begin().await?;
            let query = sqlx::query(
                "INSERT INTO loops (id, branch, status_file, slug, created_at, worktree, common_dir)
                 VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
            )
            .bind(&new.id)
            .bind(&new.branch)
            .bind(&new.status_file)
            .bind(&new.slug)
            .bind(new.created_at.as_millisecond());
            let query = bind_path(query, Some(&new.worktree));
            bind_path(query, Some(&new.common_dir)).execute(&mut *transaction).await?;
            let row = load(&mut transaction, &new.id).await?;
            transaction.commit().await?;
            Ok(row)
        };
        self.settle("add a loop", work.await)
    }

    /// Returns the loops, oldest first; those that have ended only when asked for.
    ///
    /// # Errors
    /// Fails when the store cannot be read.
    pub async fn loops(&self, with_ended: bool) -> Result<Vec<LoopRow>, StoreError> {
        let work = async {
            let query = "SELECT * FROM loops WHERE ?1 OR ended_at IS NULL ORDER BY created_at, id";
            Ok(sqlx::query_as(query).bind(with_ended).fetch_all(self.reader()).await?)
        };
        self.settle("read the loops", work.await)
    }

    /// Returns one loop.
    ///
    /// # Errors
    /// Fails when the store cannot be read.
    pub async fn loop_row(&self, id: &str) -> Result<Option<LoopRow>, StoreError> {
        let work = async {
            let query = sqlx::query_as("SELECT * FROM loops WHERE id = ?1").bind(id);
            Ok(query.fetch_optional(self.reader()).await?)
        };
        self.settle("read a loop", work.await)
    }

    /// Changes a loop and returns it as it then stands. What others change at the same time is kept, field by
    /// field.
    ///
    /// # Errors
    /// Fails with [`StoreError::Missing`] when there is no such loop.
    pub async fn update_loop(&self, id: &str, patch: LoopPatch) -> Result<LoopRow, StoreError> {
        let work = async {
            let mut transaction = self.begin().await?;
            let before = load(&mut transaction, id).await?;
            let mut row = before.clone();
            patch.apply(&mut row);
            if row != before {
                save(&mut transaction, &row).await?;
            }
            transaction.commit().await?;
            Ok(row)
        };
        self.settle("change a loop", work.await)
    }

    /// Ends the record of a loop: it is down, and whatever wake was open is waited for no longer. Again changes
    /// nothing.
    ///
    /// # Errors
    /// Fails with [`StoreError::Missing`] when there is no such loop.
    pub async fn end_loop(&self, id: &str, now: Timestamp) -> Result<(), StoreError> {
        let work = async {
            let mut transaction = self.begin().await?;
            let mut row = load(&mut transaction, id).await?;
            if row.ended_at.is_some() {
                return Ok(());
            }
            row.ended_at = Some(now);
            row.up = false;
            save(&mut transaction, &row).await?;
            for mut delivery in ledger::open_of_loop(&mut transaction, id).await? {
                let is_untyped = delivery.state.is_untyped();
                let to = if is_untyped { DeliveryState::Superseded } else { DeliveryState::Unanswered };
                ledger::change(&mut transaction, &mut delivery, to, Some("the loop has ended"), now).await?;
            }
            transaction.commit().await?;
            Ok(())
        };
        self.settle("end a loop", work.await)
    }

    /// Adds working time to the clock of a delivery and to that of its loop.
    ///
    /// # Errors
    /// Fails with [`StoreError::Missing`] when there is no such delivery.
    pub async fn add_work(&self, delivery_id: &str, ms: i64) -> Result<(), StoreError> {
        let work = async {
            let mut transaction = self.begin_light().await?;
            let one = "UPDATE deliveries SET worked_ms = max(0, worked_ms + ?2) WHERE id = ?1";
            let done = sqlx::query(one).bind(delivery_id).bind(ms).execute(&mut *transaction).await?;
            if done.rows_affected() == 0 {
                return Err(Fault::missing("delivery", delivery_id));
            }
            let all = "UPDATE loops SET worked_ms = max(0, worked_ms + ?2)
                       WHERE id = (SELECT loop_id FROM deliveries WHERE id = ?1)";
            sqlx::query(all).bind(delivery_id).bind(ms).execute(&mut *transaction).await?;
            transaction.commit().await?;
            Ok(())
        };
        self.settle("add working time", work.await)
    }

    /// Sets the clocks of a loop and of all its deliveries back to 0 (`loop resume`).
    ///
    /// # Errors
    /// Fails when the store cannot be written to.
    pub async fn restart_clocks(&self, loop_id: &str) -> Result<(), StoreError> {
        let work = async {
            let mut transaction = self.begin().await?;
            for clocks in [
                "UPDATE loops SET worked_ms = 0 WHERE id = ?1",
                "UPDATE deliveries SET worked_ms = 0 WHERE loop_id = ?1",
            ] {
                sqlx::query(clocks).bind(loop_id).execute(&mut *transaction).await?;
            }
            transaction.commit().await?;
            Ok(())
        };
        self.settle("restart the clocks", work.await)
    }
}

/// Reads a loop that must be there.
pub(crate) async fn load(connection: &mut SqliteConnection, id: &str) -> Result<LoopRow, Fault> {
    let query = sqlx::query_as("SELECT * FROM loops WHERE id = ?1").bind(id);
    query.fetch_optional(connection).await?.ok_or_else(|| Fault::missing("loop", id))
}

/// Writes every field that may change.
pub(crate) async fn save(connection: &mut SqliteConnection, row: &LoopRow) -> Result<(), Fault> {
    let json = |error: serde_json::Error| sqlx::Error::Encode(Box::new(error));
    let skipped = serde_json::to_string(&row.skipped).map_err(json)?;
    let resumed = row.resumed.clone().map(StoredResume);
    let resumed = resumed.map(|resumed| serde_json::to_string(&resumed)).transpose().map_err(json)?;
    let accepted = row.accepted.clone().map(StoredAccept);
    let accepted = accepted.map(|accepted| serde_json::to_string(&accepted)).transpose().map_err(json)?;
    let query = sqlx::query(
        "UPDATE loops SET branch = ?, status_file = ?, slug = ?, state = ?, decision_key = ?, decision_json = ?,
             tip = ?, paused = ?, skipped = ?, resumed = ?, accepted = ?, approved = ?, approved_text = ?, up = ?,
             told = ?, worked_ms = ?, started_at = ?, ended_at = ?, session = ?, planner_told = ?, worktree = ?,
             common_dir = ?
         WHERE id = ?",
    )
    .bind(&row.branch)
    .bind(&row.status_file)
    .bind(&row.slug)
    .bind(&row.state)
    .bind(&row.decision_key)
    .bind(&row.decision_json)
    .bind(&row.tip)
    .bind(&row.paused)
    .bind(skipped)
    .bind(resumed)
    .bind(accepted)
    .bind(&row.approved)
    .bind(&row.approved_text)
    .bind(row.up)
    .bind(&row.told)
    .bind(row.worked_ms)
    .bind(row.started_at.map(|time| time.as_millisecond()))
    .bind(row.ended_at.map(|time| time.as_millisecond()))
    .bind(&row.session)
    .bind(&row.planner_told);
    let query = bind_path(query, Some(Path::new(&row.worktree)));
    let query = bind_path(query, Some(Path::new(&row.common_dir)));
    query.bind(&row.id).execute(connection).await?;
    Ok(())
}

impl FromRow<'_, SqliteRow> for LoopRow {
    fn from_row(row: &SqliteRow) -> sqlx::Result<Self> {
        Ok(Self {
            id: row.try_get("id")?,
            worktree: columns::path(row, "worktree")?,
            common_dir: columns::path(row, "common_dir")?,
            branch: row.try_get("branch")?,
            status_file: row.try_get("status_file")?,
            slug: row.try_get("slug")?,
            created_at: columns::time(row, "created_at")?,
            state: row.try_get("state")?,
            decision_key: row.try_get("decision_key")?,
            decision_json: row.try_get("decision_json")?,
            tip: row.try_get("tip")?,
            paused: row.try_get("paused")?,
            skipped: columns::json(row, "skipped")?,
            resumed: columns::maybe_json::<StoredResume>(row, "resumed")?.map(|stored| stored.0),
            accepted: columns::maybe_json::<StoredAccept>(row, "accepted")?.map(|stored| stored.0),
            approved: row.try_get("approved")?,
            approved_text: row.try_get("approved_text")?,
            up: row.try_get("up")?,
            told: row.try_get("told")?,
            worked_ms: row.try_get("worked_ms")?,
            started_at: columns::maybe_time(row, "started_at")?,
            ended_at: columns::maybe_time(row, "ended_at")?,
            session: row.try_get("session")?,
            planner_told: row.try_get("planner_told")?,
        })
    }
}
