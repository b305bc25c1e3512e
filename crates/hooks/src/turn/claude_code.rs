//! Claude Code, 2.1.
//!
//! Its hooks stand in `.claude/settings.local.json`, which is a person's own, or in `.claude/settings.json`, which a
//! team shares; both are watched, so a running window takes them up. There is no step of trust beyond the folder's.
//! `Stop` comes while background work runs on, and counts it; it does not come for a turn that a person or an error
//! broke off (`StopFailure` comes for the latter). Its question for a permission is notified some six seconds after
//! it is shown, when nobody has answered.

use serde_json::Value;

use super::heard::{Heard, count, text};
use super::{Form, TurnHooks, USUAL};

pub(super) const ROW: TurnHooks = TurnHooks {
    kind: "claude-code",
    about: "Claude Code",
    form: Form::Settings(&["UserPromptSubmit", "Stop", "StopFailure", "Notification"]),
    file: ".claude/settings.local.json",
    shared: ".claude/settings.json",
    heard,
    ..USUAL
};

fn heard(payload: &Value) -> Option<Heard> {
    match text(payload, "hook_event_name")? {
        "UserPromptSubmit" => Some(Heard::started(text(payload, "prompt"))),
        "Stop" => Some(Heard { background: background(payload), ..Heard::finished() }),
        "StopFailure" => {
            let says = text(payload, "error_details").or_else(|| text(payload, "error"));
            Some(Heard { says: says.map(str::to_owned), ..Heard::finished() })
        }
        "Notification" => {
            let asks = ["permission_prompt", "elicitation_dialog", "agent_needs_input"];
            let asks = text(payload, "notification_type").is_some_and(|what| asks.contains(&what));
            asks.then(|| Heard::asks(text(payload, "message")))
        }
        _ => None,
    }
}

/// What runs on, and what wakes the session once more: a schedule that repeats for ever is no unfinished work.
fn background(payload: &Value) -> u32 {
    let crons = payload.get("session_crons").and_then(Value::as_array);
    let once = |cron: &&Value| cron.get("recurring").and_then(Value::as_bool) == Some(false);
    let wakes = crons.map_or(0, |crons| crons.iter().filter(once).count());
    count(payload, "background_tasks").saturating_add(u32::try_from(wakes).unwrap_or(u32::MAX))
}
