//! Qwen Code. It needs no settings, and asks nothing at its start.

use loop_testkit::stub_model::ModelStep;

use super::{Model, RUN, WINDOW, alone, cast, passed_honestly, play, real_agent, two_turns};
use crate::stage::Stage;

#[test]
fn takes_its_turns_in_a_window() {
    let Some(program) = real_agent("LOOP_TEST_QWEN") else { return };
    if alone("real_agents::qwen::takes_its_turns_in_a_window") {
        return;
    }
    let stage = Stage::new("");
    let shop = stage.place(stage.sandbox.repo("shop"), "agents");
    let model = Model::start(&stage, &two_turns(shop.repo.path()));
    cast(&shop, "Qwen: {kind: qwen}");
    let up = play(&shop, &model, &program, "Qwen", &[]);
    assert!(!up.contains("NOT READY"), "{up}");
    passed_honestly(&stage, &shop, &model, "Qwen", WINDOW);
}

#[test]
fn takes_its_turns_headless() {
    let Some(program) = real_agent("LOOP_TEST_QWEN") else { return };
    if alone("real_agents::qwen::takes_its_turns_headless") {
        return;
    }
    let stage = Stage::new("");
    let shop = stage.place(stage.sandbox.repo("shop"), "agents");
    let mut script = two_turns(shop.repo.path());
    // Its second run has not read the file of the first one, and must not overwrite it.
    script.turns[1].insert(1, ModelStep::Shell("git rm -q greeting.txt".to_owned()));
    let model = Model::start(&stage, &script);
    cast(&shop, "Qwen: {kind: qwen}");
    play(&shop, &model, &program, "Qwen", &["--headless"]);
    passed_honestly(&stage, &shop, &model, "Qwen", RUN);
}
