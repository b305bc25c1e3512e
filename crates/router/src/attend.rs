//! Looking after agents that have been woken: are they still at it, have they settled without a section, do they
//! ask something? And after a crash: did the wake arrive?

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use jiff::Timestamp;
use loop_core::DeliveryState;
use loop_core::decide::Decision;
use loop_store::{Delivery, LoopRow, Severity, StoreError};
use loop_transport::{Finished, Presence};
use tokio::time::Instant;

use crate::courier::describe;
use crate::desk::Desk;
use crate::facts::{LAST_LINES, LIMITED, NOT_MISSED, OUTPUT};
use crate::reading::Reader;
use crate::relay::{Notice, Relayed};
use crate::session::Reached;

/// As many of an agent's last lines are shown when it stopped without a section, and as many characters of them.
const LINES: usize = 5;
const CHARACTERS: usize = 400;

/// What was seen of one delivery so far.
#[derive(Default)]
struct Watch {
    /// Since when the agent has stood still; `None`: it works.
    still_since: Option<Instant>,
    /// Since when it has asked something.
    asks_since: Option<Instant>,
    /// Whether it met a usage limit since it was woken.
    limited: bool,
    /// Whether what a person must do stands with the delivery.
    remarked: bool,
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
            // A machine that slept has not worked.
            let passed = last.elapsed().min(self.options.look * 3);
            last = Instant::now();
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
            // Side by side: an agent that is slow to look at must not hide the others.
            let mut looks: FuturesUnordered<_> = open
                .into_iter()
                .filter(|delivery| delivery.state.is_out() && delivery.state != DeliveryState::Typing)
                .map(|delivery| {
                    let mut watch = watches.remove(&delivery.id).unwrap_or_default();
                    let desk = &self;
                    async move {
                        if let Err(error) = desk.look_after(&delivery, &mut watch, passed).await {
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

    async fn look_after(
        &self,
        delivery: &Delivery,
        watch: &mut Watch,
        passed: Duration,
    ) -> Result<(), StoreError> {
        let Some(row) = self.store.loop_row(&delivery.loop_id).await? else { return Ok(()) };
        // What a person stopped is not looked for; it is seen to when they go on.
        if !row.up || row.paused.is_some() {
            watch.still_since = None;
            return Ok(());
        }
        let Ok(config) = self.config_of(&row) else { return Ok(()) };
        let (presence, reached) = match self.reach(&row, &config, &delivery.agent).await? {
            Ok(reached) => (self.probe(&reached).await, Some(reached)),
            Err(why) => (Ok(Presence::Gone(why)), None),
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
        self.remark(delivery, watch, &presence).await?;
        // Where nobody can tell when it has finished, it works until its section comes.
        let is_blind = reached.as_ref().is_some_and(|reached| !reached.transport.tells_idle());
        match &presence {
            Presence::Idle if is_blind && delivery.state != DeliveryState::Unknown => {
                let is_person = reached.as_ref().is_some_and(|reached| reached.transport.is_person());
                if is_person { Ok(()) } else { self.works(delivery, passed).await }
            }
            Presence::Busy => {
                watch.still_since = None;
                self.works(delivery, passed).await
            }
            Presence::Starting | Presence::Unknown(_) | Presence::Unreachable(_) => {
                watch.still_since = None;
                Ok(())
            }
            Presence::Asks { says, .. } => {
                watch.still_since = None;
                let since = *watch.asks_since.get_or_insert_with(Instant::now);
                if since.elapsed() >= self.options.ask_patience {
                    let what = format!("asks {} {says}", delivery.id);
                    self.tell_once(&row, "waiting", &what, &describe(&delivery.agent, &presence)).await?;
                }
                Ok(())
            }
            Presence::Limited(_) => {
                watch.still_since = None;
                watch.limited = true;
                let what = format!("limited {}", delivery.id);
                self.tell_once(&row, "waiting", &what, &describe(&delivery.agent, &presence)).await
            }
            Presence::Idle
            | Presence::Waiting
            | Presence::Draft(_)
            | Presence::Gone(_)
            | Presence::Shell(_) => {
                let since = *watch.still_since.get_or_insert_with(Instant::now);
                // A process that has ended is known to have, and a window that is gone twice is gone; a screen must
                // stand still for a while.
                let ended = reached.as_ref().is_some_and(|reached| reached.session.kind == "exec");
                let is_gone = matches!(presence, Presence::Gone(_)) && since.elapsed() >= self.options.look;
                if ended || is_gone || since.elapsed() >= self.options.quiet {
                    watch.still_since = None;
                    return self.settled(&row, delivery, &presence, reached, watch.limited).await;
                }
                Ok(())
            }
        }
    }

    /// What the agent asks of a person stands with its delivery as long as it asks, for `loop status`.
    async fn remark(
        &self,
        delivery: &Delivery,
        watch: &mut Watch,
        presence: &Presence,
    ) -> Result<(), StoreError> {
        let reason = match presence {
            Presence::Asks { .. } | Presence::Limited(_) => Some(describe(&delivery.agent, presence)),
            _ => None,
        };
        if reason.is_some() && reason != delivery.reason || reason.is_none() && watch.remarked {
            self.store.remark(&delivery.id, reason.as_deref()).await?;
        }
        watch.remarked = reason.is_some();
        Ok(())
    }

    async fn works(&self, delivery: &Delivery, passed: Duration) -> Result<(), StoreError> {
        self.store.add_work(&delivery.id, i64::try_from(passed.as_millis()).unwrap_or(i64::MAX)).await?;
        if matches!(delivery.state, DeliveryState::Unknown | DeliveryState::Typed) {
            self.move_on(&delivery.id, DeliveryState::Submitted, Some("seen working")).await?;
        }
        Ok(())
    }

    /// The agent stands still. Did it commit a section that nobody rang for? If not, the relay wakes it once more,
    /// or holds the loop.
    async fn settled(
        &self,
        row: &LoopRow,
        delivery: &Delivery,
        presence: &Presence,
        mut reached: Option<Reached>,
        limited: bool,
    ) -> Result<(), StoreError> {
        if let Some(reached) = &mut reached {
            self.keep_conversation(row, reached).await?;
        }
        let relayed = match self.relay(&Notice { loop_id: row.id.clone(), from: "settled" }).await {
            Ok(relayed) => relayed,
            Err(error) => {
                tracing::warn!(loop_id = row.id, %error, "the loop cannot be read");
                return Ok(());
            }
        };
        let Some(now) = self.store.delivery(&delivery.id).await? else { return Ok(()) };
        if !now.state.is_out() {
            return Ok(());
        }
        let is_wanted = match &relayed {
            // While git is in the middle of something its section may be on its way.
            Relayed::Nothing(_) if self.is_expected(&row.id) => return Ok(()),
            Relayed::Nothing(_) => false,
            Relayed::Read { observed, .. } => {
                let turns = observed.status.turns.len();
                turns == delivery.turn
                    && !matches!(&observed.decided.decision, Decision::Wake { agent, .. } if *agent != delivery.agent)
                    && observed.decided.due.as_ref() == Some(&delivery.agent)
            }
        };
        if !is_wanted {
            // A planner was told, or another's section came first: nobody misses one of this agent.
            self.move_on(&delivery.id, DeliveryState::Unanswered, Some(NOT_MISSED)).await?;
            return Ok(());
        }
        let gone = matches!(presence, Presence::Gone(_) | Presence::Shell(_));
        if matches!(now.state, DeliveryState::Unknown | DeliveryState::Typed)
            && !gone
            && !self.is_finished(&delivery.id, reached.as_ref()).await
        {
            // Looked: it stands still, with no section. The wake did not arrive, or was never submitted; the
            // transport finishes what stands in the composer.
            self.move_on(&delivery.id, DeliveryState::Unknown, Some("it was never seen working")).await?;
            self.move_on(&delivery.id, DeliveryState::Queued, Some("looked: nothing arrived")).await?;
            self.bell.notify_waiters();
            return Ok(());
        }
        let how = match presence {
            Presence::Gone(_) | Presence::Shell(_) => describe(&delivery.agent, presence),
            _ if limited => LIMITED.to_owned(),
            _ => {
                let mut how = self.left_behind(row).await;
                let run = self.finished(reached.as_ref()).await;
                if let Some(run) = run.filter(|run| run.delivery_id == delivery.id) {
                    how.push_str(&run_words(&run));
                }
                let lines = self.last_lines(reached.as_ref()).await;
                if lines.is_empty() { how } else { format!("{how}{LAST_LINES}{lines}") }
            }
        };
        self.move_on(&delivery.id, DeliveryState::Unanswered, Some(&how)).await?;
        self.counters.unanswered.inc();
        let text = format!("{} settled without a section: {how}", delivery.agent);
        self.incident(Severity::Medium, Some(&row.id), "agent stopped without committing", &text).await?;
        self.say(Some(&row.id), "delivery", &text).await?;
        self.ring(&row.id, "settled");
        Ok(())
    }

    /// Whether the run that this delivery started has come to its end: then it did arrive.
    async fn is_finished(&self, delivery: &str, reached: Option<&Reached>) -> bool {
        self.finished(reached).await.is_some_and(|finished| finished.delivery_id == delivery)
    }

    /// How the agent's last run ended, where each turn is one.
    async fn finished(&self, reached: Option<&Reached>) -> Option<Finished> {
        let reached = reached?;
        reached.transport.finished(&reached.session).await.ok().flatten()
    }

    /// The end of what the agent shows, in one line.
    async fn last_lines(&self, reached: Option<&Reached>) -> String {
        let Some(reached) = reached else { return String::new() };
        let limit = self.options.send_limit;
        let text = match tokio::time::timeout(limit, reached.transport.capture(&reached.session)).await {
            Ok(Ok(text)) => text,
            _ => return String::new(),
        };
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let last = lines[lines.len().saturating_sub(LINES)..].join(" / ");
        let skip = last.chars().count().saturating_sub(CHARACTERS);
        loop_core::plain::plain(&last.chars().skip(skip).collect::<String>()).into_owned()
    }

    /// What the agent left uncommitted, in words.
    async fn left_behind(&self, row: &LoopRow) -> String {
        let worktree = row.worktree.clone();
        let git_env = self.options.git_env.clone();
        let counted = tokio::task::spawn_blocking(move || {
            let reader = Reader::open(&worktree, &git_env)?;
            reader.repo().dirty(&git_env).map(|dirty| dirty.len())
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

/// How a run ended that brought no section, and where what it printed is kept.
fn run_words(run: &Finished) -> String {
    let exit = match run.exit.as_deref() {
        Some(exit) => format!(", its run ended with {exit}"),
        None => ", nobody saw how its run ended".to_owned(),
    };
    let output = run.output.as_ref().map(|path| format!("{OUTPUT}{}", path.display()));
    format!("{exit}{}", output.unwrap_or_default())
}
