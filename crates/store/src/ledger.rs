//! The rows of deliveries, and the one place that changes their state: each change adds its line to the ledger in
//! the same transaction.

use jiff::Timestamp;
use loop_core::{Delivery, DeliveryState, Name};
use serde::{Deserialize, Serialize};
use sqlx::sqlite::SqliteRow;
use sqlx::{FromRow, Row, SqliteConnection};
use uuid::Uuid;

use crate::columns;
use crate::error::{Fault, StoreError};
use crate::store::Store;

/// One line of the ledger: what a delivery became, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerLine {
    /// The delivery.
    pub delivery_id: String,
    /// When.
    pub at: Timestamp,
    /// What it became.
    pub state: DeliveryState,
    /// Why.
    pub reason: Option<String>,
}

impl Store {
    /// Returns every line of a loop's ledger, in the order in which they were written.
    ///
    /// # Errors
    /// Fails when the store cannot be read.
    pub async fn ledger(&self, loop_id: &str) -> Result<Vec<LedgerLine>, StoreError> {
        let work = async {
            let query = sqlx::query_as(
                "SELECT l.delivery_id, l.at, l.state, l.reason
                 FROM ledger l JOIN deliveries d ON d.id = l.delivery_id
                 WHERE d.loop_id = ?1 ORDER BY l.id",
            );
            Ok(query.bind(loop_id).fetch_all(self.reader()).await?)
        };
        self.settle("read the ledger", work.await)
    }
}

/// A delivery as it stands in its row.
#[derive(Debug, Clone)]
pub(crate) struct DeliveryRow {
    pub(crate) seq: i64,
    pub(crate) delivery: Delivery,
}

/// What is to be queued.
pub(crate) struct NewDelivery<'a> {
    pub(crate) loop_id: &'a str,
    pub(crate) turn: usize,
    pub(crate) agent: &'a Name,
    pub(crate) attempt: u32,
    pub(crate) reason: Option<&'a str>,
    pub(crate) now: Timestamp,
}

/// Queues a delivery.
pub(crate) async fn insert(
    connection: &mut SqliteConnection,
    new: &NewDelivery<'_>,
) -> Result<Delivery, Fault> {
    let id = Uuid::now_v7().to_string();
    sqlx::query(
        "INSERT INTO deliveries (id, loop_id, turn, agent, agent_key, attempt, state, reason, created_at,
             updated_at, not_before)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'queued', ?7, ?8, ?8, ?8)",
    )
    .bind(&id)
    .bind(new.loop_id)
    .bind(columns::int(new.turn))
    .bind(new.agent.as_str())
    .bind(new.agent.key())
    .bind(new.attempt)
    .bind(new.reason)
    .bind(new.now.as_millisecond())
    .execute(&mut *connection)
    .await?;
    add_line(connection, &id, DeliveryState::Queued, new.reason, new.now).await?;
    Ok(load(connection, &id).await?.delivery)
}

/// Reads a delivery that must be there.
pub(crate) async fn load(connection: &mut SqliteConnection, id: &str) -> Result<DeliveryRow, Fault> {
    let query = sqlx::query_as("SELECT * FROM deliveries WHERE id = ?1").bind(id);
    query.fetch_optional(connection).await?.ok_or_else(|| Fault::missing("delivery", id))
}

/// Reads the deliveries of a loop to which something may still happen, oldest first.
pub(crate) async fn open_of_loop(
    connection: &mut SqliteConnection,
    loop_id: &str,
) -> Result<Vec<Delivery>, Fault> {
    let rows: Vec<DeliveryRow> = sqlx::query_as(
        "SELECT * FROM deliveries
         WHERE loop_id = ?1 AND state NOT IN ('answered', 'superseded', 'unanswered', 'dead') ORDER BY seq",
    )
    .bind(loop_id)
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| row.delivery).collect())
}

/// Reads the newest attempt for a key.
pub(crate) async fn newest_attempt(
    connection: &mut SqliteConnection,
    loop_id: &str,
    turn: usize,
    agent: &Name,
) -> Result<Option<Delivery>, Fault> {
    let row: Option<DeliveryRow> = sqlx::query_as(
        "SELECT * FROM deliveries WHERE loop_id = ?1 AND turn = ?2 AND agent_key = ?3
         ORDER BY attempt DESC LIMIT 1",
    )
    .bind(loop_id)
    .bind(columns::int(turn))
    .bind(agent.key())
    .fetch_optional(connection)
    .await?;
    Ok(row.map(|row| row.delivery))
}

/// Moves `delivery`, which must be as the row stands in this transaction, to the state `to`.
///
/// A move that says nothing new (the same state for the same reason) leaves no line and no new time.
///
/// # Errors
/// Refuses what the state machine forbids.
pub(crate) async fn change(
    connection: &mut SqliteConnection,
    delivery: &mut Delivery,
    to: DeliveryState,
    reason: Option<&str>,
    now: Timestamp,
) -> Result<(), Fault> {
    let from = delivery.state;
    let stays = from == to && from.is_untyped();
    if !stays && !from.may_become(to) {
        return Err(StoreError::Refused { id: delivery.id.clone(), from, to }.into());
    }
    let is_news = from != to || delivery.reason.as_deref() != reason;
    if !is_news {
        return free(connection, &delivery.id).await;
    }
    // Only whoever types holds on to its lease: after a crash it tells whose send was cut off.
    let keeps_lease = matches!(to, DeliveryState::Typing | DeliveryState::Typed);
    let updated: DeliveryRow = sqlx::query_as(
        "UPDATE deliveries SET state = ?2, reason = ?3, updated_at = ?4,
             typed_at     = CASE ?2 WHEN 'typed'     THEN coalesce(typed_at, ?4)     ELSE typed_at END,
             submitted_at = CASE ?2 WHEN 'submitted' THEN coalesce(submitted_at, ?4) ELSE submitted_at END,
             started_at   = CASE ?2 WHEN 'started'   THEN coalesce(started_at, ?4)   ELSE started_at END,
             answered_at  = CASE ?2 WHEN 'answered'  THEN coalesce(answered_at, ?4)  ELSE answered_at END,
             lease_owner  = CASE WHEN ?5 THEN lease_owner END,
             lease_until  = CASE WHEN ?5 THEN lease_until END
         WHERE id = ?1 RETURNING *",
    )
    .bind(&delivery.id)
    .bind(to.as_str())
    .bind(reason)
    .bind(now.as_millisecond())
    .bind(keeps_lease)
    .fetch_one(&mut *connection)
    .await?;
    *delivery = updated.delivery;
    add_line(connection, &delivery.id, to, reason, now).await
}

/// Gives a delivery's lease back.
pub(crate) async fn free(connection: &mut SqliteConnection, id: &str) -> Result<(), Fault> {
    sqlx::query("UPDATE deliveries SET lease_owner = NULL, lease_until = NULL WHERE id = ?1")
        .bind(id)
        .execute(connection)
        .await?;
    Ok(())
}

async fn add_line(
    connection: &mut SqliteConnection,
    id: &str,
    state: DeliveryState,
    reason: Option<&str>,
    now: Timestamp,
) -> Result<(), Fault> {
    sqlx::query("INSERT INTO ledger (delivery_id, at, state, reason) VALUES (?1, ?2, ?3, ?4)")
        .bind(id)
        .bind(now.as_millisecond())
        .bind(state.as_str())
        .bind(reason)
        .execute(connection)
        .await?;
    Ok(())
}

impl FromRow<'_, SqliteRow> for LedgerLine {
    fn from_row(row: &SqliteRow) -> sqlx::Result<Self> {
        Ok(Self {
            delivery_id: row.try_get("delivery_id")?,
            at: columns::time(row, "at")?,
            state: columns::state(row, "state")?,
            reason: row.try_get("reason")?,
        })
    }
}

impl FromRow<'_, SqliteRow> for DeliveryRow {
    fn from_row(row: &SqliteRow) -> sqlx::Result<Self> {
        let delivery = Delivery {
            id: row.try_get("id")?,
            loop_id: row.try_get("loop_id")?,
            turn: columns::count(row, "turn")?,
            agent: columns::name(row, "agent")?,
            attempt: columns::count(row, "attempt")?,
            state: columns::state(row, "state")?,
            reason: row.try_get("reason")?,
            tries: columns::count(row, "tries")?,
            created_at: columns::time(row, "created_at")?,
            updated_at: columns::time(row, "updated_at")?,
            not_before: columns::time(row, "not_before")?,
            typed_at: columns::maybe_time(row, "typed_at")?,
            submitted_at: columns::maybe_time(row, "submitted_at")?,
            started_at: columns::maybe_time(row, "started_at")?,
            answered_at: columns::maybe_time(row, "answered_at")?,
            worked_ms: row.try_get("worked_ms")?,
        };
        Ok(Self { seq: row.try_get("seq")?, delivery })
    }
}
