//! Claude Code, as it is waited for.

use std::process::{Child, Stdio};

use loop_testkit::eventually;
use loop_testkit::stub_model::ModelScript;

use super::{Model, alone, cast, claude_code_knows, measured, play, real_agent, story, two_turns};
use crate::stage::{LONG, LOOP, Stage};

#[test]
fn has_settled_for_whoever_comes_before_during_and_after() {
    let Some(program) = real_agent("LOOP_TEST_CLAUDE") else { return };
    if alone("real_agents::claude_code::has_settled_for_whoever_comes_before_during_and_after") {
        return;
    }
    let stage = Stage::new("");
    let shop = stage.place(stage.sandbox.repo("shop"), "agents");
    let script = ModelScript { think_ms: 1500, ..two_turns(shop.repo.path()) };
    let model = Model::start(&stage, &script);
    cast(&shop, "CC: {kind: claude-code, env: {CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: \"1\"}}");
    claude_code_knows(&stage, &shop, true);
    play(&shop, &model, &program, "CC", &[]);
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
        assert_eq!(output.status.code(), Some(0), "{output:?}\n{}", story(&shop, &model));
        String::from_utf8(output.stdout).unwrap()
    };
    let before = watch();
    eventually("CC at work", LONG, || {
        let log = model.log();
        if log.iter().any(|line| line.event == "call") { Ok(()) } else { Err(story(&shop, &model)) }
    });
    let during = watch();
    let expected = format!("CC session {} has settled!\n", id());
    assert!(stage.sandbox.home().join(".claude/projects").exists());
    assert_eq!(told(before), expected);
    assert_eq!(told(during), expected);
    assert!(!shop.authors().is_empty(), "it had committed by then: {}", story(&shop, &model));
    let wait = shop.try_loop(&["wait", "--passed", "--timeout", "90s"]);
    assert_eq!(wait.code, Some(0), "{wait:?}\n{}", story(&shop, &model));
    let start = std::time::Instant::now();
    assert_eq!(told(watch()), expected);
    measured(&format!("CC: who comes afterwards is told after {:.1} s", start.elapsed().as_secs_f64()));
    shop.run(&["down"]);
    model.stop();
    stage.nothing_runs();
}
