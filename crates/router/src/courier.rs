//! The only one who wakes: claims a delivery, waits until the agent may be spoken to, calls the transport and
//! records the receipt.
//!
//! One task per delivery that is due. What may not happen now is put back as `waiting`, with the reason, and
//! costs no try; what failed is tried again after a growing pause; what may have happened is `unknown` and is
//! looked at by [`attend`](crate::attend) before anything is typed again.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use loop_core::delivery::MAX_TRIES;
use loop_core::{Config, DeliveryState};
use loop_store::{Delivery, LoopRow, Severity, StoreError};
use loop_transport::{Presence, Progress, Receipt, TransportError, Wake};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use crate::desk::Desk;
use crate::limits::Outlook;
use crate::reading::CONFIG_FILE;
use crate::reasons::{For, describe};
use crate::relay::{Notice, Relayed};
use crate::session::Reached;
use crate::witness::{self, Sighting};

/// How long a claim lasts: longer than any send, so that nobody else takes it meanwhile.
const LEASE: Duration = Duration::from_secs(120);

/// How soon a delivery that has begun to wait is looked at again, at most: most waits are an author's last words.
const LOOK_SOON: Duration = Duration::from_millis(150);
/// How soon one that waits longer than [`SOON`] is.
const LOOK_AGAIN: Duration = Duration::from_millis(700);
/// How long a wait is a short one.
const SOON: Duration = Duration::from_secs(30);
/// After this a wait is most likely for a person, who takes their time: looked at so many times more rarely.
const LATER: Duration = Duration::from_secs(300);
const RARELY: u32 = 3;

impl Desk {
    /// Delivers whatever is due, until the router stops; a send under way is finished then.
    pub(crate) async fn courier(self: Arc<Self>) {
        let mut sends = JoinSet::new();
        let mut busy: Option<Instant> = None;
        loop {
            let rung = self.bell.notified();
            match self.store.claim(&self.owner, LEASE, Timestamp::now()).await {
                Ok(due) => {
                    if !due.is_empty() {
                        busy = Some(Instant::now());
                    }
                    for delivery in due {
                        let desk = Arc::clone(&self);
                        sends.spawn(async move { desk.deliver_logged(delivery).await });
                    }
                }
                Err(error) => tracing::error!(%error, "deliveries cannot be claimed"),
            }
            // With nothing to deliver the disk is left in peace.
            let pause =
                if busy.is_some_and(|last| last.elapsed() < LOOK_AGAIN * 2) { LOOK_SOON } else { LOOK_AGAIN };
            tokio::select! {
                () = rung => {}
                () = tokio::time::sleep(self.options.look.min(pause)) => {}
                () = self.stop.cancelled() => break,
            }
            while sends.try_join_next().is_some() {}
        }
        while sends.join_next().await.is_some() {}
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
        let config = match self.config_of(&row) {
            Ok(config) => config,
            Err(why) => return self.wait(&row, &delivery, &why, For::Else).await,
        };
        if let Some(why) = self.author_still_works(&row, &config, &delivery).await? {
            return self.wait(&row, &delivery, &why, For::Else).await;
        }
        if let Some(why) = self.another_still_works(&row, &config, &delivery).await? {
            return self.wait(&row, &delivery, &why, For::Else).await;
        }
        let mut reached = match self.reach(&row, &config, &delivery.agent).await? {
            Ok(reached) => reached,
            Err(why) => return self.wait(&row, &delivery, &why, For::Else).await,
        };
        match self.probe(&reached).await {
            Ok(Presence::Idle | Presence::Waiting | Presence::WaitingBehind) => {}
            Ok(Presence::Limited(words)) => {
                let limited = self.note_limit(&row, &delivery.agent, &words).await?;
                match self.outlook(&row, &config, &delivery.agent, &limited).await? {
                    Outlook::Over => {
                        reached.session.past_limit = true;
                        self.note_ended(&delivery.id, &words);
                    }
                    Outlook::Wait | Outlook::Given => {
                        let why = self.met_words(&delivery.agent, &limited);
                        self.tell_limit(&row, &delivery, &why).await?;
                        return self.wait(&row, &delivery, &why, For::Limit).await;
                    }
                }
            }
            // It may be our own text, left by a send that was cut off; the transport looks and finishes it.
            Ok(Presence::Draft(_)) if self.patience.may_try(&delivery.id, Instant::now()) => {}
            Ok(presence) => return self.not_now(&row, &delivery, &presence).await,
            Err(error) => return self.failed(&row, &delivery, &error.to_string()).await,
        }
        // The last look before it is too late to take it back: a commit may have come, or a rebase begun.
        match self.relay(&Notice { loop_id: row.id.clone(), from: "courier" }).await {
            Ok(Relayed::Read { .. }) => {}
            Ok(Relayed::Nothing(why)) => return self.wait(&row, &delivery, &why, For::Else).await,
            Err(error) => return self.wait(&row, &delivery, &error.to_string(), For::Else).await,
        }
        self.keep_conversation(&row, &mut reached).await?;
        self.send(&row, &delivery, &reached).await
    }

    /// Looks how an agent is, within bounds: a transport that hangs must not hold up the rest.
    pub(crate) async fn probe(&self, reached: &Reached) -> Result<Presence, TransportError> {
        let limit = self.options.send_limit;
        timeout(limit, reached.transport.probe(&reached.session)).await.unwrap_or_else(|_| {
            Err(TransportError::Failed(format!("a look at it took over {} s", limit.as_secs_f32())))
        })
    }

    /// Looks at an agent with all witnesses, within the same bounds.
    pub(crate) async fn sight(
        &self,
        row: &LoopRow,
        reached: &Reached,
    ) -> Result<Result<Sighting, TransportError>, StoreError> {
        let witnessed = self.store.witnessed(&row.id, &reached.session.agent).await?;
        let watcher = self.watchers.of(&reached.session).await;
        let mut watcher = watcher.lock().await;
        let limit = self.options.send_limit;
        let transport = reached.transport.as_ref();
        let look = witness::look(transport, &reached.session, watcher.as_mut(), &witnessed, Timestamp::now());
        Ok(timeout(limit, look).await.unwrap_or_else(|_| {
            Err(TransportError::Failed(format!("a look at it took over {} s", limit.as_secs_f32())))
        }))
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
        // Time in which the machine slept, or nobody looked, is none in which the author could have finished.
        let waited = self.patience.waited(&delivery.id, Instant::now());
        if waited >= Duration::from_secs(config.handover_grace) {
            return Ok(None);
        }
        let Some(turn) = self.store.turns(&row.id).await?.into_iter().find(|turn| turn.n == delivery.turn)
        else {
            return Ok(None);
        };
        if turn.author == delivery.agent || config.agent(&turn.author).is_none() {
            return Ok(None);
        }
        let Ok(author) = self.reach(row, config, &turn.author).await? else { return Ok(None) };
        let settled = author.transport.is_person()
            || self
                .sight(row, &author)
                .await?
                .is_ok_and(|sighting| !matches!(sighting.presence, Presence::Draft(_)) && sighting.is_calm());
        Ok((!settled).then(|| format!("{} has not finished its turn yet", turn.author)))
    }

    /// A section out of turn does not end the turn of an agent that was woken before it: as long as that one is
    /// seen at work it is waited for. `turn_minutes` bounds that.
    async fn another_still_works(
        &self,
        row: &LoopRow,
        config: &Config,
        delivery: &Delivery,
    ) -> Result<Option<String>, StoreError> {
        let open = self.store.open_deliveries(Some(&row.id)).await?;
        for other in open.iter().filter(|other| other.state.is_out() && other.agent != delivery.agent) {
            if let Ok(reached) = self.reach(row, config, &other.agent).await?
                && let Ok(Presence::Busy | Presence::Asks { .. }) = self.probe(&reached).await
            {
                return Ok(Some(format!("{} is still at work", other.agent)));
            }
        }
        Ok(None)
    }

    /// Types, and records every step before the next one is made.
    async fn send(&self, row: &LoopRow, delivery: &Delivery, reached: &Reached) -> Result<(), StoreError> {
        let now = Timestamp::now();
        let from = delivery.state;
        if !self.store.advance(&delivery.id, from, DeliveryState::Typing, None, now).await? {
            // Superseded or answered between the claim and now, or its agent is at something else.
            return self.store.release(&delivery.id).await;
        }
        let text = reached.session.profile.wake_text(delivery.agent.as_str());
        // The next time that it is met it is a limit of its own.
        self.forget_limit(row, &delivery.agent).await?;
        let wake = Wake { delivery_id: delivery.id.clone(), attempt: delivery.attempt, text };
        let pen = Pen { desk: self, delivery };
        let limit = self.options.send_limit;
        self.note_sending(&delivery.id, true);
        let sent = timeout(limit, reached.transport.wake(&reached.session, &wake, &pen)).await;
        let written = match sent {
            Ok(Ok(receipt)) => self.receipt(row, delivery, reached, receipt).await,
            Ok(Err(TransportError::NotNow(presence))) => self.not_now(row, delivery, &presence).await,
            Ok(Err(TransportError::Unknown(why))) => self.unknown(row, delivery, &why).await,
            Ok(Err(error)) => self.failed(row, delivery, &error.to_string()).await,
            Err(_) => self.unknown(row, delivery, &format!("it took over {} s", limit.as_secs_f32())).await,
        };
        self.note_sending(&delivery.id, false);
        written
    }

    async fn unknown(&self, row: &LoopRow, delivery: &Delivery, why: &str) -> Result<(), StoreError> {
        self.move_on(&delivery.id, DeliveryState::Unknown, Some(why)).await?;
        let text = format!("{}: nobody knows whether the wake arrived: {why}", delivery.agent);
        tracing::warn!(loop_id = row.id, delivery = delivery.id, "{text}");
        self.say(Some(&row.id), "delivery", &text).await
    }

    async fn receipt(
        &self,
        row: &LoopRow,
        delivery: &Delivery,
        reached: &Reached,
        receipt: Receipt,
    ) -> Result<(), StoreError> {
        // Where it runs is written down first: after a crash that is how it is found.
        if (receipt.address.is_some() || receipt.conversation.is_some())
            && let Some(mut session) = self.store.session(&row.id, &delivery.agent).await?
        {
            if let Some(address) = receipt.address {
                session.address = address.to_string();
            }
            session.conversation = receipt.conversation.or(session.conversation);
            self.store.put_session(&session).await?;
        }
        // What a person must do stands with the wake until they have done it.
        let reason = reached.transport.is_person().then_some(receipt.note.as_str());
        self.move_on(&delivery.id, receipt.state, reason).await?;
        self.counters.delivered.inc();
        let text =
            format!("{} woken for turn {} ({})", delivery.agent, delivery.turn + 1, receipt.state.as_str());
        tracing::info!(loop_id = row.id, delivery = delivery.id, note = receipt.note, "{text}");
        self.say(Some(&row.id), "delivery", &text).await
    }

    async fn not_now(
        &self,
        row: &LoopRow,
        delivery: &Delivery,
        presence: &Presence,
    ) -> Result<(), StoreError> {
        let what = if matches!(presence, Presence::Asks { .. }) { For::Answer } else { For::Else };
        self.wait(row, delivery, &describe(&delivery.agent, presence), what).await
    }

    /// Puts the delivery back: waiting is no retry. A person is told when it lasts.
    async fn wait(&self, row: &LoopRow, delivery: &Delivery, why: &str, what: For) -> Result<(), StoreError> {
        let now = Timestamp::now();
        let waited = self.patience.wait(&delivery.id, why, what == For::Answer, Instant::now());
        let pause = match waited.whole {
            short if short < SOON => self.options.look.min(LOOK_SOON),
            middling if middling < LATER => self.options.look.min(LOOK_AGAIN),
            _ => self.options.look * RARELY,
        };
        let again = now + pause;
        let before = delivery.reason.as_deref();
        let put_back = self
            .store
            .postpone(&delivery.id, DeliveryState::Waiting, &waited.reason, again, false, now)
            .await?;
        if put_back.state.is_final() {
            return Ok(());
        }
        if before != Some(&waited.reason) {
            let text = format!("{} is not woken yet: {}", delivery.agent, waited.reason);
            self.say(Some(&row.id), "delivery", &text).await?;
        }
        if waited.asks.is_some_and(|asked| asked >= self.options.ask_patience) {
            self.tell_once(row, "waiting", &format!("asks {} {why}", delivery.id), why).await?;
        } else if waited.whole >= self.options.wait_patience && what != For::Limit {
            self.tell_once(row, "waiting", &format!("waits {}", delivery.id), why).await?;
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
        let pause = backoff(self.options.first_pause, tries);
        let now = Timestamp::now();
        self.store.postpone(&delivery.id, DeliveryState::Waiting, why, now + pause, true, now).await?;
        let text = format!("waking {} failed: {why}; again in {} s", delivery.agent, pause.as_secs());
        tracing::warn!(loop_id = row.id, delivery = delivery.id, "{text}");
        self.say(Some(&row.id), "delivery", &text).await
    }

    async fn die(&self, delivery: &Delivery, why: &str) -> Result<(), StoreError> {
        // Read before: as soon as the delivery is dead, the relay may hold the loop for it.
        let row = self.store.loop_row(&delivery.loop_id).await?;
        self.move_on(&delivery.id, DeliveryState::Dead, Some(why)).await?;
        self.incident(Severity::High, Some(&delivery.loop_id), "delivery dead", why).await?;
        tracing::error!(loop_id = delivery.loop_id, delivery = delivery.id, why, "a delivery is dead");
        let Some(row) = row else { return Ok(()) };
        let text = format!("{} could not be woken: {why}", delivery.agent);
        self.say(Some(&row.id), "delivery", &text).await?;
        if row.state != "running" {
            // The wake of a planner holds nothing, so nothing else would say that it did not happen.
            self.tell_once(&row, "dead", &format!("dead {}", delivery.id), &text).await?;
        }
        // The relay turns this into a hold, which is told.
        self.ring(&delivery.loop_id, "dead");
        Ok(())
    }

    /// Moves a delivery on from wherever it stands now; `false` when it has gone further already.
    pub(crate) async fn move_on(
        &self,
        id: &str,
        to: DeliveryState,
        why: Option<&str>,
    ) -> Result<bool, StoreError> {
        // Relay, courier and attendant move deliveries at the same time: what one saw may be past already.
        for _ in 0..5 {
            let Some(now) = self.store.delivery(id).await? else { return Ok(false) };
            if now.state == to {
                return Ok(true);
            }
            if !now.state.may_become(to) {
                return Ok(false);
            }
            if self.store.advance(id, now.state, to, why, Timestamp::now()).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The pause after failed try number `tries`: doubling from `first` as [`loop_core::delivery::backoff_seconds`] does
/// from 5 s.
fn backoff(first: Duration, tries: u32) -> Duration {
    let seconds = loop_core::delivery::backoff_seconds(tries);
    let pause = first.saturating_mul(u32::try_from(seconds).unwrap_or(u32::MAX));
    pause / u32::try_from(loop_core::delivery::backoff_seconds(1)).unwrap_or(5)
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
