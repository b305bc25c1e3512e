//! Gemini CLI.

use loop_testkit::eventually;
use serde_json::json;

use super::{Model, RUN, WINDOW, alone, cast, passed, passed_honestly, play, real_agent, story, two_turns};
use crate::stage::{LONG, Place, Stage};

#[test]
fn takes_its_turns_in_a_window() {
    let Some(program) = real_agent("LOOP_TEST_GEMINI") else { return };
    if alone("real_agents::gemini::takes_its_turns_in_a_window") {
        return;
    }
    let stage = Stage::new("");
    let shop = stage.place(stage.sandbox.repo("shop"), "agents");
    let model = Model::start(&stage, &two_turns(shop.repo.path()));
    cast(&shop, "Gemini: {kind: gemini}");
    knows(&stage, &shop, true);
    let up = play(&shop, &model, &program, "Gemini", &[]);
    assert!(!up.contains("NOT READY"), "{up}");
    passed_honestly(&stage, &shop, &model, "Gemini", WINDOW);
}

#[test]
fn asks_at_its_start_and_a_person_answers() {
    let Some(program) = real_agent("LOOP_TEST_GEMINI") else { return };
    if alone("real_agents::gemini::asks_at_its_start_and_a_person_answers") {
        return;
    }
    let stage = Stage::new("");
    let shop = stage.place(stage.sandbox.repo("shop"), "agents");
    let model = Model::start(&stage, &two_turns(shop.repo.path()));
    cast(&shop, "Gemini: {kind: gemini}");
    knows(&stage, &shop, false);
    let up = play(&shop, &model, &program, "Gemini", &[]);
    assert!(up.contains("NOT READY") && up.contains("asks whether to trust the folder"), "{up}");
    eventually("the wake to wait for the dialog", LONG, || {
        let log = shop.run(&["log"]);
        if log.contains("trust the folder") { Ok(()) } else { Err(story(&shop, &model)) }
    });
    assert_eq!(model.log().iter().filter(|line| line.event == "call").count(), 0);
    // It starts anew then, and the skills are loaded last.
    stage.sandbox.tmux(&["send-keys", "-t", "loop-shop:Gemini", "Enter"]);
    passed_honestly(&stage, &shop, &model, "Gemini", WINDOW);
}

#[test]
fn takes_its_turns_headless() {
    let Some(program) = real_agent("LOOP_TEST_GEMINI") else { return };
    if alone("real_agents::gemini::takes_its_turns_headless") {
        return;
    }
    let stage = Stage::new("");
    let shop = stage.place(stage.sandbox.repo("shop"), "agents");
    let model = Model::start(&stage, &two_turns(shop.repo.path()));
    cast(&shop, "Gemini: {kind: gemini}");
    knows(&stage, &shop, true);
    play(&shop, &model, &program, "Gemini", &["--headless"]);
    // It loads no skills then.
    passed(&stage, &shop, &model, "Gemini", RUN, false);
}

/// How it signs in, that a person has trusted this folder, and in whose name it commits: its shell tool hides the
/// variables that say so here.
pub(super) fn knows(stage: &Stage, shop: &Place<'_>, trusted: bool) {
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
