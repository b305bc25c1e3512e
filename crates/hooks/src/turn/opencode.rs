//! OpenCode, 1.18: a plugin of ours, a file of its own.
//!
//! With a plugin in place OpenCode waits at its start for an `npm install` of its own, 71 s where there is no network:
//! the profile lets npm try only once more, and soon, which makes it 2.5 s. The plugin leaves child sessions out and sends what
//! it sees in words of its own.

use serde_json::Value;

use super::heard::{Heard, text};
use super::{Form, TurnHooks, USUAL};

pub(super) const ROW: TurnHooks = TurnHooks {
    kind: "opencode",
    about: "OpenCode",
    form: Form::Plugin(include_str!("../../../../hooks/opencode-plugin.js")),
    file: ".opencode/plugins/loop.js",
    shared: ".opencode/plugins/loop.js",
    awaited: false,
    heard,
    ..USUAL
};

fn heard(payload: &Value) -> Option<Heard> {
    match text(payload, "event")? {
        "started" => Some(Heard::started(text(payload, "prompt"))),
        "finished" => Some(Heard { says: text(payload, "says").map(str::to_owned), ..Heard::finished() }),
        "asks" => Some(Heard::asks(text(payload, "says"))),
        _ => None,
    }
}
