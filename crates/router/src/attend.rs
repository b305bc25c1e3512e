//! Looking after agents that have been woken: are they still at it, have they settled without a section, do they
//! ask something? And after a crash: did the wake arrive?

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use jiff::{SignedDuration, Timestamp};
use loop_core::settle::{Settling, Sights, Verdict, started};
use loop_core::{Config, DeliveryState};
use loop_store::{Delivery, LoopRow, StoreError};
use loop_transport::Presence;
use tokio::time::Instant;

use crate::desk::Desk;
use crate::limits::{Outlook, met};
use crate::reasons::describe;
use crate::session::Reached;
use crate::witness::Sighting;

/// How long an agent may take from our text to its first output.
const BEGINS: SignedDuration = SignedDuration::from_secs(5);

/// An agent that works is looked at so many times more rarely than one that may have finished.
const BUSY: u32 = 3;

/// What was seen of one delivery so far.
#[derive(Default)]
struct Watch {
    /// How the agent's witnesses stand to each other; `None`: not looked yet.
    settling: Option<Settling>,
    /// When it was looked at last.
    looked: Option<Instant>,
    /// Whether it was seen at work then.
    busy: bool,
    /// Since when the agent is gone.
    gone_since: Option<Instant>,
    /// Since when it has asked something.
    asks_since: Option<Instant>,
    /// Whether what a person must do stands with the delivery.
    remarked: bool,
}

impl Desk {
    /// Looks at every delivery that is out, until the router stops.
    pub(crate) async fn attend(self: Arc<Self>) {
        let mut watches: HashMap<String, Watch> = HashMap::new();
        loop {
            tokio::select! {
                () = tokio::time::sleep(self.options.look) => {}
                () = self.stop.cancelled() => return,
            }
            let open = match self.store.open_deliveries(None).await {
                Ok(open) => open,
                Err(error) => {
                    tracing::error!(%error, "deliveries cannot be read");
                    continue;
                }
            };
            watches.retain(|id, _| open.iter().any(|delivery| delivery.id == *id));
            self.patience.keep(|id| {
                open.iter()
                    .any(|delivery| delivery.id == id && !matches!(delivery.state, DeliveryState::Submitted))
            });
            self.keep_ended(|id| open.iter().any(|delivery| delivery.id == id));
            self.watchers.keep(|loop_id| open.iter().any(|delivery| delivery.loop_id == loop_id)).await;
            // Side by side: an agent that is slow to look at must not hide the others.
            let mut looks: FuturesUnordered<_> = open
                .into_iter()
                .filter(|delivery| delivery.state.is_out() && delivery.state != DeliveryState::Typing)
                .map(|delivery| {
                    let mut watch = watches.remove(&delivery.id).unwrap_or_default();
                    let desk = &self;
                    async move {
                        if let Err(error) = desk.look_after(&delivery, &mut watch).await {
                            tracing::error!(delivery = delivery.id, %error, "the ledger cannot be read");
                        }
                        (delivery.id, watch)
                    }
                })
                .collect();
            while let Some((id, watch)) = looks.next().await {
                watches.insert(id, watch);
            }
        }
    }

    async fn look_after(&self, delivery: &Delivery, watch: &mut Watch) -> Result<(), StoreError> {
        let pause = if watch.busy { self.options.look * BUSY } else { Duration::ZERO };
        // Half a look early is not too early: looks take time.
        if watch.looked.is_some_and(|looked| looked.elapsed() + self.options.look / 2 < pause) {
            return Ok(());
        }
        // A machine that slept has not worked.
        let passed = watch.looked.map_or(self.options.look, |looked| looked.elapsed());
        let passed = passed.min(self.options.look * BUSY * 2);
        watch.looked = Some(Instant::now());
        watch.busy = false;
        let Some(row) = self.store.loop_row(&delivery.loop_id).await? else { return Ok(()) };
        // What a person stopped is not looked for; it is seen to when they go on.
        if !row.up || row.paused.is_some() {
            watch.settling = None;
            return Ok(());
        }
        let Ok(config) = self.config_of(&row) else { return Ok(()) };
        let (sighting, reached) = match self.reach(&row, &config, &delivery.agent).await? {
            Ok(reached) => (self.sight(&row, &reached).await?, Some(reached)),
            Err(why) => (Ok(Sighting::gone(why)), None),
        };
        let sighting = match sighting {
            Ok(sighting) => sighting,
            Err(error) => {
                tracing::debug!(delivery = delivery.id, %error, "the agent cannot be looked at");
                return Ok(());
            }
        };
        if let Some(reached) = &reached
            && self.has_started(&row, delivery, reached, &sighting).await?
        {
            // It may be over already; the ledger says first that it began.
            watch.settling.get_or_insert_with(|| self.settling(delivery));
        }
        self.weigh(&row, &config, delivery, watch, sighting, reached, passed).await
    }

    /// A delivery's agent, to be watched until it has settled.
    fn settling(&self, delivery: &Delivery) -> Settling {
        let quiet = SignedDuration::try_from(self.options.quiet).unwrap_or(SignedDuration::MAX);
        let woken = delivery.typed_at.or(delivery.submitted_at).unwrap_or(delivery.updated_at);
        Settling::new(quiet).woken(woken)
    }

    /// Writes down that the turn began, once the agent's own side says so, and in which conversation.
    async fn has_started(
        &self,
        row: &LoopRow,
        delivery: &Delivery,
        reached: &Reached,
        sighting: &Sighting,
    ) -> Result<bool, StoreError> {
        let Some(typed) = delivery.typed_at.or(delivery.submitted_at) else { return Ok(false) };
        if delivery.state == DeliveryState::Started {
            return Ok(false);
        }
        let text = reached.session.profile.wake_text(delivery.agent.as_str());
        // Its end may have been told since.
        let (began, records) = (sighting.began.as_ref(), sighting.records.as_ref());
        let by_hook = started(typed, &text, &Sights { signal: began, ..Sights::default() });
        if !by_hook && !started(typed, &text, &Sights { records, ..Sights::default() }) {
            return Ok(false);
        }
        let witness = if by_hook { "by its turn hook" } else { "by the agent's own records" };
        self.move_on(&delivery.id, DeliveryState::Started, Some(witness)).await?;
        let told = began.filter(|_| by_hook).and_then(|signal| signal.conversation.as_ref());
        let read = records.and_then(|records| records.conversation.as_ref());
        if let Some(id) = told.or(read)
            && reached.session.conversation.as_ref() != Some(id)
            && let Some(mut session) = self.store.session(&row.id, &delivery.agent).await?
        {
            session.conversation = Some(id.clone());
            self.store.put_session(&session).await?;
        }
        Ok(true)
    }

    #[allow(clippy::too_many_arguments, reason = "one look, with all that it was made of")]
    async fn weigh(
        &self,
        row: &LoopRow,
        config: &Config,
        delivery: &Delivery,
        watch: &mut Watch,
        sighting: Sighting,
        reached: Option<Reached>,
        passed: Duration,
    ) -> Result<(), StoreError> {
        let now = Timestamp::now();
        let settling = watch.settling.get_or_insert_with(|| self.settling(delivery));
        let verdict = settling.see(now, &sighting.sights());
        let presence = as_presence(&verdict, &sighting.presence);
        if !matches!(presence, Presence::Asks { .. }) {
            watch.asks_since = None;
        }
        if !matches!(presence, Presence::Gone(_) | Presence::Shell(_)) {
            watch.gone_since = None;
        }
        match &presence {
            // When it ends is said with it below.
            Presence::Limited(_) => {}
            Presence::Asks { .. } => {
                self.remark(delivery, watch, Some(describe(&delivery.agent, &presence))).await?
            }
            _ => self.remark(delivery, watch, None).await?,
        }
        // Where nobody can tell when it has finished, it works until its section comes.
        let is_blind = reached.as_ref().is_some_and(|_| !sighting.can_settle());
        if is_blind && sighting.presence == Presence::Idle && delivery.state != DeliveryState::Unknown {
            let is_person = reached.as_ref().is_some_and(|reached| reached.transport.is_person());
            return if is_person { Ok(()) } else { self.works(delivery, passed, false).await };
        }
        match (&presence, verdict) {
            (Presence::Asks { says, .. }, _) => {
                let since = *watch.asks_since.get_or_insert_with(Instant::now);
                if since.elapsed() >= self.options.ask_patience {
                    let what = format!("asks {} {says}", delivery.id);
                    self.tell_once(row, "waiting", &what, &describe(&delivery.agent, &presence)).await?;
                }
                Ok(())
            }
            (Presence::Limited(words), _) => self.limited(row, config, delivery, watch, words).await,
            (Presence::Gone(_) | Presence::Shell(_), _) => {
                // A window that is gone twice is gone; a process that has ended is known to have.
                let since = *watch.gone_since.get_or_insert_with(Instant::now);
                let ended = reached.as_ref().is_some_and(|reached| reached.session.kind == "exec");
                if ended || since.elapsed() >= self.options.look {
                    watch.settling = None;
                    return self.settled(row, delivery, &presence, reached).await;
                }
                Ok(())
            }
            (_, Verdict::Working(_)) => {
                watch.busy = true;
                self.forget_limit(row, &delivery.agent).await?;
                self.works(delivery, passed, sighting.presence == Presence::Busy).await
            }
            (_, Verdict::Settled { .. }) => {
                watch.settling = None;
                self.settled(row, delivery, &presence, reached).await
            }
            // Each turn is a process of its own: where none runs, none works.
            (_, Verdict::Quiet { .. })
                if reached.as_ref().is_some_and(|reached| reached.session.kind == "exec") =>
            {
                watch.settling = None;
                self.settled(row, delivery, &presence, reached).await
            }
            _ => Ok(()),
        }
    }

    /// The agent met a usage limit in the middle of its turn. All clocks stand still; after its end it is woken anew.
    async fn limited(
        &self,
        row: &LoopRow,
        config: &Config,
        delivery: &Delivery,
        watch: &mut Watch,
        words: &str,
    ) -> Result<(), StoreError> {
        // The words of a limit that has ended stand on the screen until the agent has begun anew.
        let is_fresh = delivery.typed_at.is_none_or(|at| Timestamp::now().duration_since(at) < BEGINS);
        if is_fresh && self.has_ended(&delivery.id, words) {
            return Ok(());
        }
        let limited = self.note_limit(row, &delivery.agent, words).await?;
        match self.outlook(row, config, &delivery.agent, &limited).await? {
            Outlook::Wait => {
                let why = self.met_words(&delivery.agent, &limited);
                self.tell_limit(row, delivery, &why).await?;
                self.remark(delivery, watch, Some(why)).await
            }
            Outlook::Over | Outlook::Given => {
                self.move_on(&delivery.id, DeliveryState::Unanswered, Some(&met(&limited))).await?;
                self.ring(&row.id, "limit");
                Ok(())
            }
        }
    }

    /// What stands in the agent's way stands with its delivery as long as it does, for `loop status`.
    async fn remark(
        &self,
        delivery: &Delivery,
        watch: &mut Watch,
        reason: Option<String>,
    ) -> Result<(), StoreError> {
        if reason.is_some() && reason != delivery.reason || reason.is_none() && watch.remarked {
            self.store.remark(&delivery.id, reason.as_deref()).await?;
        }
        watch.remarked = reason.is_some();
        Ok(())
    }

    /// The agent works. Only its screen, right after our text, says that this is our turn: records and hooks that do
    /// not know our text may tell of another.
    async fn works(&self, delivery: &Delivery, passed: Duration, is_seen: bool) -> Result<(), StoreError> {
        self.store.add_work(&delivery.id, i64::try_from(passed.as_millis()).unwrap_or(i64::MAX)).await?;
        if is_seen && matches!(delivery.state, DeliveryState::Unknown | DeliveryState::Typed) {
            self.move_on(&delivery.id, DeliveryState::Submitted, Some("seen working")).await?;
        }
        Ok(())
    }
}

/// What the witnesses together say, as the transport's look would: hook and records know of questions and limits that
/// a screen does not show.
fn as_presence(verdict: &Verdict, seen: &Presence) -> Presence {
    match (verdict, seen) {
        (_, Presence::Gone(_) | Presence::Shell(_)) => seen.clone(),
        (Verdict::Asks { says, press }, _) => Presence::Asks { says: says.clone(), press: press.clone() },
        (Verdict::Limited(words), _) => Presence::Limited(words.clone()),
        (Verdict::Working(_), Presence::Idle) => Presence::Busy,
        _ => seen.clone(),
    }
}
