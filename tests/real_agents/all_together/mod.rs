//! Every real CLI in one repository, each in a window of its own: they work by turns, and each is woken once per turn.

mod hooks;
mod wakes;

use std::path::{Path, PathBuf};

use loop_testkit::stub_model::{ModelScript, ModelStep};
use serde_json::Value;

use super::player::Player;
use super::{Model, alone, claude_code, codex, gemini, measured, opencode, qwen, real_agent, story, up};
use crate::stage::{Place, Stage};

const PLAYERS: [Player; 5] =
    [claude_code::PLAYER, codex::PLAYER, opencode::PLAYER, gemini::PLAYER, qwen::PLAYER];

#[test]
fn five_work_by_turns_and_agree() {
    let programs: Vec<PathBuf> = PLAYERS.iter().filter_map(|player| real_agent(player.variable)).collect();
    if programs.len() < PLAYERS.len() || alone("real_agents::all_together::five_work_by_turns_and_agree") {
        return;
    }
    let stage = Stage::new("");
    let shop = stage.place(stage.sandbox.repo("shop"), "agents");
    // Everybody writes something, then everybody reviews all of it. A model takes a moment to think.
    let turns = vec![
        write_a_file(shop.repo.path(), "{name}.txt"),
        turn(&["loop commit {name} -m 'reviewed' --pass"]),
    ];
    let model = Model::start(&stage, &ModelScript { turns, think_ms: 500, ..ModelScript::default() });
    let names: Vec<&str> = PLAYERS.iter().map(|player| player.name).collect();
    let entries: Vec<&str> = PLAYERS.iter().map(|player| player.entry).collect();
    let text = format!("agents:\n  {}\nrotation: [{}]\npass: all\n", entries.join("\n  "), names.join(", "));
    shop.repo.commit("loop.yaml", text, "how the loop works here");
    PLAYERS.iter().for_each(|player| (player.knows)(&stage, &shop, &model));
    shop.run(&["init", "a file of everybody's"]);

    let start = std::time::Instant::now();
    let programs: Vec<&Path> = programs.iter().map(PathBuf::as_path).collect();
    let ready = up(&shop, &model, &programs, &[]);
    assert_eq!(ready.code, Some(0), "{ready:?}\n{}", story(&shop, &model));
    let wait = shop.try_loop(&["wait", "--passed", "--timeout", "400s"]);
    assert_eq!(wait.code, Some(0), "{wait:?}\n{}", story(&shop, &model));
    measured(&format!("ten turns of five CLIs, with their start: {:.1} s", start.elapsed().as_secs_f64()));

    assert_eq!(shop.authors(), [&names[..], &names[..]].concat(), "{}", story(&shop, &model));
    woken_once_each(&shop, &model, &names, 2);
    for name in &names {
        assert_eq!(shop.repo.read(&format!("{name}.txt")), format!("by {name}\n"));
        let commits = shop.repo.git(&["log", "--format=%s", "--grep", &format!("Loop-Agent: {name}")]);
        assert_eq!(commits, format!("{name}: reviewed\n{name}: wrote"));
    }
    let mut conversations = conversations(&shop);
    assert!(conversations.iter().all(|(_, id)| !id.is_empty()), "{conversations:?}");
    conversations.sort_by(|one, other| one.1.cmp(&other.1));
    conversations.dedup_by(|one, other| one.1 == other.1);
    assert_eq!(conversations.len(), names.len(), "{conversations:?}");

    shop.run(&["down"]);
    let archived = shop.run(&["archive"]);
    assert!(archived.contains("project-archive/"), "{archived}");
    assert_eq!(shop.repo.git(&["status", "--porcelain"]), "");
    model.stop();
    stage.nothing_runs();
}

/// A turn: `loop turn`, then these commands.
fn turn(commands: &[&str]) -> Vec<ModelStep> {
    let look = std::iter::once(&"loop turn {name}");
    look.chain(commands).map(|command| ModelStep::Shell((*command).to_owned())).collect()
}

/// A turn that writes a file.
fn write_a_file(repo: &Path, file: &str) -> Vec<ModelStep> {
    let path = repo.join(file).display().to_string();
    let mut steps = turn(&["loop commit {name} -m 'wrote'"]);
    steps.insert(1, ModelStep::Write { path, text: "by {name}\n".to_owned() });
    steps
}

/// Holds what the ledger claims of `wakes` wakes of each agent against what the model was asked: every wake was typed
/// once, submitted once, and proven by the agent's own side.
fn woken_once_each(shop: &Place<'_>, model: &Model, names: &[&str], wakes: usize) {
    let log = model.log();
    assert!(log.iter().all(|line| line.event != "words"), "{}", story(shop, model));
    for name in names {
        let calls = log.iter().filter(|line| line.event == "call" && line.name.as_deref() == Some(*name));
        // The number is that of the call in its conversation: all of them are in one.
        let calls: Vec<(usize, bool)> = calls.map(|line| (line.call, line.expanded)).collect();
        let expected: Vec<(usize, bool)> = (1..=wakes).map(|call| (call, true)).collect();
        assert_eq!(calls, expected, "{name}\n{}", story(shop, model));
        let ledgers = ledgers(shop, name);
        assert_eq!(ledgers.len(), wakes, "{name}\n{}", story(shop, model));
        for states in ledgers {
            // What proves more may come before what the screen shows, `submitted`.
            let times = |wanted: &str| states.iter().filter(|(state, _)| state == wanted).count();
            for once in ["queued", "typing", "typed", "started", "answered"] {
                assert_eq!(times(once), 1, "{name} {once}: {states:?}\n{}", story(shop, model));
            }
        }
    }
}

/// What the ledger says of each wake of an agent: states, and why.
fn ledgers(shop: &Place<'_>, name: &str) -> Vec<Vec<(String, String)>> {
    let told: Value = serde_json::from_str(&shop.run(&["log", "--json"])).unwrap();
    let list = |key: &str| told[key].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let wakes = list("deliveries").into_iter().filter(|wake| wake["agent"] == name);
    wakes
        .map(|wake| {
            let lines = list("ledger").into_iter().filter(|line| line["delivery_id"] == wake["id"]);
            lines.map(|line| (text(&line["state"]), text(&line["reason"]))).collect()
        })
        .collect()
}

/// Each agent's name and conversation, as `loop agents` says.
fn conversations(shop: &Place<'_>) -> Vec<(String, String)> {
    let agents: Value = serde_json::from_str(&shop.run(&["agents", "--json"])).unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let agents = agents["agents"].as_array().cloned().unwrap_or_default();
    agents.iter().map(|agent| (text(&agent["name"]), text(&agent["conversation"]))).collect()
}
