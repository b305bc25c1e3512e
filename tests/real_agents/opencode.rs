//! OpenCode. It starts slowly, and has no questions of its own at its start.

use loop_testkit::eventually;
use loop_testkit::stub_model::ModelStep;
use serde_json::json;

use super::{KEY, Model, RUN, WINDOW, alone, cast, passed_honestly, play, real_agent, story, two_turns};
use crate::stage::{LONG, Stage};

#[test]
fn takes_its_turns_in_a_window() {
    let Some(program) = real_agent("LOOP_TEST_OPENCODE") else { return };
    if alone("real_agents::opencode::takes_its_turns_in_a_window") {
        return;
    }
    let stage = Stage::new("");
    let shop = stage.place(stage.sandbox.repo("shop"), "agents");
    let model = Model::start(&stage, &two_turns(shop.repo.path()));
    cast(&shop, AGENT);
    knows(&stage, &model);
    let up = play(&shop, &model, &program, "OpenCode", &[]);
    assert!(!up.contains("NOT READY"), "{up}");
    passed_honestly(&stage, &shop, &model, "OpenCode", WINDOW);
}

#[test]
fn asks_in_its_turn_and_a_person_answers() {
    let Some(program) = real_agent("LOOP_TEST_OPENCODE") else { return };
    if alone("real_agents::opencode::asks_in_its_turn_and_a_person_answers") {
        return;
    }
    // The question stands longer than a screen must be still until a turn counts as over.
    let stage = Stage::new("timings: {look: 0.2, quiet: 1, sweep: 2, ask: 3}");
    let shop = stage.place(stage.sandbox.repo("shop"), "agents");
    let mut script = two_turns(shop.repo.path());
    // No command that `permissions: edits` allows.
    script.turns[0].insert(1, ModelStep::Shell("sh -c 'echo asked >> ../asked'".to_owned()));
    let model = Model::start(&stage, &script);
    cast(&shop, AGENT);
    knows(&stage, &model);
    play(&shop, &model, &program, "OpenCode", &[]);
    eventually("a person to be told", LONG, || {
        let log = shop.run(&["log"]);
        let told =
            log.lines().any(|line| line.contains("  person  ") && line.contains("asks for a permission"));
        if told { Ok(()) } else { Err(story(&shop, &model)) }
    });
    assert!(!stage.sandbox.root().join("asked").exists(), "{}", story(&shop, &model));
    stage.sandbox.tmux(&["send-keys", "-t", "loop-shop:OpenCode", "Enter"]);
    passed_honestly(&stage, &shop, &model, "OpenCode", WINDOW);
    assert_eq!(stage.sandbox.read("asked"), "asked\n");
}

#[test]
fn takes_its_turns_headless() {
    let Some(program) = real_agent("LOOP_TEST_OPENCODE") else { return };
    if alone("real_agents::opencode::takes_its_turns_headless") {
        return;
    }
    let stage = Stage::new("");
    let shop = stage.place(stage.sandbox.repo("shop"), "agents");
    let model = Model::start(&stage, &two_turns(shop.repo.path()));
    cast(&shop, AGENT);
    knows(&stage, &model);
    play(&shop, &model, &program, "OpenCode", &["--headless"]);
    passed_honestly(&stage, &shop, &model, "OpenCode", RUN);
}

/// It would ask for its list of models and for language servers.
pub(super) const AGENT: &str = "OpenCode: {kind: opencode, env: {OPENCODE_DISABLE_MODELS_FETCH: \"1\", \
                     OPENCODE_DISABLE_LSP_DOWNLOAD: \"1\", OPENCODE_DISABLE_DEFAULT_PLUGINS: \"1\"}}";

/// Where it finds the model.
pub(super) fn knows(stage: &Stage, model: &Model) {
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
