//! An agent goes on in its conversation when its window is opened again, and a new loop begins a new one.

use loop_testkit::require_tool;
use loop_testkit::script::Script;
use serde_json::Value;

use crate::stage::{Place, Stage, again, review};

/// A loop whose agents can be started under an id of ours; `resume` is how they are reopened.
fn raise<'stage>(stage: &'stage Stage, resume: &str) -> Place<'stage> {
    let shop = stage.shop();
    let mut text = "agents:\n".to_owned();
    for name in ["CC", "Codex"] {
        let words: Vec<String> = serde_json::from_str(&shop.agent(name, &again([review("looked")]))).unwrap();
        let with = |words: &[&str], more: &[&str]| serde_json::to_string(&[words, more].concat()).unwrap();
        // `{text}` of the headless form is not wanted here.
        let words: Vec<&str> =
            words.iter().map(String::as_str).filter(|word| !word.contains("{text}")).collect();
        let words: Vec<&str> = words.into_iter().filter(|word| *word != "--headless").collect();
        let start_as = with(&words, &["--conversation", "{session}"]);
        let resume = if resume.is_empty() { start_as.clone() } else { resume.to_owned() };
        text.push_str(&format!(
            "  {name}: {{kind: scripted, start: {}, start_as: {start_as}, resume: {resume}}}\n",
            with(&words, &[])
        ));
    }
    text.push_str("rotation: [CC, Codex]\npass: other\nlimits: {rounds: 1}\n");
    shop.repo.commit("loop.yaml", text, "how the loop works here");
    shop.run(&["init", "the task"]);
    shop
}

/// The conversation of each agent, as `loop agents` says.
fn conversations(shop: &Place<'_>) -> Vec<String> {
    let agents: Value = serde_json::from_str(&shop.run(&["agents", "--json"])).unwrap();
    let list = agents["agents"].as_array().cloned().unwrap_or_default();
    list.iter().map(|agent| agent["conversation"].as_str().unwrap_or_default().to_owned()).collect()
}

/// What runs in the windows.
fn windows(stage: &Stage) -> String {
    stage.sandbox.tmux(&["list-panes", "-a", "-F", "#{@loop_agent} #{pane_pid}"]);
    let mut lines = String::new();
    for (pid, _) in stage.running() {
        let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        lines.push_str(&String::from_utf8_lossy(&command).replace('\0', " "));
        lines.push('\n');
    }
    lines
}

#[test]
fn a_reboot_reopens_them() {
    if !require_tool("tmux", "-V") {
        return;
    }
    let stage = Stage::new("");
    let shop = raise(&stage, "");
    shop.run(&["up", "--yes"]);
    let first = conversations(&shop);
    assert!(first.len() == 2 && first.iter().all(|id| id.len() == 36) && first[0] != first[1], "{first:?}");
    // The machine goes down, and with it everything that ran.
    stage.kill_router();
    stage.sandbox.tmux(&["kill-server"]);
    let up: Value = serde_json::from_str(&shop.run(&["up", "--yes", "--json"])).unwrap();
    let agents = up["agents"].as_array().unwrap();
    assert!(agents.iter().all(|agent| agent["resumed"] == true), "{up}");
    assert_eq!(conversations(&shop), first);
    let running = windows(&stage);
    assert!(first.iter().all(|id| running.contains(&format!("--conversation {id}"))), "{running}");

    // Nor does taking it down lose them.
    shop.run(&["down"]);
    shop.run(&["up", "--yes"]);
    assert_eq!(conversations(&shop), first);

    // A new loop begins new ones, unless it is to go on in the old ones.
    shop.run(&["archive", "--force"]);
    shop.run(&["init", "another task", "--here"]);
    shop.run(&["up", "--yes"]);
    let second = conversations(&shop);
    assert!(second.iter().all(|id| id.len() == 36 && !first.contains(id)), "{second:?}");
    shop.run(&["archive", "--force"]);
    shop.run(&["init", "a third task", "--here"]);
    shop.run(&["up", "--yes", "--keep-conversations"]);
    assert_eq!(conversations(&shop), second);
    shop.run(&["down"]);
    stage.nothing_runs();
}

#[test]
fn one_that_cannot_be_reopened_is_begun_anew() {
    if !require_tool("tmux", "-V") {
        return;
    }
    let stage = Stage::new("");
    let shop = raise(&stage, "[\"false\"]");
    shop.run(&["up", "--yes"]);
    let first = conversations(&shop);
    stage.sandbox.tmux(&["kill-server"]);
    let up = shop.try_loop(&["up", "--yes"]);
    assert_eq!(up.code, Some(0), "{up:?}");
    assert!(up.err.contains("CC's conversation") && up.err.contains("cannot be reopened"), "{up:?}");
    let second = conversations(&shop);
    assert!(second.iter().all(|id| id.len() == 36 && !first.contains(id)), "{second:?}");
    shop.run(&["down"]);
    stage.nothing_runs();
}

#[test]
fn a_window_opened_again_under_the_same_tags_is_found() {
    if !require_tool("tmux", "-V") {
        return;
    }
    let stage = Stage::new("");
    let shop = stage.shop();
    shop.cast(&[("CC", Script::of([review("a")])), ("Codex", again([review("b")]))], "limits: {rounds: 2}");
    shop.run(&["init", "the task"]);
    shop.run(&["up", "--yes"]);
    let id = stage.sandbox.tmux(&["show-options", "-p", "-v", "-t", "loop-shop:Codex", "@loop_id"]);
    let pane = "loop-shop:Codex";
    let command = stage.sandbox.tmux(&["display-message", "-p", "-t", pane, "#{pane_start_command}"]);
    assert!(!command.trim().is_empty());
    // A person opens it again by hand, in a window of another name.
    let script: Vec<String> = serde_json::from_str(&shop.agent("Codex", &again([review("b")]))).unwrap();
    let words: Vec<&str> =
        script.iter().map(String::as_str).filter(|word| !word.contains("{text}")).collect();
    let words: Vec<&str> = words.into_iter().filter(|word| *word != "--headless").collect();
    let folder = shop.repo.path().display().to_string();
    let mut new = vec![
        "new-window",
        "-d",
        "-P",
        "-F",
        "#{pane_id}",
        "-t",
        "loop-shop:",
        "-c",
        &folder,
        "-n",
        "mine",
        "--",
    ];
    new.extend(words);
    let made = stage.sandbox.tmux(&new);
    stage.sandbox.tmux(&["kill-window", "-t", pane]);
    for (option, value) in [("@loop_id", id.trim()), ("@loop_agent", "Codex")] {
        stage.sandbox.tmux(&["set-option", "-p", "-t", made.trim(), option, value]);
    }
    loop_testkit::eventually("Codex to be woken there", crate::stage::LONG, || match shop.wakes("Codex") {
        0 => Err(shop.story()),
        _ => Ok(()),
    });
    shop.run(&["stop"]);
    shop.run(&["down"]);
}
