//! Waking an agent once more for the same section.

use jiff::Timestamp;
use loop_core::{Delivery, DeliveryState};
use sqlx::SqliteConnection;

use crate::columns;
use crate::error::{Fault, StoreError};
use crate::ledger::{self, DeliveryRow, NewDelivery};
use crate::store::Store;

impl Store {
    /// Queues the next attempt of a delivery that has ended, and returns it.
    ///
    /// Returns `None`, and changes nothing, when there is nothing to repeat: the delivery has not ended, a later
    /// attempt exists, or something else for that agent in that loop is open. So asking twice queues one.
    ///
    /// # Errors
    /// Fails with [`StoreError::Missing`] when there is no such delivery.
    pub async fn next_attempt(
        &self,
        delivery_id: &str,
        reason: &str,
        now: Timestamp,
    ) -> Result<Option<Delivery>, StoreError> {
        let work = async {
            let mut transaction = self.begin().await?;
            let ended = ledger::load(&mut transaction, delivery_id).await?.delivery;
            let next = repeat(&mut transaction, &ended, reason, now).await?;
            transaction.commit().await?;
            Ok(next)
        };
        self.settle("queue the next attempt", work.await)
    }

    /// Queues the next attempt of the newest delivery that section `turn` caused and that is dead or was left
    /// unanswered, because a person wants the loop to go on. Returns `None` where there is nothing to repeat.
    ///
    /// # Errors
    /// Fails when the store cannot be written to.
    pub async fn resume_dead(
        &self,
        loop_id: &str,
        turn: usize,
        now: Timestamp,
    ) -> Result<Option<Delivery>, StoreError> {
        let work = async {
            let mut transaction = self.begin().await?;
            let newest: Option<DeliveryRow> = sqlx::query_as(
                "SELECT * FROM deliveries
                 WHERE loop_id = ?1 AND turn = ?2 AND state IN ('dead', 'unanswered')
                 ORDER BY seq DESC LIMIT 1",
            )
            .bind(loop_id)
            .bind(columns::int(turn))
            .fetch_optional(&mut *transaction)
            .await?;
            let Some(ended) = newest else { return Ok(None) };
            let next = repeat(&mut transaction, &ended.delivery, "resumed by a person", now).await?;
            transaction.commit().await?;
            Ok(next)
        };
        self.settle("queue the next attempt", work.await)
    }
}

async fn repeat(
    connection: &mut SqliteConnection,
    ended: &Delivery,
    reason: &str,
    now: Timestamp,
) -> Result<Option<Delivery>, Fault> {
    let Delivery { loop_id, turn, agent, attempt, state, .. } = ended;
    if !state.is_final() {
        return Ok(None);
    }
    let newest = ledger::newest_attempt(connection, loop_id, *turn, agent).await?;
    // An attempt that was superseded before it was typed never happened: the next one goes on behind it.
    let newest = newest.map_or((*attempt, *state), |newest| (newest.attempt, newest.state));
    if newest.0 != *attempt && newest.1 != DeliveryState::Superseded {
        return Ok(None);
    }
    let open = ledger::open_of_loop(connection, loop_id).await?;
    if open.iter().any(|other| other.agent == *agent) {
        return Ok(None);
    }
    let attempt = newest.0.saturating_add(1);
    let new = NewDelivery { loop_id, turn: *turn, agent, attempt, reason: Some(reason), now };
    ledger::insert(connection, &new).await.map(Some)
}
