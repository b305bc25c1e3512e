//! Codex CLI, 0.171.
//!
//! It reads `.codex/hooks.json` of a trusted project, beside hooks in `config.toml`, and runs only hooks that a person
//! has reviewed: at the next start it asks once, and again when the command changes. In a linked worktree it reads
//! the file of the main working tree. `Stop` does not come for a turn that was broken off.

use serde_json::Value;

use super::heard::{Heard, text};
use super::{Form, Home, TurnHooks, USUAL};

pub(super) const ROW: TurnHooks = TurnHooks {
    kind: "codex",
    about: "Codex",
    form: Form::Settings(&["UserPromptSubmit", "Stop", "PermissionRequest"]),
    file: ".codex/hooks.json",
    shared: ".codex/hooks.json",
    home: Home::MainWorktree,
    once: Some(
        "Codex runs hooks only after a review: at its next start it asks (\"Hooks need review\"); press 2, then Enter, once",
    ),
    heard,
    ..USUAL
};

fn heard(payload: &Value) -> Option<Heard> {
    match text(payload, "hook_event_name")? {
        "UserPromptSubmit" => Some(Heard::started(text(payload, "prompt"))),
        "Stop" => Some(Heard::finished()),
        "PermissionRequest" => {
            let tool = text(payload, "tool_name").unwrap_or("a tool");
            Some(Heard::asks(Some(&format!("asks for a permission: {tool}"))))
        }
        _ => None,
    }
}
