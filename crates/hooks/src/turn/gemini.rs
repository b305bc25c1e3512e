//! Gemini CLI, 0.61.
//!
//! Its hooks stand in `.gemini/settings.json` of a trusted folder; at the first start it names them, and goes on. A
//! hook's output would become part of the turn.

use serde_json::Value;

use super::heard::{Heard, text};
use super::{Form, TurnHooks, USUAL};

pub(super) const ROW: TurnHooks = TurnHooks {
    kind: "gemini",
    about: "Gemini CLI",
    form: Form::Settings(&["BeforeAgent", "AfterAgent", "Notification"]),
    file: ".gemini/settings.json",
    shared: ".gemini/settings.json",
    heard,
    ..USUAL
};

fn heard(payload: &Value) -> Option<Heard> {
    match text(payload, "hook_event_name")? {
        "BeforeAgent" => Some(Heard::started(text(payload, "prompt"))),
        "AfterAgent" => Some(Heard::finished()),
        "Notification" => (text(payload, "notification_type") == Some("ToolPermission"))
            .then(|| Heard::asks(text(payload, "message"))),
        _ => None,
    }
}
