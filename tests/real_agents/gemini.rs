//! Gemini CLI.

use serde_json::json;

use super::player::Player;
use super::two_turns;
use crate::stage::{Place, Stage};

pub(super) const PLAYER: Player = Player {
    name: "Gemini",
    variable: "LOOP_TEST_GEMINI",
    entry: "Gemini: {kind: gemini}",
    knows: |stage, shop, _| knows(stage, shop, true),
};

#[test]
fn takes_its_turns_in_a_window() {
    PLAYER.takes_its_turns_in_a_window("real_agents::gemini::takes_its_turns_in_a_window");
}

#[test]
fn asks_at_its_start_and_a_person_answers() {
    // It starts anew then, and the skills are loaded last.
    let new_here = Player { knows: |stage, shop, _| knows(stage, shop, false), ..PLAYER };
    new_here.asks_at_its_start("real_agents::gemini::asks_at_its_start_and_a_person_answers");
}

#[test]
fn takes_its_turns_headless() {
    // It loads no skills then.
    PLAYER.takes_its_turns_headless("real_agents::gemini::takes_its_turns_headless", two_turns, false);
}

/// How it signs in, that a person has trusted this folder, and in whose name it commits: its shell tool hides the
/// variables that say so here.
fn knows(stage: &Stage, shop: &Place<'_>, trusted: bool) {
    shop.repo.git(&["config", "user.name", "Dana"]);
    shop.repo.git(&["config", "user.email", "dana@example.com"]);
    let settings = json!({
        "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
        "privacy": {"usageStatisticsEnabled": false},
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "telemetry": {"enabled": false},
    });
    stage.sandbox.write("home/.gemini/settings.json", settings.to_string());
    if trusted {
        let folders = json!({shop.repo.path().display().to_string(): "TRUST_FOLDER"});
        stage.sandbox.write("home/.gemini/trustedFolders.json", folders.to_string());
    }
}
