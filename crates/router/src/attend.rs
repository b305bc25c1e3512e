//! Looking after agents that have been woken: are they still at it, have they settled without a section, do they
//! ask something? And after a crash: did the wake arrive?

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use loop_core::DeliveryState;
use loop_store::{Delivery, LoopRow, Severity, StoreError};
use loop_transport::Presence;
use tokio::time::Instant;

use crate::courier::describe;
use crate::desk::Desk;
use crate::reading::Reader;

/// What was seen of one delivery so far.
struct Watch {
    /// Since when the agent has stood still; `None`: it works.
    still_since: Option<Instant>,
    /// Since when it has asked something.
    asks_since: Option<Instant>,
}

impl Desk {
    /// Looks at every delivery that is out, until the router stops.
    pub(crate) async fn attend(self: Arc<Self>) {
        let mut watches: HashMap<String, Watch> = HashMap::new();
        let mut last = Instant::now();
        loop {
            tokio::select! {
                () = tokio::time::sleep(self.options.look) => {}
                () = self.stop.cancelled() => return,
            }
            let passed = last.elapsed().min(self.options.look * 3);
            last = Instant::now();
            match self.store.open_deliveries(None).await {
                Ok(open) => {
                    watches.retain(|id, _| open.iter().any(|delivery| delivery.id == *id));
                    self.worked.keep(|id| open.iter().any(|delivery| delivery.id == id));
                    for delivery in open.iter().filter(|delivery| delivery.state.is_out()) {
                        let watch = watches
                            .entry(delivery.id.clone())
                            .or_insert(Watch { still_since: None, asks_since: None });
                        if let Err(error) = self.look_after(delivery, watch, passed).await {
                            tracing::error!(delivery = delivery.id, %error, "the ledger cannot be read");
                        }
                    }
                }
                Err(error) => tracing::error!(%error, "deliveries cannot be read"),
            }
        }
    }

    async fn look_after(&self, delivery: &Delivery, watch: &mut Watch, passed: Duration) -> Result<(), StoreError> {
        if matches!(delivery.state, DeliveryState::Typing) {
            // Our own courier is at it; a crash turns this into unknown at the next start.
            return Ok(());
        }
        let Some(row) = self.store.loop_row(&delivery.loop_id).await? else { return Ok(()) };
        let Ok(config) = self.config_of(&row) else { return Ok(()) };
        let presence = match self.reach(&row, &config, &delivery.agent).await? {
            Ok(reached) => reached.transport.probe(&reached.session).await,
            Err(why) => Ok(Presence::Gone(why)),
        };
        let presence = match presence {
            Ok(presence) => presence,
            Err(error) => {
                tracing::debug!(delivery = delivery.id, %error, "the agent cannot be looked at");
                return Ok(());
            }
        };
        if !matches!(presence, Presence::Asks { .. }) {
            watch.asks_since = None;
        }
        match &presence {
            Presence::Busy | Presence::Starting | Presence::Unknown(_) => {
                watch.still_since = None;
                if matches!(presence, Presence::Busy) {
                    self.works(&row, delivery, passed).await?;
                }
                Ok(())
            }
            Presence::Asks { .. } => {
                watch.still_since = None;
                let since = *watch.asks_since.get_or_insert_with(Instant::now);
                if since.elapsed() >= self.options.ask_patience {
                    self.tell_once(&row, "waiting", &describe(&delivery.agent, &presence)).await?;
                }
                Ok(())
            }
            Presence::Limited(_) => {
                watch.still_since = None;
                self.tell_once(&row, "waiting", &describe(&delivery.agent, &presence)).await
            }
            Presence::Idle | Presence::Waiting | Presence::Draft(_) | Presence::Gone(_) | Presence::Shell(_) => {
                let since = *watch.still_since.get_or_insert_with(Instant::now);
                // A process that has ended is known to have; a screen must stand still for a while.
                let ended = self.ends_with_its_process(&row, delivery).await?;
                if ended || since.elapsed() >= self.options.quiet {
                    return self.settled(&row, delivery, &presence).await;
                }
                Ok(())
            }
        }
    }

    async fn works(&self, row: &LoopRow, delivery: &Delivery, passed: Duration) -> Result<(), StoreError> {
        self.worked.add(&delivery.id, passed);
        self.store.add_worked_ms(&row.id, i64::try_from(passed.as_millis()).unwrap_or(i64::MAX)).await?;
        if matches!(delivery.state, DeliveryState::Unknown | DeliveryState::Typed) {
            self.move_on(&delivery.id, DeliveryState::Submitted, Some("seen working")).await?;
        }
        Ok(())
    }

    async fn ends_with_its_process(&self, row: &LoopRow, delivery: &Delivery) -> Result<bool, StoreError> {
        Ok(self.store.session(&row.id, &delivery.agent).await?.is_some_and(|s| s.transport == "exec"))
    }

    /// The agent stands still. Did it commit a section that nobody rang for? If not, it is woken once more.
    async fn settled(&self, row: &LoopRow, delivery: &Delivery, presence: &Presence) -> Result<(), StoreError> {
        let notice = crate::relay::Notice { loop_id: row.id.clone(), from: "settled" };
        if let Err(error) = self.relay(&notice).await {
            tracing::warn!(loop_id = row.id, %error, "the loop cannot be read");
            return Ok(());
        }
        let Some(now) = self.store.delivery(&delivery.id).await? else { return Ok(()) };
        if !now.state.is_out() {
            return Ok(());
        }
        let newest = self.store.turns(&row.id).await?.iter().map(|turn| turn.n).max().unwrap_or(0);
        if newest > delivery.turn {
            // Somebody else's section came meanwhile; this wake led to nothing and nobody misses it.
            self.move_on(&delivery.id, DeliveryState::Unanswered, Some("another's section came first")).await?;
            return Ok(());
        }
        if now.state == DeliveryState::Unknown && !matches!(presence, Presence::Gone(_) | Presence::Shell(_)) {
            // Looked: idle, with nothing of ours and no section. The wake did not arrive.
            let again = Some("looked after a crash: idle, nothing arrived");
            self.move_on(&delivery.id, DeliveryState::Queued, again).await?;
            self.bell.notify_waiters();
            return Ok(());
        }
        let how = match presence {
            Presence::Gone(_) | Presence::Shell(_) => describe(&delivery.agent, presence),
            _ => self.left_behind(row).await,
        };
        self.move_on(&delivery.id, DeliveryState::Unanswered, Some(&how)).await?;
        self.counters.unanswered.inc();
        let text = format!("{} settled without a section: {how}", delivery.agent);
        self.say(Some(&row.id), "delivery", &text).await?;
        if delivery.attempt == 1 {
            self.store.next_attempt(&delivery.id, "woken once more", Timestamp::now()).await?;
            self.bell.notify_waiters();
        } else {
            self.incident(Severity::Medium, Some(&row.id), "agent stopped without committing", &text).await?;
            self.ring(&row.id, "settled");
        }
        Ok(())
    }

    /// What the agent left uncommitted, in words.
    async fn left_behind(&self, row: &LoopRow) -> String {
        let worktree = row.worktree.clone();
        let git_env = self.options.git_env.clone();
        let counted = tokio::task::spawn_blocking(move || {
            Reader::open(&worktree, &git_env).and_then(|reader| reader.repo().dirty(&git_env)).map(|dirty| dirty.len())
        })
        .await;
        match counted {
            Ok(Ok(0)) => "nothing changed".to_owned(),
            Ok(Ok(1)) => "1 file changed".to_owned(),
            Ok(Ok(files)) => format!("{files} files changed"),
            _ => "its changes could not be counted".to_owned(),
        }
    }

    pub(crate) async fn incident(
        &self,
        severity: Severity,
        loop_id: Option<&str>,
        what: &str,
        detail: &str,
    ) -> Result<(), StoreError> {
        self.store
            .incident(&loop_store::Incident::new(Timestamp::now(), severity, loop_id, what, detail))
            .await
    }
}
