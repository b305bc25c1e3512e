//! Codex.

use super::player::Player;
use super::{Model, two_turns};
use crate::stage::{Place, Stage};

pub(super) const PLAYER: Player =
    Player { name: "Codex", variable: "LOOP_TEST_CODEX", entry: "Codex: {kind: codex}", knows };

#[test]
fn takes_its_turns_in_a_window() {
    PLAYER.takes_its_turns_in_a_window("real_agents::codex::takes_its_turns_in_a_window");
}

#[test]
fn takes_its_turns_headless() {
    PLAYER.takes_its_turns_headless("real_agents::codex::takes_its_turns_headless", two_turns, true);
}

/// Where it finds the model, and that a person has trusted this folder.
fn knows(stage: &Stage, shop: &Place<'_>, model: &Model) {
    let config = format!(
        "model = \"stub-model\"\nmodel_provider = \"stub\"\n[analytics]\nenabled = false\n[model_providers.stub]\n\
         name = \"Stub\"\nbase_url = \"{}/v1\"\nwire_api = \"responses\"\nenv_key = \"OPENAI_API_KEY\"\n\
         [projects.\"{}\"]\ntrust_level = \"trusted\"\n",
        model.url,
        shop.repo.path().display()
    );
    stage.sandbox.write("home/.codex/config.toml", config);
}
