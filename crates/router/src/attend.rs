//! Looking after agents that have been woken: are they still at it, have they settled without a section, do they
//! ask something? And after a crash: did the wake arrive?

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use jiff::{SignedDuration, Timestamp};
use loop_core::decide::Decision;
use loop_core::settle::{Settling, Sights, Verdict, started};
use loop_core::{Config, DeliveryState};
use loop_store::{Delivery, LoopRow, Severity, StoreError};
use loop_transport::{Finished, Presence};
use tokio::time::Instant;

use crate::courier::describe;
use crate::desk::Desk;
use crate::facts::{LAST_LINES, NOT_MISSED, OUTPUT};
use crate::limits::{Outlook, met};
use crate::reading::Reader;
use crate::relay::{Notice, Relayed};
use crate::session::Reached;
use crate::witness::Sighting;

/// As many of an agent's last lines are shown when it stopped without a section, and as many characters of them.
const LINES: usize = 5;
const CHARACTERS: usize = 400;

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

    /// The agent stands still. Did it commit a section that nobody rang for? If not, the relay wakes it once more,
    /// or holds the loop.
    async fn settled(
        &self,
        row: &LoopRow,
        delivery: &Delivery,
        presence: &Presence,
        mut reached: Option<Reached>,
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
        if self.is_sending(&delivery.id) {
            // A slow CLI stands still for seconds with the text in its composer, or just taken out of it.
            return Ok(());
        }
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
        let limited = self.store.witnessed(&row.id, &delivery.agent).await?.limited;
        let how = match presence {
            Presence::Gone(_) | Presence::Shell(_) => describe(&delivery.agent, presence),
            _ if let Some(limited) = &limited => met(limited),
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
        self.forget_limit(row, &delivery.agent).await?;
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

/// How a run ended that brought no section, and where what it printed is kept.
fn run_words(run: &Finished) -> String {
    let exit = match run.exit.as_deref() {
        Some(exit) => format!(", its run ended with {exit}"),
        None => ", nobody saw how its run ended".to_owned(),
    };
    let output = run.output.as_ref().map(|path| format!("{OUTPUT}{}", path.display()));
    format!("{exit}{}", output.unwrap_or_default())
}
