//! Qwen Code. It needs no settings, and asks nothing at its start.

use loop_testkit::stub_model::ModelStep;

use super::player::Player;
use super::two_turns;

pub(super) const PLAYER: Player =
    Player { name: "Qwen", variable: "LOOP_TEST_QWEN", entry: "Qwen: {kind: qwen}", knows: |_, _, _| {} };

#[test]
fn takes_its_turns_in_a_window() {
    PLAYER.takes_its_turns_in_a_window("real_agents::qwen::takes_its_turns_in_a_window");
}

#[test]
fn takes_its_turns_headless() {
    let script = |repo: &std::path::Path| {
        let mut script = two_turns(repo);
        // Its second run has not read the file of the first one, and must not overwrite it.
        script.turns[1].insert(1, ModelStep::Shell("git rm -q greeting.txt".to_owned()));
        script
    };
    PLAYER.takes_its_turns_headless("real_agents::qwen::takes_its_turns_headless", script, true);
}
