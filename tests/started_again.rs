//! `loop up` where windows stand already, or conversations are known: what goes on, what is begun anew.

use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use loop_testkit::script::{Script, Step};
use loop_testkit::{eventually, require_tool};
use serde_json::Value;

use crate::stage::{LONG, LOOP, Place, Said, Stage, again, commit, pass, review, turn};

/// The words by which a scripted agent is started in a window.
fn words(shop: &Place<'_>, name: &str, script: &Script) -> Vec<String> {
    let words: Vec<String> = serde_json::from_str(&shop.agent(name, script)).unwrap();
    words.into_iter().filter(|word| word != "{text}" && word != "--headless").collect()
}

fn list(words: &[String], more: &[&str]) -> String {
    let words: Vec<&str> = words.iter().map(String::as_str).chain(more.iter().copied()).collect();
    serde_json::to_string(&words).unwrap()
}

/// A loop of one agent whose entry is what `entry` makes of its words.
fn raise<'stage>(stage: &'stage Stage, entry: impl Fn(&[String]) -> String) -> Place<'stage> {
    let shop = stage.shop();
    write(&shop, entry);
    shop.run(&["init", "the task"]);
    shop
}

fn write(shop: &Place<'_>, entry: impl Fn(&[String]) -> String) {
    let entry = entry(&words(shop, "CC", &again([review("looked")])));
    let text = format!("agents:\n  CC: {{{entry}}}\nrotation: [CC]\npass: any\nlimits: {{rounds: 1}}\n");
    shop.repo.commit("loop.yaml", text, "how the loop works here");
}

fn conversation(shop: &Place<'_>) -> String {
    let agents: Value = serde_json::from_str(&shop.run(&["agents", "--json"])).unwrap();
    agents["agents"][0]["conversation"].as_str().unwrap_or_default().to_owned()
}

/// What runs in the only window.
fn pid(stage: &Stage) -> String {
    stage.sandbox.tmux(&["list-panes", "-a", "-F", "#{pane_pid}"])
}

#[test]
fn an_agent_behind_a_shell_script_goes_on_when_loop_up_is_called_again() {
    if !require_tool("tmux", "-V") {
        return;
    }
    let stage = Stage::new("");
    let wrapper = stage.sandbox.write("wrapper", "#!/bin/sh\n\"$@\"\nexit $?\n");
    std::fs::set_permissions(&wrapper, PermissionsExt::from_mode(0o700)).unwrap();
    let shop = stage.shop();
    let gate = stage.sandbox.root().join("gate").display().to_string();
    let script = Script::of([turn([Step::WaitFor(gate), commit("first")]), pass()]);
    let mut all = vec![wrapper.display().to_string()];
    all.extend(words(&shop, "CC", &script));
    let text = format!(
        "agents:\n  CC: {{kind: scripted, command: {}}}\nrotation: [CC]\npass: any\n",
        list(&all, &[])
    );
    shop.repo.commit("loop.yaml", text, "how the loop works here");
    shop.run(&["init", "the task"]);
    shop.run(&["up", "--yes"]);
    eventually("CC at work", LONG, || if shop.wakes("CC") == 1 { Ok(()) } else { Err(shop.story()) });
    let before = pid(&stage);
    shop.run(&["up", "--yes"]);
    assert_eq!(pid(&stage), before, "it was at work, and is started anew");
    stage.sandbox.write("gate", "");
    shop.passes();
    assert_eq!(shop.wakes("CC"), 2, "{}", shop.story());
    shop.run(&["down"]);
    stage.nothing_runs();
}

#[test]
fn two_at_the_same_time_open_every_window_once() {
    if !require_tool("tmux", "-V") {
        return;
    }
    let stage = Stage::new("");
    let shop = stage.shop();
    let gate = stage.sandbox.root().join("gate").display().to_string();
    let waits = || Script::of([turn([Step::WaitFor(gate.clone()), commit("first")]), pass()]);
    shop.cast(&[("CC", waits()), ("Codex", waits())], "pass: any");
    shop.run(&["init", "the task"]);
    shop.run(&["trust", "--yes"]);
    let start = || {
        let mut command = shop.repo.command(LOOP);
        command.arg("up").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let both = [start(), start(), start()].map(|child| child.wait_with_output().unwrap());
    for output in &both {
        let said = Said::of(output);
        assert!(said.code == Some(0) && said.out.contains("loop-shop:CC  ready"), "{said:?}");
    }
    let windows = stage.sandbox.tmux(&["list-panes", "-a", "-F", "#{session_name}:#{@loop_agent}"]);
    assert_eq!(windows, "loop-shop:CC\nloop-shop:Codex");
    eventually("CC at work", LONG, || if shop.wakes("CC") == 1 { Ok(()) } else { Err(shop.story()) });

    // One who is no agent any more keeps the window, and that is said.
    let config = shop.repo.read("loop.yaml");
    let config: Vec<&str> = config.lines().filter(|line| !line.starts_with("  Codex:")).collect();
    let config = config.join("\n").replace("[CC, Codex]", "[CC]");
    shop.repo.commit("loop.yaml", config, "without Codex");
    let up = shop.try_loop(&["up", "--yes"]);
    let words = "Codex is no agent of loop.yaml any more; its window loop-shop:Codex (%";
    assert!(up.code == Some(0) && up.err.contains(words), "{up:?}");
    let down = shop.run(&["down"]);
    assert!(down.contains("2 windows closed"), "{down}");
    stage.nothing_runs();
}

#[test]
fn a_window_that_a_person_opened_stays_theirs() {
    if !require_tool("tmux", "-V") {
        return;
    }
    let stage = Stage::new("");
    let shop = stage.shop();
    shop.cast(&[("CC", again([review("looked")]))], "pass: any\nlimits: {rounds: 1}");
    shop.run(&["init", "the task"]);
    let folder = shop.repo.path().display().to_string();
    let start = words(&shop, "CC", &again([review("looked")]));
    let new = ["new-session", "-d", "-P", "-F", "#{pane_id}", "-s", "mine", "-c", &folder, "--"];
    let start: Vec<&str> = start.iter().map(String::as_str).collect();
    let pane = stage.sandbox.tmux(&[&new[..], &start].concat());
    shop.run(&["agents", "register", "CC", "--address", pane.trim()]);
    let up = shop.run(&["up", "--yes"]);
    assert!(!up.contains("NOT READY"), "{up}");
    eventually(
        "CC to be woken there",
        LONG,
        || if shop.wakes("CC") > 0 { Ok(()) } else { Err(shop.story()) },
    );
    let down = shop.run(&["down"]);
    assert!(down.contains("0 windows closed"), "{down}");
    assert_eq!(stage.sandbox.tmux(&["list-panes", "-a", "-F", "#{pane_id}"]), pane);
    stage.sandbox.tmux(&["kill-server"]);
    stage.nothing_runs();
}

#[test]
fn an_agent_of_another_kind_takes_the_place_of_the_one_in_its_window() {
    if !require_tool("tmux", "-V") {
        return;
    }
    let stage = Stage::new("profiles:\n  other: {kind: other, like: scripted}");
    let entry = |kind: &str| {
        let kind = kind.to_owned();
        move |words: &[String]| {
            let with = list(words, &["--conversation", "{session}"]);
            format!("kind: {kind}, start: {with}, start_as: {with}, resume: {with}")
        }
    };
    let shop = raise(&stage, entry("scripted"));
    shop.run(&["up", "--yes"]);
    let (before, first) = (pid(&stage), conversation(&shop));
    shop.run(&["up", "--yes"]);
    assert_eq!((pid(&stage), conversation(&shop)), (before.clone(), first.clone()), "nothing was changed");

    write(&shop, entry("other"));
    let up = shop.try_loop(&["up", "--yes"]);
    assert_eq!(up.code, Some(0), "{up:?}");
    assert!(up.err.contains("CC's window ran `") && up.err.contains("(scripted)"), "{up:?}");
    assert!(up.err.contains("started anew as other"), "{up:?}");
    assert_ne!(pid(&stage), before);
    let second = conversation(&shop);
    assert!(second.len() == 36 && second != first, "another CLI's conversation is none of its: {second}");

    // Also where its window is gone meanwhile.
    shop.run(&["down"]);
    write(&shop, entry("scripted"));
    let up = shop.try_loop(&["up", "--yes"]);
    assert_eq!((up.code, up.err.contains("cannot be reopened")), (Some(0), false), "{up:?}");
    let third = conversation(&shop);
    assert!(third.len() == 36 && third != first && third != second, "{third}");
    shop.run(&["down"]);
    stage.nothing_runs();
}

#[test]
fn a_conversation_that_hangs_when_it_is_reopened_is_told_with_the_way_to_a_new_one() {
    if !require_tool("tmux", "-V") {
        return;
    }
    let stage = Stage::new("timings: {look: 0.2, quiet: 1.5, sweep: 2, ready: 2}");
    let shop = raise(&stage, |words| {
        let start_as = list(words, &["--conversation", "{session}"]);
        let hangs = "[sh, -c, 'echo loading {session}; sleep 600']";
        format!("kind: scripted, start: {start_as}, start_as: {start_as}, resume: {hangs}")
    });
    shop.run(&["up", "--yes"]);
    let first = conversation(&shop);
    shop.run(&["pause"]);
    stage.kill_router();
    stage.sandbox.tmux(&["kill-server"]);
    for again in [false, true] {
        let up = shop.try_loop(&["up", "--yes"]);
        assert_eq!(up.code, Some(1), "{up:?}");
        for words in [
            "NOT READY",
            &format!("loading {first}"),
            "`loop agents forget CC`, then `loop up`, begins a new one",
        ] {
            assert!(up.out.contains(words), "{words} ({again}): {up:?}");
        }
    }
    shop.run(&["agents", "forget", "CC"]);
    let up = shop.run(&["up", "--yes"]);
    assert!(up.contains("ready"), "{up}");
    let second = conversation(&shop);
    assert!(second.len() == 36 && second != first, "{second}");
    shop.run(&["down"]);
    // The one that hung is the user's now.
    stage.sandbox.tmux(&["kill-server"]);
    stage.nothing_runs();
}
