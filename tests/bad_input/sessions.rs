//! Windows that are not there, or show something else.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use loop_testkit::script::{Script, Step, submitted};
use loop_testkit::{TestRepo, require_tool};

use super::bench::{Bench, LOOP, normal};

/// A loop of one agent in a window; the log of what was really submitted to it.
fn window(bench: &Bench) -> (TestRepo, PathBuf) {
    let agent = PathBuf::from(LOOP).with_file_name("loop-fake-agent");
    assert!(agent.exists(), "{} is not built: cargo build -p loop-testkit", agent.display());
    let script = bench.sandbox.write("cc.json", Script::of([vec![Step::Say("hello".into())]]).to_json());
    let log = bench.sandbox.root().join("cc.log");
    let words = [
        agent.display().to_string(),
        "--name".into(),
        "CC".into(),
        "--script".into(),
        script.display().to_string(),
        "--log".into(),
        log.display().to_string(),
        "--loop-bin".into(),
        LOOP.into(),
    ];
    let command = serde_json::to_string(&words).unwrap();
    let config = format!(
        "agents:\n  CC: {{kind: scripted, command: {command}}}\nrotation: [CC]\npeople: [Dana]\npass: any\n"
    );
    (bench.opened("shop", &config), log)
}

#[test]
fn tmux_missing() {
    let bench = Bench::new();
    let (repo, _) = window(&bench);
    // A PATH with git and a shell only.
    let tools = bench.sandbox.root().join("tools");
    fs::create_dir(&tools).unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    for tool in ["git", "sh"] {
        let found = path.split(':').map(|folder| PathBuf::from(folder).join(tool)).find(|file| file.exists());
        symlink(found.expect("the tool"), tools.join(tool)).unwrap();
    }
    let run = |arguments: &[&str]| {
        let output = bench.command(repo.path(), arguments).env("PATH", &tools).output().unwrap();
        super::bench::Said::of(&output)
    };
    run(&["attach"]).check(1, &["this loop has no windows"]);
    let said = run(&["up", "--yes"]);
    said.check(0, &["up: the router is at", "headless"]);
    run(&["attach"]).check(1, &["this loop has no windows", "next: `loop up` opens them"]);
    run(&["down"]).check(0, &["the router has stopped"]);
}

#[test]
fn the_server_gone_or_the_pane_closed_or_showing_a_shell() {
    if !require_tool("tmux", "-V") {
        return;
    }
    let bench = Bench::new();
    let (repo, log) = window(&bench);
    bench.run(repo.path(), &["up", "--yes"]).check(0, &["tmux"]);
    loop_testkit::eventually("the first wake", super::bench::LONG, || match submitted(&log).len() {
        1 => Ok(()),
        n => Err(format!("{n} wakes")),
    });
    bench.run(repo.path(), &["pause"]).check(0, &[]);
    bench.run(repo.path(), &["commit", "CC", "-m", "first"]).check(0, &[]);

    // A shell in its place: nothing is typed into it.
    let pane = bench.sandbox.tmux(&["list-panes", "-a", "-F", "#{pane_id}"]);
    bench.sandbox.tmux(&["respawn-pane", "-k", "-t", &pane, "/bin/sh"]);
    bench.run(repo.path(), &["resume"]).check(0, &[]);
    let status = bench.until(&repo, "running", "shell");
    assert!(status["you"].as_str().is_some_and(|you| you.contains("CC")), "a person is told: {status}");
    let screen = bench.sandbox.tmux(&["capture-pane", "-p", "-t", &pane]);
    assert!(!screen.contains("agent-loop"), "something was typed into the shell: {screen}");
    let said = bench.run(repo.path(), &["status"]);
    let first = said.text().lines().next().unwrap_or_default().to_owned();
    insta::assert_snapshot!(first, @r"
    You: CC's window shows a shell (sh); `loop up` starts the agent again
    ");

    // The pane closed, and with it the server: its only window.
    bench.sandbox.tmux(&["kill-pane", "-t", &pane]);
    let status = bench.until(&repo, "running", "has no window");
    assert!(status["you"].as_str().is_some_and(|you| you.contains("CC")), "a person is told: {status}");
    let said = bench.run(repo.path(), &["attach"]);
    said.check(1, &["the windows are gone", "next: `loop up` opens them again"]);
    insta::assert_snapshot!(normal(&bench, &said), @r"
    error: the windows are gone
    next: `loop up` opens them again
    ");

    // And it comes back.
    bench.run(repo.path(), &["up"]).check(0, &["tmux"]);
    loop_testkit::eventually("the second wake", super::bench::LONG, || match submitted(&log).len() {
        2 => Ok(()),
        n => Err(format!("{n} wakes; {}", bench.status(&repo))),
    });
    bench.run(repo.path(), &["down"]).check(0, &["1 window"]);
}
