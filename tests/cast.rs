//! The cast while a loop goes on, and the doctor's word on all of it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use loop_testkit::{eventually, require_tool};
use serde_json::Value;

use crate::stage::{LONG, LOOP, Place, Said, Stage, again, review, work};

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn an_agent_that_is_added_gets_its_turn_and_nobody_is_held() {
    let stage = Stage::new("");
    let place = stage.shop();
    place.cast(&[("CC", again([work("more")])), ("Codex", again([review("seen")]))], "# mine\n");
    place.run(&["init", "Add a greeting"]);
    let said = place.run(&["agents", "add", "Qwen", "--after", "CC"]);
    assert!(said.contains("[CC, Qwen, Codex]") && said.contains("not approved yet"), "{said}");
    assert!(place.repo.read("loop.yaml").ends_with("# mine\n\n"));
    assert!(place.run(&["agents", "remove", "qwen"]).contains("[CC, Codex]"));
    place.run(&["up", "--yes", "--headless"]);
    place.run(&["pause"]);
    let said = place.run(&["agents", "add", "Qwen"]);
    assert!(said.contains("[CC, Codex, Qwen]") && said.contains("It holds from turn"), "{said}");
    assert!(!said.contains("not approved"), "{said}");
    assert_eq!(place.repo.git(&["log", "-1", "--format=%s"]), "loop: add Qwen");
    assert_eq!(place.repo.git(&["show", "--name-only", "--format="]), "loop.yaml");
    let log = place.run(&["log"]);
    assert!(!log.contains("loop.yaml was changed"), "{log}");
    let listed = json(&place.run(&["agents", "--json"]));
    let names: Vec<&str> =
        listed["agents"].as_array().unwrap().iter().filter_map(|agent| agent["name"].as_str()).collect();
    assert_eq!(names, ["CC", "Codex", "Qwen"]);
    assert_eq!(listed["agents"][0]["transport"], "exec");
    place.run(&["down"]);
}

#[test]
fn a_change_that_nobody_saw_is_not_approved_by_the_way() {
    let stage = Stage::new("");
    let place = stage.shop();
    place.run(&["init", "Add a greeting", "--agent", "CC=scripted", "--agent", "Codex=scripted"]);
    let before = place.repo.read("loop.yaml");
    let refused = |place: &Place<'_>, words: &str| {
        let said = place.try_loop(&["agents", "add", "Qwen"]);
        assert_eq!(said.code, Some(1), "{said:?}");
        assert!(said.err.contains(words), "{said:?}");
    };
    place.repo.write("loop.yaml", format!("{before}verify: rm -rf x\n"));
    refused(&place, "not committed");
    place.repo.git(&["commit", "--quiet", "-am", "sneaky"]);
    refused(&place, "since a person approved it");
    place.run(&["trust", "--yes"]);
    place.run(&["agents", "add", "Qwen"]);
    for (arguments, words) in [
        (&["agents", "add", "qwen=codex"][..], "already"),
        (&["agents", "add", "Gemini", "--after", "Nobody"], "not in the rotation"),
        (&["agents", "remove", "Nobody"], "no agent"),
        (&["agents", "profiles", "nonsense"], "no kind"),
    ] {
        let said = place.try_loop(arguments);
        assert_eq!(said.code, Some(1), "{arguments:?}: {said:?}");
        assert!(said.err.contains(words), "{arguments:?}: {said:?}");
    }
    place.run(&["turn", "CC"]);
    place.run(&["commit", "CC", "-m", "looked"]);
    let said = place.try_loop(&["agents", "remove", "CC"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.err.contains("loop skip CC"), "{said:?}");
}

#[test]
fn a_window_that_was_opened_by_hand_can_be_registered() {
    if !require_tool("tmux", "-V") {
        return;
    }
    let stage = Stage::new("");
    let place = stage.shop();
    place.run(&["init", "Add a greeting", "--agent", "CC=scripted", "--agent", "Codex=scripted"]);
    let tmux = |arguments: &[&str]| stage.sandbox.tmux(arguments);
    tmux(&["-f", "/dev/null", "new-session", "-d", "-s", "mine", "sh"]);
    tmux(&["new-window", "-d", "-t", "mine", "exec cat"]);
    let command = || tmux(&["list-panes", "-t", "%1", "-F", "#{pane_current_command}"]);
    eventually("the program in the window", LONG, || match command() {
        name if name == "cat" => Ok(()),
        other => Err(other),
    });
    let register = |name: &str, address: &str| -> Said {
        place.try_loop(&["agents", "register", name, "--address", address])
    };
    for (said, words) in [
        (register("CC", "%0"), "shows a shell"),
        (register("CC", "%7"), "no tmux pane %7"),
        (register("CC", "mine:1"), "no tmux pane id"),
        (register("Nobody", "%1"), "no agent Nobody"),
        (place.try_loop(&["agents", "register", "CC"]), "%1"),
    ] {
        assert_ne!(said.code, Some(0), "{said:?}");
        assert!(said.err.contains(words), "{said:?}");
    }
    assert_eq!(register("cc", "%1").code, Some(0));
    let taken = register("Codex", "%1");
    assert!(taken.err.contains("CC's window in this loop"), "{taken:?}");
    let listed = json(&place.run(&["agents", "--json"]));
    assert_eq!(listed["agents"][0]["started_by_loop"], false);
    assert!(listed["agents"][0]["place"].as_str().unwrap().contains("(%1)"), "{listed}");
    assert!(place.run(&["agents", "forget", "CC"]).contains("stays open"));
    assert_eq!(place.try_loop(&["agents", "forget", "CC"]).code, Some(3));
    assert_eq!(command(), "cat");
    assert_eq!(register("Codex", "%1").code, Some(0), "a pane that was let go of can be taken");
}

/// `loop doctor` with `loop` on the agents' PATH.
fn doctor(place: &Place<'_>) -> (Option<i32>, Value) {
    let folder = Path::new(LOOP).parent().unwrap().display();
    let path = format!("{folder}:{}", std::env::var("PATH").unwrap());
    let output =
        place.repo.command(LOOP).args(["doctor", "--json"]).env("PATH", path).output().expect("loop runs");
    (output.status.code(), json(&String::from_utf8_lossy(&output.stdout)))
}

#[track_caller]
fn state<'report>(report: &'report Value, check: &str) -> &'report str {
    let checks = report["checks"].as_array().unwrap();
    let found = checks.iter().find(|known| known["check"] == check);
    found.unwrap_or_else(|| panic!("no check {check}: {report:#}"))["state"].as_str().unwrap()
}

#[test]
fn the_doctor_finds_what_is_broken_and_leaves_nothing() {
    let stage = Stage::new("");
    let place = stage.shop();
    place.cast(&[("CC", again([work("more")])), ("Codex", again([review("seen")]))], "");
    place.run(&["init", "Add a greeting"]);
    place.run(&["trust", "--yes"]);
    let git = |arguments: &[&str]| place.repo.git(arguments);
    let refs = git(&["for-each-ref"]);
    let (code, report) = doctor(&place);
    assert_eq!(code, Some(0), "{report:#}");
    for check in [
        "git",
        "key",
        "store",
        "repository",
        "loop",
        "hook",
        "loop.yaml",
        "CC program",
        "CC tools",
        "CC skill",
        "CC commits",
        "Codex commits",
    ] {
        assert_eq!(state(&report, check), "ok", "{check}: {report:#}");
    }
    assert_eq!((state(&report, "router"), state(&report, "CC session")), ("unproven", "unproven"));
    assert_eq!(git(&["for-each-ref"]), refs);
    assert_eq!(git(&["status", "--porcelain"]), "");
    assert_eq!(git(&["worktree", "list"]).lines().count(), 1);

    git(&["config", "commit.gpgSign", "true"]);
    git(&["config", "gpg.program", "/no/such/gpg"]);
    let hook = place.repo.path().join(".git/hooks/post-commit");
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o644)).unwrap();
    fs::remove_file(place.repo.path().join(".agents/skills/agent-loop/SKILL.md")).unwrap();
    let (code, report) = doctor(&place);
    assert_eq!(code, Some(1), "{report:#}");
    for check in ["hook", "CC skill", "CC commits", "Codex commits"] {
        assert_eq!(state(&report, check), "not-ok", "{check}: {report:#}");
    }
    place.run(&["agents", "add", "CC"]);
    place.run(&["hooks", "install"]);
    git(&["config", "commit.gpgSign", "false"]);
    assert_eq!(doctor(&place).0, Some(0));

    let skill = place.repo.path().join(".agents/skills/agent-loop/SKILL.md");
    let words = fs::read(&skill).unwrap();
    fs::remove_file(&skill).unwrap();
    let up = place.run(&["up", "--headless"]);
    let missing = ".agents/skills/agent-loop/SKILL.md is missing: `loop agents add CC` writes it anew";
    assert!(up.contains(missing), "{up}");
    fs::write(&skill, words).unwrap();
    let (_, report) = doctor(&place);
    assert_eq!(state(&report, "router"), "ok", "{report:#}");
    place.run(&["down"]);

    let key = stage.state().join("key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    let (code, report) = doctor(&place);
    assert_eq!((code, state(&report, "key")), (Some(1), "not-ok"));
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();

    // A log that whoever ended last left behind would mend it.
    for log in ["loop.db-wal", "loop.db-shm"] {
        let _ = fs::remove_file(stage.state().join(log));
    }
    fs::write(stage.state().join("loop.db"), "no database at all ".repeat(100)).unwrap();
    let (code, report) = doctor(&place);
    assert_eq!((code, state(&report, "store")), (Some(5), "not-ok"), "{report:#}");
}

#[test]
fn the_doctor_looks_at_what_it_can_outside_a_repository() {
    let stage = Stage::new("");
    let output = stage.sandbox.loop_cmd(Path::new(LOOP)).args(["doctor", "--json"]).output().unwrap();
    let report = json(&String::from_utf8_lossy(&output.stdout));
    assert_eq!(output.status.code(), Some(0), "{report:#}");
    assert_eq!((state(&report, "git"), state(&report, "repository")), ("ok", "unproven"));
}

#[test]
fn before_a_loop_the_doctor_says_which_agents_are_here() {
    let stage = Stage::new("");
    let repo = stage.sandbox.repo("shop");
    let path = std::env::var("PATH").unwrap_or_default();
    let look = |path: &str| {
        let output = repo.command(LOOP).args(["doctor", "--json"]).env("PATH", path).output().unwrap();
        json(&String::from_utf8_lossy(&output.stdout))
    };
    stage.sandbox.write("agents/codex", "#!/bin/sh\n");
    let agents = stage.sandbox.root().join("agents");
    fs::set_permissions(agents.join("codex"), fs::Permissions::from_mode(0o755)).unwrap();
    let report = look(&format!("{}:{path}", agents.display()));
    assert_eq!(state(&report, "agents"), "ok", "{report:#}");
    assert!(report.to_string().contains("codex (codex)"), "{report:#}");
}
