//! Claude Code and Codex, whose turn hooks tell when a turn begins and ends; taken down and opened again.

use std::path::{Path, PathBuf};

use loop_testkit::stub_model::ModelScript;
use serde_json::Value;

use super::{PLAYERS, conversations, ledgers, turn, woken_once_each, write_a_file};
use crate::real_agents::{Model, alone, real_agent, story, up};
use crate::stage::Stage;

#[test]
fn tell_of_two_that_are_opened_again() {
    let programs: Vec<PathBuf> =
        PLAYERS[..2].iter().filter_map(|player| real_agent(player.variable)).collect();
    if programs.len() < 2 || alone("real_agents::all_together::hooks::tell_of_two_that_are_opened_again") {
        return;
    }
    let programs: Vec<&Path> = programs.iter().map(PathBuf::as_path).collect();
    let stage = Stage::new("");
    let shop = stage.place(stage.sandbox.repo("shop"), "agents");
    let repo = shop.repo.path();
    let turns = vec![
        write_a_file(repo, "{name}.txt"),
        turn(&["loop commit {name} -m 'reviewed' --pass"]),
        write_a_file(repo, "{name}-again.txt"),
    ];
    let model = Model::start(&stage, &ModelScript { turns, think_ms: 500, ..ModelScript::default() });
    // Without records only the hooks can tell.
    let text = "agents:\n  \
                CC: {kind: claude-code, records: {format: claude, at: [~/none]}, \
                env: {CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: \"1\"}}\n  \
                Codex: {kind: codex, records: {format: codex, at: [~/none]}}\n\
                rotation: [CC, Codex]\npeople: [Dana]\npass: other\n";
    shop.repo.commit("loop.yaml", text, "how the loop works here");
    PLAYERS[..2].iter().for_each(|player| (player.knows)(&stage, &shop, &model));
    shop.run(&["init", "a file of everybody's", "--turn-hooks"]);

    // A person reviews Codex's hooks, once.
    let ready = up(&shop, &model, &programs, &[]);
    assert!(ready.out.contains("NOT READY") && ready.out.contains("review its hooks"), "{ready:?}");
    stage.sandbox.tmux(&["send-keys", "-t", "loop-shop:Codex", "2"]);
    stage.sandbox.tmux(&["send-keys", "-t", "loop-shop:Codex", "Enter"]);
    let passed = |turns: &[&str]| {
        let wait = shop.try_loop(&["wait", "--passed", "--timeout", "120s"]);
        assert_eq!(wait.code, Some(0), "{wait:?}\n{}", story(&shop, &model));
        assert_eq!(shop.authors(), turns, "{}", story(&shop, &model));
    };
    passed(&["CC", "Codex", "CC"]);
    for name in ["CC", "Codex"] {
        // Nothing else would tell before a minute of stillness.
        let settled = shop.try_loop(&["wait", "--settled", name, "--quiet", "60s", "--timeout", "30s"]);
        assert_eq!(settled.code, Some(0), "{settled:?}\n{}", story(&shop, &model));
    }
    let first = conversations(&shop);
    assert!(first.iter().all(|(_, id)| id.len() == 36), "{first:?}");

    shop.run(&["down"]);
    let again = up(&shop, &model, &programs, &["--json"]);
    assert_eq!(again.code, Some(0), "{again:?}\n{}", story(&shop, &model));
    let again: Value = serde_json::from_str(&again.out).unwrap();
    let agents = again["agents"].as_array().unwrap();
    assert!(agents.len() == 2 && agents.iter().all(|agent| agent["resumed"] == true), "{again:#}");
    assert_eq!(conversations(&shop), first);
    shop.run(&["say", "one file more, please", "--to", "CC"]);
    passed(&["CC", "Codex", "CC", "Dana", "CC", "Codex"]);
    assert_eq!(conversations(&shop), first);

    woken_once_each(&shop, &model, &["CC"], 3);
    woken_once_each(&shop, &model, &["Codex"], 2);
    for states in ["CC", "Codex"].iter().flat_map(|name| ledgers(&shop, name)) {
        let by_hook = states.iter().any(|(state, why)| state == "started" && why == "by its turn hook");
        assert!(by_hook, "{states:?}\n{}", story(&shop, &model));
    }
    shop.run(&["down"]);
    shop.run(&["archive"]);
    assert_eq!(shop.repo.git(&["status", "--porcelain"]), "");
    model.stop();
    stage.nothing_runs();
}
