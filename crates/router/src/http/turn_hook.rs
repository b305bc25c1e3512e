//! `POST /api/turn-hook`: what an agent CLI's own hooks tell (`loop turn-hook` sends it).
//!
//! A hook tells for which loop and agent it speaks, out of the environment that the agent was started with; or, where
//! a CLI hides that from its hooks, only the conversation. What fits no agent is ignored: a person's own session in
//! the same folder has the same hooks.

use std::path::PathBuf;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use jiff::Timestamp;
use loop_core::Name;
use loop_core::plain::line;
use loop_core::records::PROMPT_LENGTH;
use loop_core::settle::{Event, Signal};
use loop_store::{LoopRow, StoreError};
use serde::Deserialize;
use serde_json::{Value, json};

use super::problem::Problem;
use crate::desk::Desk;

/// What a hook tells.
#[derive(Debug, Deserialize)]
pub(crate) struct Told {
    /// The kind of CLI.
    kind: String,
    event: Event,
    #[serde(rename = "loop", default)]
    loop_id: Option<String>,
    #[serde(default)]
    agent: Option<String>,
    #[serde(default)]
    conversation: Option<String>,
    /// The folder in which the CLI runs.
    #[serde(default)]
    cwd: Option<PathBuf>,
    #[serde(default)]
    prompt: Option<String>,
    #[serde(default)]
    background: u32,
    #[serde(default)]
    says: Option<String>,
}

/// An id of a conversation is never longer.
const ID_LENGTH: usize = 200;

pub(crate) async fn turn_hook(
    State(desk): State<Arc<Desk>>,
    Json(told): Json<Told>,
) -> Result<(StatusCode, Json<Value>), Problem> {
    let known = desk.whose(&told).await.map_err(|error| Problem::ours(&error))?;
    let Some((row, agent)) = known else {
        tracing::debug!(kind = told.kind, "a turn hook of no agent's");
        return Ok((StatusCode::ACCEPTED, Json(json!({"status": "ignored"}))));
    };
    let short = |text: &str| line(text, PROMPT_LENGTH - 1);
    let signal = Signal {
        event: told.event,
        at: Timestamp::now(),
        conversation: told.conversation.filter(|id| id.len() <= ID_LENGTH),
        background: told.background,
        prompt: told.prompt.as_deref().map(short),
        says: told.says.as_deref().map(short),
    };
    desk.store.keep_signal(&row.id, &agent, &signal).await.map_err(|error| Problem::ours(&error))?;
    tracing::debug!(loop_id = row.id, %agent, kind = told.kind, event = ?signal.event, "a turn hook");
    // Whoever waits for this agent need not wait for the next look.
    desk.bell.notify_waiters();
    Ok((StatusCode::ACCEPTED, Json(json!({"status": "ok"}))))
}

impl Desk {
    /// The loop and agent for which a hook speaks.
    async fn whose(&self, told: &Told) -> Result<Option<(LoopRow, Name)>, StoreError> {
        if let (Some(loop_id), Some(agent)) = (&told.loop_id, &told.agent) {
            let (Some(row), Ok(agent)) = (self.store.loop_row(loop_id).await?, Name::new(agent)) else {
                return Ok(None);
            };
            // The variables are handed on to whatever the agent starts; what runs elsewhere is not the agent.
            let is_there = told.cwd.as_ref().is_none_or(|cwd| cwd.starts_with(&row.worktree));
            let session = self.store.session(&row.id, &agent).await?;
            return Ok(session.filter(|_| is_there && row.ended_at.is_none()).map(|session| (row, session.agent)));
        }
        let Some(conversation) = &told.conversation else { return Ok(None) };
        for session in self.store.sessions(None).await? {
            if session.conversation.as_ref() == Some(conversation)
                && let Some(row) = self.store.loop_row(&session.loop_id).await?
                && row.ended_at.is_none()
            {
                return Ok(Some((row, session.agent)));
            }
        }
        Ok(None)
    }
}
