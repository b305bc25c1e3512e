//! The relay's one transaction: turns, decision and the delivery that follows from it, all or nothing.

use std::collections::BTreeMap;

use jiff::Timestamp;
use loop_core::{Delivery, DeliveryState, Name};
use serde::{Deserialize, Serialize};
use sqlx::sqlite::SqliteRow;
use sqlx::{FromRow, Row, SqliteConnection};

use crate::columns;
use crate::error::{Fault, StoreError};
use crate::ledger::{self, NewDelivery};
use crate::loops;
use crate::store::Store;

/// What the relay found and decided at one tip of the branch.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The branch's tip.
    pub tip: String,
    /// The turns to record. What is on record and not among these stays.
    pub turns: Vec<TurnRecord>,
    /// `running`, `passed`, `blocked`, `held` or `idle`.
    pub state: String,
    /// The decision, as JSON.
    pub decision_json: String,
    /// Equal keys mean the same decision.
    pub decision_key: String,
    /// Whom to wake, if anybody.
    pub wake: Option<Name>,
    /// The number of the section that causes the wake; 0 for the first wake of a loop.
    pub cause_turn: usize,
    /// When.
    pub now: Timestamp,
}

/// A turn on record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnRecord {
    /// Its number, from 1.
    pub n: usize,
    /// Its author.
    pub author: Name,
    /// To whom it hands the turn.
    pub to: Option<Name>,
    /// Its summary.
    pub summary: String,
    /// Tells whether the section has changed.
    pub fingerprint: String,
    /// `pass` or `blocked`.
    pub verdict: Option<String>,
    /// The commit in which it first stood in this form.
    pub commit: Option<String>,
    /// Whether the router had woken its author for it; `None`: unknown.
    pub woken: Option<bool>,
    /// Whether a turn was handed over, or the loop ended, because of it.
    pub answered: bool,
}

/// What recording an outcome changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Recorded {
    /// The delivery for the decided wake: a new one, or the newest that was there.
    pub delivery: Option<Delivery>,
    /// Whether it was queued just now.
    pub new: bool,
    /// Deliveries that this decision made needless, by id.
    pub superseded: Vec<String>,
    /// Deliveries that a turn answered, by id.
    pub answered: Vec<String>,
    /// Whether the decision is another one than before.
    pub changed: bool,
}

impl Store {
    /// Records what the relay found and decided, in one transaction. Recording the same outcome again changes
    /// nothing, and neither does a crash before the end.
    ///
    /// - A delivery whose agent has written a section after the one that caused it becomes answered, typed or not.
    /// - Any other delivery that is not typed yet and is not the decided wake becomes superseded; what is out stays
    ///   out.
    /// - The decided wake is queued, unless it is open, or its last attempt ended in any way but superseded: whether
    ///   to wake once more after that is decided with [`next_attempt`](Self::next_attempt).
    ///
    /// # Errors
    /// Fails with [`StoreError::Missing`] when there is no such loop.
    pub async fn record(&self, loop_id: &str, outcome: &Outcome) -> Result<Recorded, StoreError> {
        let work = async {
            let mut transaction = self.begin().await?;
            let recorded = record(&mut transaction, loop_id, outcome).await?;
            transaction.commit().await?;
            Ok(recorded)
        };
        self.settle("record a decision", work.await)
    }

    /// Returns the turns on record, in order.
    ///
    /// # Errors
    /// Fails when the store cannot be read.
    pub async fn turns(&self, loop_id: &str) -> Result<Vec<TurnRecord>, StoreError> {
        let work = async {
            let query = sqlx::query_as("SELECT * FROM turns WHERE loop_id = ?1 ORDER BY n").bind(loop_id);
            Ok(query.fetch_all(self.reader()).await?)
        };
        self.settle("read the turns", work.await)
    }

    /// Forgets the turns of a loop: a person has accepted them as they now are, and they are recorded anew. Returns
    /// how many there were.
    ///
    /// # Errors
    /// Fails when the store cannot be written to.
    pub async fn forget_turns(&self, loop_id: &str) -> Result<usize, StoreError> {
        let work = async {
            let query = sqlx::query("DELETE FROM turns WHERE loop_id = ?1").bind(loop_id);
            let mut transaction = self.begin().await?;
            let done = query.execute(&mut *transaction).await?;
            transaction.commit().await?;
            Ok(usize::try_from(done.rows_affected()).unwrap_or(usize::MAX))
        };
        self.settle("forget turns", work.await)
    }
}

async fn record(
    connection: &mut SqliteConnection,
    loop_id: &str,
    outcome: &Outcome,
) -> Result<Recorded, Fault> {
    let changed = record_decision(connection, loop_id, outcome).await?;
    record_turns(connection, loop_id, &outcome.turns).await?;

    let mut answered = Vec::new();
    let mut superseded = Vec::new();
    let taken_back = reason(outcome);
    for mut delivery in ledger::open_of_loop(connection, loop_id).await? {
        let is_answer = |turn: &&TurnRecord| turn.n > delivery.turn && turn.author == delivery.agent;
        let answer = outcome.turns.iter().find(is_answer).map(|turn| format!("turn {}", turn.n));
        let is_decided =
            outcome.cause_turn == delivery.turn && outcome.wake.as_ref() == Some(&delivery.agent);
        let (to, why, ids) = if let Some(answer) = answer {
            (DeliveryState::Answered, answer, &mut answered)
        } else if delivery.state.is_untyped() && !is_decided {
            (DeliveryState::Superseded, taken_back.clone(), &mut superseded)
        } else {
            continue;
        };
        ledger::change(connection, &mut delivery, to, Some(&why), outcome.now).await?;
        ids.push(delivery.id);
    }

    let (delivery, new) = match &outcome.wake {
        Some(agent) => queue(connection, loop_id, agent, outcome).await?,
        None => (None, false),
    };
    Ok(Recorded { delivery, new, superseded, answered, changed })
}

/// Queues the decided wake unless it was queued before; returns it, and whether it is new.
async fn queue(
    connection: &mut SqliteConnection,
    loop_id: &str,
    agent: &Name,
    outcome: &Outcome,
) -> Result<(Option<Delivery>, bool), Fault> {
    let last = ledger::newest_attempt(connection, loop_id, outcome.cause_turn, agent).await?;
    let attempt = match last {
        None => 1,
        // The decision went elsewhere and came back before anything was typed.
        Some(last) if last.state == DeliveryState::Superseded => last.attempt.saturating_add(1),
        Some(last) => return Ok((Some(last), false)),
    };
    let (turn, now) = (outcome.cause_turn, outcome.now);
    let new = NewDelivery { loop_id, turn, agent, attempt, reason: None, now };
    Ok((Some(ledger::insert(connection, &new).await?), true))
}

/// Why this decision takes other deliveries back.
fn reason(outcome: &Outcome) -> String {
    match &outcome.wake {
        Some(agent) => format!("turn {}: wake {agent}", outcome.cause_turn),
        None => format!("turn {}: {}", outcome.cause_turn, outcome.state),
    }
}

/// Returns whether the decision is another one than before.
async fn record_decision(
    connection: &mut SqliteConnection,
    loop_id: &str,
    outcome: &Outcome,
) -> Result<bool, Fault> {
    let before = loops::load(connection, loop_id).await?;
    let mut row = before.clone();
    row.tip = Some(outcome.tip.clone());
    row.state.clone_from(&outcome.state);
    row.decision_json = Some(outcome.decision_json.clone());
    row.decision_key = Some(outcome.decision_key.clone());
    if row != before {
        loops::save(connection, &row).await?;
    }
    Ok(row.decision_key != before.decision_key)
}

/// Writes the turns that differ from those on record.
async fn record_turns(
    connection: &mut SqliteConnection,
    loop_id: &str,
    turns: &[TurnRecord],
) -> Result<(), Fault> {
    let known: Vec<TurnRecord> = sqlx::query_as("SELECT * FROM turns WHERE loop_id = ?1")
        .bind(loop_id)
        .fetch_all(&mut *connection)
        .await?;
    let known: BTreeMap<usize, TurnRecord> = known.into_iter().map(|turn| (turn.n, turn)).collect();
    for turn in turns.iter().filter(|turn| known.get(&turn.n) != Some(turn)) {
        sqlx::query(
            "INSERT INTO turns (loop_id, n, author, target, summary, fingerprint, verdict, commit_id, woken, answered)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
             ON CONFLICT (loop_id, n) DO UPDATE SET author = ?3, target = ?4, summary = ?5, fingerprint = ?6,
                 verdict = ?7, commit_id = ?8, woken = ?9, answered = ?10",
        )
        .bind(loop_id)
        .bind(columns::int(turn.n))
        .bind(turn.author.as_str())
        .bind(turn.to.as_ref().map(Name::as_str))
        .bind(&turn.summary)
        .bind(&turn.fingerprint)
        .bind(&turn.verdict)
        .bind(&turn.commit)
        .bind(turn.woken)
        .bind(turn.answered)
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}

impl FromRow<'_, SqliteRow> for TurnRecord {
    fn from_row(row: &SqliteRow) -> sqlx::Result<Self> {
        Ok(Self {
            n: columns::count(row, "n")?,
            author: columns::name(row, "author")?,
            to: columns::maybe_name(row, "target")?,
            summary: row.try_get("summary")?,
            fingerprint: row.try_get("fingerprint")?,
            verdict: row.try_get("verdict")?,
            commit: row.try_get("commit_id")?,
            woken: row.try_get("woken")?,
            answered: row.try_get("answered")?,
        })
    }
}
