//! The only one who wakes: claims a delivery, waits until the agent may be spoken to, calls the transport and
//! records the receipt.
//!
//! One task per delivery that is due. What may not happen now is put back as `waiting`, with the reason, and
//! costs no try; what failed is tried again after a growing pause; what may have happened is `unknown` and is
//! looked at by [`attend`](crate::attend) before anything is typed again.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use loop_core::delivery::{MAX_TRIES, backoff_seconds};
use loop_core::{Config, DeliveryState, Name};
use loop_store::{Delivery, LoopRow, Severity, StoreError};
use loop_transport::{Presence, Progress, Receipt, TransportError, Wake};

use crate::desk::Desk;
use crate::reading::CONFIG_FILE;
use crate::session::Reached;

/// How long a claim lasts: longer than any send, so that nobody else takes it meanwhile.
const LEASE: Duration = Duration::from_secs(120);

/// How soon a waiting delivery is looked at again.
const LOOK_AGAIN: Duration = Duration::from_millis(700);

impl Desk {
    /// Delivers whatever is due, until the router stops.
    pub(crate) async fn courier(self: Arc<Self>) {
        loop {
            let rung = self.bell.notified();
            match self.store.claim(&self.owner, LEASE, Timestamp::now()).await {
                Ok(due) => {
                    for delivery in due {
                        let desk = Arc::clone(&self);
                        tokio::spawn(async move { desk.deliver_logged(delivery).await });
                    }
                }
                Err(error) => tracing::error!(%error, "deliveries cannot be claimed"),
            }
            tokio::select! {
                () = rung => {}
                () = tokio::time::sleep(self.options.look.min(LOOK_AGAIN)) => {}
                () = self.stop.cancelled() => return,
            }
        }
    }

    async fn deliver_logged(&self, delivery: Delivery) {
        let id = delivery.id.clone();
        if let Err(error) = self.deliver(delivery).await {
            tracing::error!(delivery = id, %error, "the ledger cannot be written");
        }
        self.bell.notify_waiters();
    }

    async fn deliver(&self, delivery: Delivery) -> Result<(), StoreError> {
        let Some(row) = self.store.loop_row(&delivery.loop_id).await? else {
            return self.die(&delivery, "its loop is unknown").await;
        };
        if !row.up || row.paused.is_some() {
            let why = if row.up { "the loop is paused" } else { "the loop is down" };
            self.store.supersede_untyped(&row.id, why, Timestamp::now()).await?;
            return Ok(());
        }
        let config = match self.config_of(&row) {
            Ok(config) => config,
            Err(why) => return self.wait(&row, &delivery, &why).await,
        };
        if let Some(why) = self.author_still_works(&row, &config, &delivery).await? {
            return self.wait(&row, &delivery, &why).await;
        }
        let reached = match self.reach(&row, &config, &delivery.agent).await? {
            Ok(reached) => reached,
            Err(why) => return self.wait(&row, &delivery, &why).await,
        };
        match reached.transport.probe(&reached.session).await {
            Ok(Presence::Idle | Presence::Waiting) => {}
            Ok(presence) => return self.not_now(&row, &delivery, &presence).await,
            Err(error) => return self.failed(&row, &delivery, &error.to_string()).await,
        }
        self.send(&row, &delivery, &reached).await
    }

    /// The configuration that a person approved.
    pub(crate) fn config_of(&self, row: &LoopRow) -> Result<Config, String> {
        let Some(text) = &row.approved_text else {
            return Err("loop.yaml is not approved; `loop trust` shows and approves it".to_owned());
        };
        Config::parse(text, CONFIG_FILE, &self.options.kinds).map_err(|error| error.to_string())
    }

    /// Two agents must not edit one tree: as long as the author of the causing section works, for at most
    /// `handover_grace`, the next one is not woken.
    async fn author_still_works(
        &self,
        row: &LoopRow,
        config: &Config,
        delivery: &Delivery,
    ) -> Result<Option<String>, StoreError> {
        let Some(turn) = self.store.turns(&row.id).await?.into_iter().find(|turn| turn.n == delivery.turn) else {
            return Ok(None);
        };
        let waited = Timestamp::now().duration_since(delivery.created_at);
        let grace = SignedDuration::from_secs(i64::try_from(config.handover_grace).unwrap_or(i64::MAX));
        if turn.author == delivery.agent || config.agent(&turn.author).is_none() || waited >= grace {
            return Ok(None);
        }
        let Ok(author) = self.reach(row, config, &turn.author).await? else { return Ok(None) };
        let settled = match author.transport.probe(&author.session).await {
            Ok(Presence::Idle | Presence::Gone(_) | Presence::Shell(_) | Presence::Waiting) => true,
            Ok(_) | Err(_) => false,
        };
        Ok((!settled).then(|| format!("{} has not finished its turn yet", turn.author)))
    }

    /// Types, and records every step before the next one is made.
    async fn send(&self, row: &LoopRow, delivery: &Delivery, reached: &Reached) -> Result<(), StoreError> {
        let now = Timestamp::now();
        let from = delivery.state;
        if !self.store.advance(&delivery.id, from, DeliveryState::Typing, None, now).await? {
            // Superseded or answered between the claim and now.
            return Ok(());
        }
        let text = reached.session.profile.invoke.replace("{name}", delivery.agent.as_str());
        let wake = Wake { delivery_id: delivery.id.clone(), attempt: delivery.attempt, text };
        let pen = Pen { desk: self, delivery };
        let sent = reached.transport.wake(&reached.session, &wake, &pen).await;
        match sent {
            Ok(receipt) => self.receipt(row, delivery, receipt).await,
            Err(TransportError::NotNow(presence)) => self.not_now(row, delivery, &presence).await,
            Err(TransportError::Unknown(why)) => {
                self.move_on(&delivery.id, DeliveryState::Unknown, Some(&why)).await?;
                self.say(
                    Some(&row.id),
                    "delivery",
                    &format!("{}: nobody knows whether the wake arrived: {why}", delivery.agent),
                )
                .await
            }
            Err(error) => self.failed(row, delivery, &error.to_string()).await,
        }
    }

    async fn receipt(&self, row: &LoopRow, delivery: &Delivery, receipt: Receipt) -> Result<(), StoreError> {
        self.move_on(&delivery.id, receipt.state, None).await?;
        self.counters.delivered.inc();
        if (receipt.address.is_some() || receipt.conversation.is_some())
            && let Some(mut session) = self.store.session(&row.id, &delivery.agent).await?
        {
            if let Some(address) = receipt.address {
                session.address = address.to_string();
            }
            session.conversation = receipt.conversation.or(session.conversation);
            self.store.put_session(&session).await?;
        }
        let text = format!("{} woken for turn {} ({})", delivery.agent, delivery.turn + 1, receipt.state.as_str());
        tracing::info!(loop_id = row.id, delivery = delivery.id, "{text}");
        self.say(Some(&row.id), "delivery", &text).await
    }

    async fn not_now(&self, row: &LoopRow, delivery: &Delivery, presence: &Presence) -> Result<(), StoreError> {
        let agent = &delivery.agent;
        let why = describe(agent, presence);
        self.wait(row, delivery, &why).await?;
        let asks = matches!(presence, Presence::Asks { .. });
        let patience = if asks { self.options.ask_patience } else { self.options.wait_patience };
        self.tell_of_a_long_wait(row, delivery, &why, patience).await
    }

    /// Puts the delivery back: waiting is no retry.
    async fn wait(&self, row: &LoopRow, delivery: &Delivery, why: &str) -> Result<(), StoreError> {
        let now = Timestamp::now();
        let again = now + self.options.look.min(LOOK_AGAIN);
        let changed = delivery.reason.as_deref() != Some(why);
        self.store.postpone(&delivery.id, DeliveryState::Waiting, why, again, false, now).await?;
        if changed {
            self.say(Some(&row.id), "delivery", &format!("{} is not woken yet: {why}", delivery.agent)).await?;
        }
        self.tell_of_a_long_wait(row, delivery, why, self.options.wait_patience).await
    }

    async fn tell_of_a_long_wait(
        &self,
        row: &LoopRow,
        delivery: &Delivery,
        why: &str,
        patience: Duration,
    ) -> Result<(), StoreError> {
        // `updated_at` is when the delivery began to wait for this very thing.
        let since = if delivery.reason.as_deref() == Some(why) { delivery.updated_at } else { Timestamp::now() };
        let waited = Timestamp::now().duration_since(since);
        if waited.unsigned_abs() >= patience {
            self.tell_once(row, "waiting", why).await?;
        }
        Ok(())
    }

    /// Nothing reached the agent: again after a pause, at most ten times.
    async fn failed(&self, row: &LoopRow, delivery: &Delivery, why: &str) -> Result<(), StoreError> {
        let tries = delivery.tries + 1;
        self.counters.failed.inc();
        if tries >= MAX_TRIES {
            return self.die(delivery, &format!("{why} ({tries} tries)")).await;
        }
        let pause = Duration::from_secs(backoff_seconds(tries));
        let now = Timestamp::now();
        self.store.postpone(&delivery.id, DeliveryState::Waiting, why, now + pause, true, now).await?;
        let text = format!("waking {} failed: {why}; again in {} s", delivery.agent, pause.as_secs());
        tracing::warn!(loop_id = row.id, delivery = delivery.id, "{text}");
        self.say(Some(&row.id), "delivery", &text).await
    }

    async fn die(&self, delivery: &Delivery, why: &str) -> Result<(), StoreError> {
        self.move_on(&delivery.id, DeliveryState::Dead, Some(why)).await?;
        self.incident(Severity::High, Some(&delivery.loop_id), "delivery dead", why).await?;
        tracing::error!(loop_id = delivery.loop_id, delivery = delivery.id, why, "a delivery is dead");
        // The relay turns this into a hold, which is told.
        self.ring(&delivery.loop_id, "dead");
        Ok(())
    }

    /// Moves a delivery on from wherever it stands now.
    pub(crate) async fn move_on(&self, id: &str, to: DeliveryState, why: Option<&str>) -> Result<bool, StoreError> {
        let Some(now) = self.store.delivery(id).await? else { return Ok(false) };
        if now.state == to {
            return Ok(true);
        }
        self.store.advance(id, now.state, to, why, Timestamp::now()).await
    }
}

/// Writes `typed` into the ledger the moment the text stands in the composer.
struct Pen<'desk> {
    desk: &'desk Desk,
    delivery: &'desk Delivery,
}

#[async_trait]
impl Progress for Pen<'_> {
    async fn typed(&self) {
        if let Err(error) = self.desk.move_on(&self.delivery.id, DeliveryState::Typed, None).await {
            tracing::error!(delivery = self.delivery.id, %error, "`typed` cannot be recorded");
        }
    }
}

/// What an agent that may not be spoken to now is doing, in words.
pub(crate) fn describe(agent: &Name, presence: &Presence) -> String {
    match presence {
        Presence::Gone(why) => format!("{agent} has no window ({why}); `loop up` opens it"),
        Presence::Shell(what) => format!("{agent}'s window shows a shell ({what}); `loop up` starts the agent again"),
        Presence::Starting => format!("{agent} is starting"),
        Presence::Idle => format!("{agent} is idle"),
        Presence::Busy => format!("{agent} is busy"),
        Presence::Asks { says, press } if press.is_empty() => format!("{agent} asks: {says}"),
        Presence::Asks { says, press } => format!("{agent} asks: {says} (press {press} in its window)"),
        Presence::Draft(_) => format!("somebody's draft stands in {agent}'s window; submit or clear it"),
        Presence::Limited(until) => format!("{agent} has met a usage limit: {until}"),
        Presence::Unknown(what) => format!("nobody can tell what {agent} does: {what}"),
        Presence::Waiting => format!("{agent} waits for its turn"),
    }
}

/// Whether a reason to wait is one that only a person can end.
pub fn needs_a_person(reason: &str) -> bool {
    ["`loop ", " asks: ", "somebody's draft", "usage limit", "not approved", "nobody can tell"]
        .iter()
        .any(|sign| reason.contains(sign))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_only_a_person_can_end_is_told_from_what_ends_by_itself() {
        let agent = Name::new("CC").unwrap();
        let text = String::from("x");
        let asks = Presence::Asks { says: text.clone(), press: String::new() };
        let person = [
            Presence::Gone(text.clone()),
            Presence::Shell(text.clone()),
            asks,
            Presence::Draft(text.clone()),
            Presence::Limited(text.clone()),
            Presence::Unknown(text),
        ];
        assert!(person.iter().all(|presence| needs_a_person(&describe(&agent, presence))));
        let itself = [Presence::Starting, Presence::Idle, Presence::Busy, Presence::Waiting];
        assert!(!itself.iter().any(|presence| needs_a_person(&describe(&agent, presence))));
    }
}
