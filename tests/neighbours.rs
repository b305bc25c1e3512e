//! Several loops on one router: repositories of the same folder name, worktrees of one repository.

use loop_testkit::require_tool;
use loop_testkit::script::Script;

use crate::stage::{Place, Stage, pass, review, work};

fn cast(place: &Place<'_>, rest: &str) {
    place.cast(
        &[
            ("CC", Script::of([work("first"), work("second")])),
            ("Codex", Script::of([review("a finding"), pass()])),
        ],
        rest,
    );
}

#[track_caller]
fn played_well(place: &Place<'_>) {
    place.passes();
    assert_eq!(place.authors(), ["CC", "Codex", "CC", "Codex"]);
    assert_eq!((place.wakes("CC"), place.wakes("Codex")), (2, 2), "{}", place.story());
}

#[test]
fn two_repositories_of_the_same_folder_name() {
    if !require_tool("tmux", "-V") {
        return;
    }
    let stage = Stage::new("");
    let one = stage.place(stage.sandbox.repo("one/shop"), "one");
    let two = stage.place(stage.sandbox.repo("two/shop"), "two");
    for place in [&one, &two] {
        cast(place, "pass: other");
        place.run(&["init", "the same task"]);
        place.run(&["up", "--yes"]);
    }
    let sessions = stage.sandbox.tmux(&["list-sessions", "-F", "#{session_name}"]);
    let sessions: Vec<&str> = sessions.lines().collect();
    assert_eq!(sessions.len(), 2, "{sessions:?}");
    assert!(sessions.contains(&"loop-shop") && sessions.iter().all(|name| name.starts_with("loop-shop")));
    played_well(&one);
    played_well(&two);
    let first = one.run(&["down"]);
    assert!(first.contains("the router stays for another loop"), "{first}");
    assert!(stage.router().is_some());
    let second = two.run(&["down"]);
    assert!(second.contains("the router has stopped"), "{second}");
    stage.nothing_runs();
}

#[test]
fn two_worktrees_of_one_repository() {
    let stage = Stage::new("");
    let here = stage.shop();
    cast(&here, "pass: other");
    let said = here.run(&["init", "the second task", "--worktree", "--json"]);
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    let worktree = std::path::PathBuf::from(said["worktree"].as_str().unwrap());
    here.run(&["init", "the first task"]);
    // The agents of the worktree read scripts and write logs of their own.
    let there = stage.place(here.repo.at(&worktree), "there");
    cast(&there, "pass: other");
    for place in [&here, &there] {
        place.run(&["up", "--yes", "--headless"]);
    }
    played_well(&here);
    played_well(&there);
    assert_ne!(here.repo.tip(), there.repo.tip());
    there.run(&["archive"]);
    here.run(&["archive"]);
    here.run(&["down", "--all"]);
    stage.nothing_runs();
}
