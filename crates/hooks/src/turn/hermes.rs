//! Hermes: what its shell hooks send is understood, but nothing is installed.
//!
//! They stand in the user's own `config.yaml`, once for all of its work, and each must be agreed to by a person.
//! None was seen to run with `loop` yet.

use serde_json::Value;

use super::heard::{Heard, text};
use super::{Form, TurnHooks, USUAL};

pub(super) const ROW: TurnHooks = TurnHooks {
    kind: "hermes",
    about: "Hermes",
    form: Form::ByHand(
        "its hooks stand in its own config.yaml (`hooks:`, `pre_llm_call` and `on_session_end`) and need your consent; \
         the command for both is `loop turn-hook hermes`; unproven",
    ),
    heard,
    ..USUAL
};

fn heard(payload: &Value) -> Option<Heard> {
    match text(payload, "hook_event_name")? {
        "pre_llm_call" => Some(Heard::started(None)),
        "on_session_end" => Some(Heard::finished()),
        _ => None,
    }
}
