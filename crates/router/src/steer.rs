//! What a person does to a loop: accept, pause, resume, skip, stop, approve.
//!
//! The same commands come over HTTP and, while no router runs, straight from `loop`.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use loop_core::decide::{Accept, Resume};
use loop_core::{Config, DeliveryState, Name, Profile, config};
use loop_store::{Limited, LoopPatch, LoopRow, Store, StoreError};
use serde::{Deserialize, Serialize};

use crate::facts::TAKEN_DOWN;
use crate::reading::CONFIG_FILE;

/// Longer than any margin that is waited after the end of a usage limit.
const LONG_AGO: SignedDuration = SignedDuration::from_hours(48);

/// One command of a person's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum Steer {
    /// Ends the loop as passed by a person.
    Accept {
        /// Who accepts.
        by: String,
        /// Why.
        #[serde(default)]
        why: Option<String>,
        /// The newest turn that they saw.
        after_turn: usize,
        /// The commit that they saw.
        #[serde(default)]
        commit: Option<String>,
    },
    /// No more wakes.
    Pause {
        /// Why.
        #[serde(default)]
        why: Option<String>,
    },
    /// Go on: limits start afresh, a block is answered, what is dead is tried again.
    Resume {
        /// The newest turn that they saw.
        after_turn: usize,
        /// To whom the turn goes.
        #[serde(default)]
        to: Option<String>,
        /// Rounds granted.
        #[serde(default)]
        rounds: Option<u32>,
        /// Hours granted.
        #[serde(default)]
        hours: Option<f64>,
    },
    /// Leaves an agent out, or takes it in again.
    Skip {
        /// Whom.
        name: String,
        /// Take it in again.
        #[serde(default)]
        undo: bool,
    },
    /// Interrupts whoever works, and pauses.
    Stop {
        /// Why.
        #[serde(default)]
        why: Option<String>,
    },
    /// Wakes may be made from now on.
    Up,
    /// No wakes; the loop stays as it is.
    Down,
    /// Approves this text of `loop.yaml`.
    Trust {
        /// The whole text.
        text: String,
    },
}

/// Why a command is refused.
#[derive(Debug, thiserror::Error)]
pub enum SteerError {
    /// The loop is unknown.
    #[error("no loop {0} is known here")]
    UnknownLoop(String),
    /// A name that is none.
    #[error("{0}")]
    Name(String),
    /// `loop.yaml` cannot be approved.
    #[error("{0}")]
    Config(String),
    /// A figure that makes no sense.
    #[error("{0}")]
    Figure(String),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Does what a person asks, in the store. Interrupting agents is the router's.
///
/// # Errors
/// Fails when the loop or a name is unknown, the configuration cannot be read, or the store cannot be written.
pub async fn steer(
    store: &Store,
    loop_id: &str,
    command: &Steer,
    kinds: &BTreeMap<String, Profile>,
    now: Timestamp,
) -> Result<LoopRow, SteerError> {
    let row = store.loop_row(loop_id).await?.ok_or_else(|| SteerError::UnknownLoop(loop_id.to_owned()))?;
    let mut patch = LoopPatch::default();
    let said = match command {
        Steer::Accept { by, why, after_turn, commit } => {
            patch.accepted = Some(Some(Accept {
                after_turn: *after_turn,
                by: by.clone(),
                why: why.clone(),
                commit: commit.clone(),
            }));
            patch.paused = Some(None);
            format!("accepted by {by}{}", because(why.as_deref()))
        }
        Steer::Pause { why } | Steer::Stop { why } => {
            patch.paused = Some(Some(why.clone().unwrap_or_else(|| "paused by a person".to_owned())));
            let word = if matches!(command, Steer::Stop { .. }) { "stopped" } else { "paused" };
            format!("{word}{}", because(why.as_deref()))
        }
        Steer::Resume { after_turn, to, rounds, hours } => {
            if *rounds == Some(0) || hours.is_some_and(|hours| !(hours.is_finite() && hours > 0.0)) {
                let text = "rounds and hours to go on for are numbers above 0".to_owned();
                return Err(SteerError::Figure(text));
            }
            let to = to.as_deref().map(|name| known_name(&row, kinds, name)).transpose()?;
            let said = to.as_ref().map(|name| format!("resumed, the turn goes to {name}"));
            patch.resumed =
                Some(Some(Resume { after_turn: *after_turn, to, rounds: *rounds, hours: *hours }));
            patch.paused = Some(None);
            patch.told = Some(None);
            // What stands there now is what the person saw: the next decision takes it for the record.
            patch.decision_key = Some(None);
            said.unwrap_or_else(|| "resumed".to_owned())
        }
        Steer::Skip { name, undo } => {
            let name = known_name(&row, kinds, name)?;
            let mut skipped = row.skipped.clone();
            skipped.retain(|other| *other != name);
            if !undo {
                skipped.push(name.clone());
            }
            patch.skipped = Some(skipped);
            // From now on it is a person's decision, whatever becomes of a usage limit.
            if let Some(limited) = store.witnessed(loop_id, &name).await?.limited {
                // Who takes it in again knows that the limit is over, although its words may still stand there.
                let until = if *undo { Some(limited.since - LONG_AGO) } else { limited.until };
                let theirs = Limited { skipped: false, until, ..limited };
                store.keep_limit(loop_id, &name, Some(&theirs)).await?;
            }
            if *undo { format!("{name} takes part again") } else { format!("{name} is skipped") }
        }
        Steer::Up => {
            patch.up = Some(true);
            if row.started_at.is_none() {
                patch.started_at = Some(Some(now));
            }
            "up".to_owned()
        }
        Steer::Down => {
            patch.up = Some(false);
            "down".to_owned()
        }
        Steer::Trust { text } => {
            Config::parse(text, CONFIG_FILE, kinds).map_err(|error| SteerError::Config(error.to_string()))?;
            patch.approved = Some(Some(config::hash(text)));
            patch.approved_text = Some(Some(text.clone()));
            "loop.yaml approved".to_owned()
        }
    };
    store.update_loop(loop_id, patch).await?;
    match command {
        Steer::Trust { text } => {
            // Another CLI knows nothing of the conversation.
            for name in no_longer_the_same(row.approved_text.as_deref(), text, kinds) {
                store.forget_conversation(loop_id, &name).await?;
            }
        }
        Steer::Pause { .. } | Steer::Stop { .. } | Steer::Down => {
            store.supersede_untyped(loop_id, &said, now).await?;
            if matches!(command, Steer::Down) {
                // Their windows are closed next: no section is owed for these.
                for delivery in store.open_deliveries(Some(loop_id)).await? {
                    store
                        .advance(
                            &delivery.id,
                            delivery.state,
                            DeliveryState::Unanswered,
                            Some(TAKEN_DOWN),
                            now,
                        )
                        .await?;
                }
            }
        }
        Steer::Resume { after_turn, .. } => {
            store.restart_clocks(loop_id).await?;
            store.resume_dead(loop_id, *after_turn, now).await?;
        }
        _ => {}
    }
    store.event(loop_id, now, "steer", &said).await?;
    store.loop_row(loop_id).await?.ok_or_else(|| SteerError::UnknownLoop(loop_id.to_owned()))
}

/// The agents that are of another kind in the new text of `loop.yaml`, or are not there any more.
fn no_longer_the_same(before: Option<&str>, after: &str, kinds: &BTreeMap<String, Profile>) -> Vec<Name> {
    let read = |text: &str| Config::parse(text, CONFIG_FILE, kinds).ok();
    let (Some(before), Some(after)) = (before.and_then(read), read(after)) else { return Vec::new() };
    let stays = |agent: &config::Agent| after.agent(&agent.name).is_some_and(|new| new.kind == agent.kind);
    before.agents.iter().filter(|agent| !stays(agent)).map(|agent| agent.name.clone()).collect()
}

fn because(why: Option<&str>) -> String {
    why.map(|why| format!(": {why}")).unwrap_or_default()
}

fn known_name(row: &LoopRow, kinds: &BTreeMap<String, Profile>, text: &str) -> Result<Name, SteerError> {
    let name = Name::new(text).map_err(|error| SteerError::Name(error.to_string()))?;
    let Some(approved) = &row.approved_text else { return Ok(name) };
    let Ok(config) = Config::parse(approved, CONFIG_FILE, kinds) else {
        return Ok(name);
    };
    match config.agents.iter().find(|agent| agent.name == name) {
        Some(agent) => Ok(agent.name.clone()),
        None => {
            let names: Vec<&str> = config.agents.iter().map(|agent| agent.name.as_str()).collect();
            Err(SteerError::Name(format!("{name} is no agent of this loop; it has {}", names.join(", "))))
        }
    }
}
