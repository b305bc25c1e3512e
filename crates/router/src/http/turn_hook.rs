//! `POST /api/turn-hook`: what an agent CLI's own hooks tell (`loop turn-hook` sends it).
//!
//! A hook tells for which loop and agent it speaks, out of the environment that the agent was started with; or, where
//! a CLI hides that from its hooks, or its window went on for a new loop, only the conversation. What fits no agent is
//! ignored: a person's own session in the same folder has the same hooks.

use std::path::{Component, Path};
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use jiff::Timestamp;
use loop_core::Name;
use loop_core::plain::line;
use loop_core::records::{PROMPT_LENGTH, excerpt, is_conversation};
use loop_core::rendezvous::TurnHook;
use loop_core::settle::{Event, Signal, is_wake};
use loop_store::{LoopRow, SessionRow, StoreError};
use serde_json::{Value, json};

use super::problem::Problem;
use crate::desk::Desk;

pub(crate) async fn turn_hook(
    State(desk): State<Arc<Desk>>,
    Json(mut told): Json<TurnHook>,
) -> Result<(StatusCode, Json<Value>), Problem> {
    told.conversation = told.conversation.filter(|id| !id.is_empty());
    let known = desk.whose(&told).await.map_err(|error| Problem::ours(&error))?;
    let Some((row, agent)) = known else {
        tracing::debug!(kind = told.kind, "a turn hook of no agent's");
        return Ok((StatusCode::ACCEPTED, Json(json!({"status": "ignored"}))));
    };
    let signal = Signal {
        event: told.event,
        at: Timestamp::now(),
        conversation: told.conversation,
        background: told.background,
        prompt: told.prompt.as_deref().map(excerpt),
        says: told.says.as_deref().map(|says| line(says, PROMPT_LENGTH - 1)),
    };
    desk.store.keep_signal(&row.id, &agent, &signal).await.map_err(|error| Problem::ours(&error))?;
    tracing::debug!(loop_id = row.id, %agent, kind = told.kind, event = ?signal.event, "a turn hook");
    // Whoever waits for this agent need not wait for the next look.
    desk.bell.notify_waiters();
    Ok((StatusCode::ACCEPTED, Json(json!({"status": "ok"}))))
}

impl Desk {
    /// The loop and agent for which a hook speaks.
    async fn whose(&self, told: &TurnHook) -> Result<Option<(LoopRow, Name)>, StoreError> {
        let mut session = match (&told.loop_id, told.agent.as_deref().map(Name::new)) {
            (Some(loop_id), Some(Ok(agent))) => self.store.session(loop_id, &agent).await?,
            _ => None,
        };
        if let (None, Some(id)) = (&session, &told.conversation) {
            let sessions = self.store.sessions(None).await?;
            session = sessions.into_iter().rfind(|session| session.conversation.as_ref() == Some(id));
        }
        let Some(session) = session else { return Ok(None) };
        let Some(row) = self.store.loop_row(&session.loop_id).await? else { return Ok(None) };
        let is_its = row.ended_at.is_none() && self.is_agents_own(told, &row, &session);
        Ok(is_its.then_some((row, session.agent)))
    }

    /// The variables are handed on to whatever the agent starts, another CLI too: what runs elsewhere, is of another
    /// kind, or is in another conversation is not the agent. A conversation that begins with our wake is the agent's
    /// new one.
    fn is_agents_own(&self, told: &TurnHook, row: &LoopRow, session: &SessionRow) -> bool {
        let Ok(config) = self.config_of(row) else { return false };
        let Some(agent) = config.agent(&session.agent) else { return false };
        let is_kind = agent.profile.turn_hooks.as_ref() == Some(&told.kind);
        let is_possible = told.conversation.as_deref().is_none_or(is_conversation);
        let cwd = Path::new(&told.cwd);
        // `..` leads out again, whatever stands before it.
        let leads_out = cwd.components().any(|part| part == Component::ParentDir);
        let is_there = told.cwd.is_empty() || cwd.starts_with(&row.worktree) && !leads_out;
        let is_known = match (&session.conversation, &told.conversation) {
            (Some(known), Some(id)) => known == id,
            _ => true,
        };
        let begins = || {
            let text = agent.profile.wake_text(session.agent.as_str());
            told.event == Event::Started
                && told.prompt.as_deref().is_some_and(|prompt| is_wake(&excerpt(prompt), &text))
        };
        is_kind && is_possible && is_there && (is_known || begins())
    }
}
