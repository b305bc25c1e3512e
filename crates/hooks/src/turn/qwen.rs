//! Qwen Code, 0.15.
//!
//! Its hooks stand in `.qwen/settings.json` of a trusted folder. `UserPromptSubmit` comes with the skill's whole text,
//! and once more, empty, in the middle of a turn.

use serde_json::Value;

use super::heard::{Heard, text};
use super::{Form, TurnHooks, USUAL};

pub(super) const ROW: TurnHooks = TurnHooks {
    kind: "qwen",
    about: "Qwen Code",
    form: Form::Settings(&["UserPromptSubmit", "Stop", "StopFailure", "Notification"]),
    file: ".qwen/settings.json",
    shared: ".qwen/settings.json",
    heard,
    ..USUAL
};

fn heard(payload: &Value) -> Option<Heard> {
    match text(payload, "hook_event_name")? {
        "UserPromptSubmit" => Some(Heard::started(text(payload, "prompt"))),
        "Stop" => Some(Heard::finished()),
        "StopFailure" => Some(Heard { says: text(payload, "error").map(str::to_owned), ..Heard::finished() }),
        "Notification" => (text(payload, "notification_type") == Some("permission_prompt"))
            .then(|| Heard::asks(text(payload, "message"))),
        _ => None,
    }
}
