//! OpenCode. It starts slowly, and has no questions of its own at its start.

use serde_json::json;

use super::player::Player;
use super::{KEY, Model, two_turns};
use crate::stage::Stage;

pub(super) const PLAYER: Player = Player {
    name: "OpenCode",
    variable: "LOOP_TEST_OPENCODE",
    // It would ask for its list of models and for language servers.
    entry: "OpenCode: {kind: opencode, env: {OPENCODE_DISABLE_MODELS_FETCH: \"1\", OPENCODE_DISABLE_LSP_DOWNLOAD: \"1\", \
            OPENCODE_DISABLE_DEFAULT_PLUGINS: \"1\"}}",
    knows: |stage, _, model| knows(stage, model),
};

#[test]
fn takes_its_turns_in_a_window() {
    PLAYER.takes_its_turns_in_a_window("real_agents::opencode::takes_its_turns_in_a_window");
}

#[test]
fn asks_in_its_turn_and_a_person_answers() {
    PLAYER.asks_in_its_turn("real_agents::opencode::asks_in_its_turn_and_a_person_answers", "Enter");
}

#[test]
fn takes_its_turns_headless() {
    PLAYER.takes_its_turns_headless("real_agents::opencode::takes_its_turns_headless", two_turns, true);
}

/// Where it finds the model.
fn knows(stage: &Stage, model: &Model) {
    let provider = json!({
        "npm": "@ai-sdk/openai-compatible", "name": "Stub",
        "options": {"baseURL": format!("{}/v1", model.url), "apiKey": KEY},
        "models": {"stub-model": {"name": "Stub", "limit": {"context": 200_000, "output": 8000}}},
    });
    let config = json!({
        "autoupdate": false, "share": "disabled", "model": "stub/stub-model", "small_model": "stub/stub-model",
        "provider": {"stub": provider},
    });
    stage.sandbox.write("home/.config/opencode/opencode.json", config.to_string());
}
