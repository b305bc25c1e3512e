//! What is done about an agent that has settled: its section is looked for, and where there is none it is woken once
//! more, or the loop is held.

use loop_core::DeliveryState;
use loop_core::decide::Decision;
use loop_store::{Delivery, LoopRow, Severity, StoreError};
use loop_transport::{Finished, Presence};

use crate::desk::Desk;
use crate::facts::{LAST_LINES, NOT_MISSED, OUTPUT};
use crate::limits::met;
use crate::reading::Reader;
use crate::reasons::describe;
use crate::relay::{Notice, Relayed};
use crate::session::Reached;

/// As many of an agent's last lines are shown when it stopped without a section, and as many characters of them.
const LINES: usize = 5;
const CHARACTERS: usize = 400;

impl Desk {
    /// The agent stands still. Did it commit a section that nobody rang for? If not, the relay wakes it once more,
    /// or holds the loop.
    pub(crate) async fn settled(
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
