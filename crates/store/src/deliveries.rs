//! What a courier does with deliveries: claim one, move it along, put it off, and find out after a crash what
//! became of it.

use std::time::Duration;

use jiff::Timestamp;
use loop_core::{Delivery, DeliveryState};

use crate::columns;
use crate::error::StoreError;
use crate::ledger::{self, DeliveryRow};
use crate::store::Store;

/// Nothing is put off for longer. A time farther away is of a clock that has been set back since, and has come.
const FARTHEST: Duration = Duration::from_secs(30 * 60);

impl Store {
    /// Claims what may be delivered now and returns it, oldest first, in its present state.
    ///
    /// That is: not typed yet, its time has come, nobody else holds it, its loop is up, not paused and not ended,
    /// and nothing else for that agent in that loop is out or in somebody's hands; so at most one per agent and
    /// loop. The claim is `owner`'s until it moves the delivery, gives it back, or `lease` has passed. What a clock that
    /// was set back since has put off for hours, or claimed for more than twice the `lease`, is free.
    ///
    /// # Errors
    /// Fails when the store cannot be written to.
    pub async fn claim(
        &self,
        owner: &str,
        lease: Duration,
        now: Timestamp,
    ) -> Result<Vec<Delivery>, StoreError> {
        let work = async {
            let mut transaction = self.begin_light().await?;
            let until = now.as_millisecond().saturating_add(columns::int(lease.as_millis()));
            let mut rows: Vec<DeliveryRow> = sqlx::query_as(
                "UPDATE deliveries SET lease_owner = ?1, lease_until = ?2
                 WHERE seq IN (
                     SELECT max(d.seq) FROM deliveries d JOIN loops l ON l.id = d.loop_id
                     WHERE d.state IN ('queued', 'waiting') AND (d.not_before <= ?3 OR d.not_before > ?4)
                       AND (d.lease_owner IS NULL OR d.lease_until <= ?3 OR d.lease_until > ?5)
                       AND l.up AND l.paused IS NULL AND l.ended_at IS NULL
                       AND NOT EXISTS (
                           SELECT 1 FROM deliveries o
                           WHERE o.loop_id = d.loop_id AND o.agent_key = d.agent_key
                             AND o.state IN ('typing', 'typed', 'submitted', 'started', 'unknown'))
                       AND NOT EXISTS (
                           SELECT 1 FROM deliveries o
                           WHERE o.loop_id = d.loop_id AND o.agent_key = d.agent_key
                             AND o.state IN ('queued', 'waiting') AND o.lease_until > ?3 AND o.lease_until <= ?5)
                     GROUP BY d.loop_id, d.agent_key)
                 RETURNING *",
            )
            .bind(owner)
            .bind(until)
            .bind(now.as_millisecond())
            .bind(now.as_millisecond().saturating_add(columns::int(FARTHEST.as_millis())))
            .bind(until.saturating_add(columns::int(lease.as_millis())))
            .fetch_all(&mut *transaction)
            .await?;
            transaction.commit().await?;
            rows.sort_by_key(|row| row.seq);
            Ok(rows.into_iter().map(|row| row.delivery).collect())
        };
        self.settle("claim deliveries", work.await)
    }

    /// Moves a delivery from one state to the next; returns whether it did.
    ///
    /// Nothing happens, and the answer is `false`, when the delivery is not in the state `from` (any more), or when
    /// it would go out while another one for the same agent and loop is out. The times `typed_at` and so on are
    /// stamped. The claim ends, except in the states typing and typed.
    ///
    /// # Errors
    /// Fails with [`StoreError::Refused`] when no delivery may make this move, and with [`StoreError::Missing`]
    /// when there is no such delivery.
    pub async fn advance(
        &self,
        id: &str,
        from: DeliveryState,
        to: DeliveryState,
        reason: Option<&str>,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let work = async {
            if !from.may_become(to) {
                return Err(StoreError::Refused { id: id.to_owned(), from, to }.into());
            }
            let mut transaction = self.begin().await?;
            let mut delivery = ledger::load(&mut transaction, id).await?.delivery;
            if delivery.state != from {
                return Ok(false);
            }
            if !from.is_out() && to.is_out() {
                let open = ledger::open_of_loop(&mut transaction, &delivery.loop_id).await?;
                if open.iter().any(|other| other.agent == delivery.agent && other.state.is_out()) {
                    return Ok(false);
                }
            }
            ledger::change(&mut transaction, &mut delivery, to, reason, now).await?;
            transaction.commit().await?;
            Ok(true)
        };
        self.settle("move a delivery", work.await)
    }

    /// Puts a delivery off until `not_before`, in the state `to` (waiting or queued), and gives the claim back;
    /// returns it as it then stands.
    ///
    /// `failed_try` counts the try; giving up after so many is the caller's. Waiting on for the same reason leaves
    /// [`Delivery::updated_at`] alone, so that it tells since when. A delivery that has ended in the meantime
    /// (superseded, answered) is returned unchanged.
    ///
    /// # Errors
    /// Fails with [`StoreError::Refused`] when the delivery cannot go to that state, for example from typing to
    /// queued or because the text stands in the composer already, and with [`StoreError::Missing`] when there is
    /// no such delivery.
    pub async fn postpone(
        &self,
        id: &str,
        to: DeliveryState,
        reason: &str,
        not_before: Timestamp,
        failed_try: bool,
        now: Timestamp,
    ) -> Result<Delivery, StoreError> {
        let work = async {
            let mut transaction = self.begin_light().await?;
            let mut delivery = ledger::load(&mut transaction, id).await?.delivery;
            if delivery.state.is_final() {
                return Ok(delivery);
            }
            if !to.is_untyped() {
                return Err(StoreError::Refused { id: id.to_owned(), from: delivery.state, to }.into());
            }
            ledger::change(&mut transaction, &mut delivery, to, Some(reason), now).await?;
            sqlx::query("UPDATE deliveries SET not_before = ?2, tries = tries + ?3 WHERE id = ?1")
                .bind(id)
                .bind(not_before.as_millisecond())
                .bind(failed_try)
                .execute(&mut *transaction)
                .await?;
            let delivery = ledger::load(&mut transaction, id).await?.delivery;
            transaction.commit().await?;
            Ok(delivery)
        };
        self.settle("put a delivery off", work.await)
    }

    /// Says what stands in the way of a delivery that is out, or (`None`) that nothing does any more; its state stays,
    /// and the ledger has no line of it. One that is not out is left alone.
    ///
    /// # Errors
    /// Fails when the store cannot be written to.
    pub async fn remark(&self, id: &str, reason: Option<&str>) -> Result<(), StoreError> {
        let work = async {
            let mut transaction = self.begin_light().await?;
            if ledger::load(&mut transaction, id).await?.delivery.state.is_out() {
                let query = sqlx::query("UPDATE deliveries SET reason = ?2 WHERE id = ?1");
                query.bind(id).bind(reason).execute(&mut *transaction).await?;
                transaction.commit().await?;
            }
            Ok(())
        };
        self.settle("remark on a delivery", work.await)
    }

    /// Gives a claim back without any other change.
    ///
    /// # Errors
    /// Fails with [`StoreError::Missing`] when there is no such delivery.
    pub async fn release(&self, id: &str) -> Result<(), StoreError> {
        let work = async {
            let mut transaction = self.begin_light().await?;
            ledger::load(&mut transaction, id).await?;
            ledger::free(&mut transaction, id).await?;
            transaction.commit().await?;
            Ok(())
        };
        self.settle("give a claim back", work.await)
    }

    /// Says when an untyped delivery is tried next; one that is out or has ended stays as it is.
    ///
    /// # Errors
    /// Fails with [`StoreError::Missing`] when there is no such delivery.
    pub async fn set_not_before(&self, id: &str, not_before: Timestamp) -> Result<(), StoreError> {
        let work = async {
            let mut transaction = self.begin_light().await?;
            if ledger::load(&mut transaction, id).await?.delivery.state.is_untyped() {
                sqlx::query("UPDATE deliveries SET not_before = ?2 WHERE id = ?1")
                    .bind(id)
                    .bind(not_before.as_millisecond())
                    .execute(&mut *transaction)
                    .await?;
                transaction.commit().await?;
            }
            Ok(())
        };
        self.settle("put a delivery off", work.await)
    }

    /// Takes stock after a crash: a send that was under way in the hands of an owner that is gone becomes
    /// `unknown`, and its other claims are freed. Returns what became unknown.
    ///
    /// # Errors
    /// Fails when the store cannot be written to.
    pub async fn recover(
        &self,
        owner_alive: &(dyn Fn(&str) -> bool + Sync),
        now: Timestamp,
    ) -> Result<Vec<Delivery>, StoreError> {
        let work = async {
            let mut transaction = self.begin().await?;
            let held: Vec<(String, Option<String>)> = sqlx::query_as(
                "SELECT id, lease_owner FROM deliveries
                 WHERE state NOT IN ('answered', 'superseded', 'unanswered', 'dead')
                   AND (state IN ('typing', 'typed') OR lease_owner IS NOT NULL)
                 ORDER BY seq",
            )
            .fetch_all(&mut *transaction)
            .await?;
            let orphans = held.iter().filter(|(_, owner)| !owner.as_deref().is_some_and(owner_alive));
            let mut unknown = Vec::new();
            for (id, _) in orphans {
                let mut delivery = ledger::load(&mut transaction, id).await?.delivery;
                if delivery.state.is_untyped() {
                    ledger::free(&mut transaction, id).await?;
                    continue;
                }
                let reason = format!("the router ended while it was {}", delivery.state.as_str());
                ledger::change(&mut transaction, &mut delivery, DeliveryState::Unknown, Some(&reason), now)
                    .await?;
                unknown.push(delivery);
            }
            transaction.commit().await?;
            Ok(unknown)
        };
        self.settle("take stock of deliveries", work.await)
    }

    /// Marks every delivery of a loop that is not typed yet as superseded, for `loop pause` and `loop stop`;
    /// returns their ids.
    ///
    /// # Errors
    /// Fails when the store cannot be written to.
    pub async fn supersede_untyped(
        &self,
        loop_id: &str,
        reason: &str,
        now: Timestamp,
    ) -> Result<Vec<String>, StoreError> {
        let work = async {
            let mut transaction = self.begin().await?;
            let mut superseded = Vec::new();
            for mut delivery in ledger::open_of_loop(&mut transaction, loop_id).await? {
                if delivery.state.is_untyped() {
                    let to = DeliveryState::Superseded;
                    ledger::change(&mut transaction, &mut delivery, to, Some(reason), now).await?;
                    superseded.push(delivery.id);
                }
            }
            transaction.commit().await?;
            Ok(superseded)
        };
        self.settle("take deliveries back", work.await)
    }

    /// Returns one delivery.
    ///
    /// # Errors
    /// Fails when the store cannot be read.
    pub async fn delivery(&self, id: &str) -> Result<Option<Delivery>, StoreError> {
        let work = async {
            let query = sqlx::query_as("SELECT * FROM deliveries WHERE id = ?1").bind(id);
            let row: Option<DeliveryRow> = query.fetch_optional(self.reader()).await?;
            Ok(row.map(|row| row.delivery))
        };
        self.settle("read a delivery", work.await)
    }

    /// Returns the deliveries, of one loop or of all, to which something may still happen; oldest first.
    ///
    /// # Errors
    /// Fails when the store cannot be read.
    pub async fn open_deliveries(&self, loop_id: Option<&str>) -> Result<Vec<Delivery>, StoreError> {
        // Sorted here: to sort by itself, SQLite would walk through every delivery there ever was.
        let query = match loop_id {
            Some(_) => {
                "SELECT * FROM deliveries
                 WHERE state NOT IN ('answered', 'superseded', 'unanswered', 'dead') AND loop_id = ?1"
            }
            None => {
                "SELECT * FROM deliveries
                 WHERE state NOT IN ('answered', 'superseded', 'unanswered', 'dead') AND ?1 IS NULL"
            }
        };
        let work = async {
            let query = sqlx::query_as(query).bind(loop_id);
            let mut rows: Vec<DeliveryRow> = query.fetch_all(self.reader()).await?;
            rows.sort_by_key(|row| row.seq);
            Ok(rows.into_iter().map(|row| row.delivery).collect())
        };
        self.settle("read the deliveries", work.await)
    }

    /// Returns the last `limit` deliveries of a loop, newest first.
    ///
    /// # Errors
    /// Fails when the store cannot be read.
    pub async fn deliveries(&self, loop_id: &str, limit: usize) -> Result<Vec<Delivery>, StoreError> {
        let work = async {
            let query = "SELECT * FROM deliveries WHERE loop_id = ?1 ORDER BY seq DESC LIMIT ?2";
            let query = sqlx::query_as(query).bind(loop_id).bind(columns::int(limit));
            let rows: Vec<DeliveryRow> = query.fetch_all(self.reader()).await?;
            Ok(rows.into_iter().map(|row| row.delivery).collect())
        };
        self.settle("read the deliveries", work.await)
    }
}
