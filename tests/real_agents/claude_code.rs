//! Claude Code: at its turns, and as it is waited for.

use std::process::{Child, Stdio};

use loop_testkit::eventually;
use loop_testkit::stub_model::ModelScript;
use serde_json::json;

use super::player::{Player, Scene};
use super::{KEY, measured, two_turns};
use crate::stage::{LONG, LOOP, Place, Stage};

pub(super) const PLAYER: Player = Player {
    name: "CC",
    variable: "LOOP_TEST_CLAUDE",
    entry: "CC: {kind: claude-code, env: {CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: \"1\"}}",
    knows: |stage, shop, _| knows(stage, shop, true),
};

#[test]
fn takes_its_turns_in_a_window() {
    PLAYER.takes_its_turns_in_a_window("real_agents::claude_code::takes_its_turns_in_a_window");
}

#[test]
fn asks_at_its_start_and_a_person_answers() {
    let new_here = Player { knows: |stage, shop, _| knows(stage, shop, false), ..PLAYER };
    new_here.asks_at_its_start("real_agents::claude_code::asks_at_its_start_and_a_person_answers");
}

#[test]
fn asks_in_its_turn_and_a_person_answers() {
    PLAYER.asks_in_its_turn("real_agents::claude_code::asks_in_its_turn_and_a_person_answers", "1");
}

#[test]
fn takes_its_turns_headless() {
    PLAYER.takes_its_turns_headless("real_agents::claude_code::takes_its_turns_headless", two_turns, true);
}

#[test]
fn has_settled_for_whoever_comes_before_during_and_after() {
    let test = "real_agents::claude_code::has_settled_for_whoever_comes_before_during_and_after";
    let script = |repo: &std::path::Path| ModelScript { think_ms: 1500, ..two_turns(repo) };
    PLAYER.on_stage(test, "", script, settles);
}

fn settles(scene: &Scene<'_>) {
    let Scene { stage, shop, model, .. } = scene;
    scene.play(&[]);
    let id = || {
        let agents: serde_json::Value = serde_json::from_str(&shop.run(&["agents", "--json"])).unwrap();
        agents["agents"][0]["conversation"].as_str().unwrap_or_default().to_owned()
    };
    let watch = || -> Child {
        let mut command = shop.repo.command(LOOP);
        command.args(["wait", "--settled", "CC", "--timeout", "90s"]).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let told = |child: Child| {
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}\n{}", scene.story());
        String::from_utf8(output.stdout).unwrap()
    };
    let before = watch();
    eventually("CC at work", LONG, || {
        let log = model.log();
        if log.iter().any(|line| line.event == "call") { Ok(()) } else { Err(scene.story()) }
    });
    let during = watch();
    let expected = format!("CC session {} has settled!\n", id());
    assert!(stage.sandbox.home().join(".claude/projects").exists());
    assert_eq!(told(before), expected);
    assert_eq!(told(during), expected);
    assert!(!shop.authors().is_empty(), "it had committed by then: {}", scene.story());
    let wait = shop.try_loop(&["wait", "--passed", "--timeout", "90s"]);
    assert_eq!(wait.code, Some(0), "{wait:?}\n{}", scene.story());
    let start = std::time::Instant::now();
    assert_eq!(told(watch()), expected);
    measured(&format!("CC: who comes afterwards is told after {:.1} s", start.elapsed().as_secs_f64()));
    shop.run(&["down"]);
    model.stop();
    stage.nothing_runs();
}

/// What it remembers of its first start, and of this folder if a person has trusted it.
fn knows(stage: &Stage, shop: &Place<'_>, trusted: bool) {
    let settings = json!({
        "hasCompletedOnboarding": true, "autoUpdates": false,
        "customApiKeyResponses": {"approved": [&KEY[KEY.len() - 20..]], "rejected": []},
        "projects": {shop.repo.path().display().to_string(): {"hasTrustDialogAccepted": trusted}},
    });
    stage.sandbox.write("home/.claude.json", settings.to_string());
    stage.sandbox.write("home/.claude/settings.json", json!({"theme": "dark"}).to_string());
}
