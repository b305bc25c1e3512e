//! Every byte that was written outside git's objects is given back.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use loop_testkit::TestRepo;

use crate::stage::{Place, Stage, again, work};

/// What git itself writes whenever somebody commits or switches.
const OF_GIT: [&str; 8] =
    ["objects", "refs", "logs", "HEAD", "ORIG_HEAD", "index", "COMMIT_EDITMSG", "worktrees"];

/// Mode and content of every file and folder, git's own commits aside.
fn snapshot(root: &Path) -> BTreeMap<String, (u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if folder == root.join(".git") && OF_GIT.iter().any(|name| path.ends_with(name)) {
                continue;
            }
            let meta = fs::symlink_metadata(&path).unwrap();
            let bytes = if meta.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
            found.insert(path.strip_prefix(root).unwrap().display().to_string(), (meta.mode(), bytes));
            if meta.is_dir() {
                folders.push(path);
            }
        }
    }
    found
}

/// Fails with the paths that differ.
#[track_caller]
fn assert_same(root: &Path, before: &BTreeMap<String, (u32, Vec<u8>)>, what: &str) {
    let now = snapshot(root);
    let paths = before.keys().chain(now.keys());
    let differ: std::collections::BTreeSet<_> =
        paths.filter(|path| before.get(*path) != now.get(*path)).collect();
    assert!(differ.is_empty(), "{what}: {differ:?}");
}

/// Repositories as they are before a loop.
fn set_up(repo: &TestRepo, case: &str) {
    let git = repo.path().join(".git");
    match case {
        "a hook and an exclude list without a final newline" => {
            let hook = git.join("hooks/post-commit");
            fs::create_dir_all(git.join("hooks")).unwrap();
            fs::write(&hook, "#!/bin/sh\necho mine\nexit 0").unwrap();
            fs::set_permissions(&hook, fs::Permissions::from_mode(0o750)).unwrap();
            fs::create_dir_all(git.join("info")).unwrap();
            fs::write(git.join("info/exclude"), "*.log").unwrap();
        }
        "no info folder" => fs::remove_dir_all(git.join("info")).unwrap_or_default(),
        "an empty exclude list that is mine alone" => {
            fs::create_dir_all(git.join("info")).unwrap();
            fs::write(git.join("info/exclude"), "").unwrap();
            fs::set_permissions(git.join("info/exclude"), fs::Permissions::from_mode(0o600)).unwrap();
        }
        "a python hook, and files where the skill is to be" => {
            let hook = git.join("hooks/post-commit");
            fs::create_dir_all(git.join("hooks")).unwrap();
            fs::write(&hook, "#!/usr/bin/env python3\nprint('mine')\n").unwrap();
            fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
            repo.write(".agents/skills/agent-loop/SKILL.md", "my own\n");
            repo.write(".claude/settings.json", "{}\n");
        }
        _ => {}
    }
}

fn play(place: &Place<'_>) {
    place.run(&["init", "Add a greeting", "--agent", "CC=claude-code", "--agent", "Codex"]);
    place.run(&["turn", "CC"]);
    place.repo.write("hello.txt", "hello\n");
    place.run(&["commit", "CC", "-m", "hello", "--", "hello.txt"]);
}

#[test]
fn a_repository_is_as_before_to_the_byte() {
    for case in [
        "plain",
        "a hook and an exclude list without a final newline",
        "no info folder",
        "an empty exclude list that is mine alone",
        "a python hook, and files where the skill is to be",
    ] {
        let stage = Stage::new("");
        let place = stage.shop();
        set_up(&place.repo, case);
        let before = snapshot(place.repo.path());
        play(&place);
        assert!(snapshot(place.repo.path()) != before, "{case}");
        let with_loop = snapshot(place.repo.path());
        let dry = place.run(&["uninstall", "--dry-run"]);
        assert!(dry.contains("Nothing was done"), "{case}: {dry}");
        assert_same(place.repo.path(), &with_loop, case);
        let said = place.run(&["uninstall"]);
        assert!(said.contains("STATUS.md: it is committed on loop/"), "{case}: {said}");
        place.repo.git(&["switch", "--quiet", "main"]);
        assert_same(place.repo.path(), &before, &format!("{case}: {said}"));
        let again = place.run(&["uninstall"]);
        assert!(again.starts_with("nothing of loop's is left"), "{case}: {again}");
    }
}

#[test]
fn what_was_changed_since_stays_and_is_named() {
    let stage = Stage::new("");
    let place = stage.shop();
    play(&place);
    place.repo.write(".claude/skills/agent-loop/SKILL.md", "edited by hand\n");
    let hook = place.repo.path().join(".git/hooks/post-commit");
    let mut text = fs::read_to_string(&hook).unwrap();
    text.push_str("echo mine\n");
    fs::write(&hook, text).unwrap();
    let said = place.run(&["uninstall"]);
    assert!(said.contains(".claude/skills/agent-loop/SKILL.md: it was changed since"), "{said}");
    assert_eq!(place.repo.read(".claude/skills/agent-loop/SKILL.md"), "edited by hand\n");
    let left = fs::read_to_string(&hook).unwrap();
    assert!(left.contains("echo mine") && !left.contains("notify"), "{left}");
    assert!(!place.repo.path().join(".agents").exists());
}

#[test]
fn linked_worktrees_are_cleaned_too() {
    let stage = Stage::new("");
    let place = stage.shop();
    let before = snapshot(place.repo.path());
    place.run(&["init", "Add a greeting", "--agent", "CC=claude-code", "--agent", "Codex", "--worktree"]);
    let linked = place.repo.path().with_file_name("shop-add-a-greeting");
    assert!(linked.join(".claude/skills/agent-loop/SKILL.md").exists());
    let said = place.run(&["uninstall"]);
    assert!(said.contains("git worktree remove"), "{said}");
    assert_same(place.repo.path(), &before, &said);
    assert!(linked.join("STATUS.md").exists() && !linked.join(".claude").exists());
    assert!(!place.repo.path().join(".git/worktrees/shop-add-a-greeting/loop").exists());
}

#[test]
fn a_loop_that_is_up_must_be_down_first_and_then_all_of_it_goes() {
    let stage = Stage::new("");
    let place = stage.shop();
    place.cast(&[("CC", again([work("more")])), ("Codex", again([work("more")]))], "");
    place.run(&["init", "Add a greeting"]);
    place.run(&["up", "--yes", "--headless"]);
    place.until("running", "");
    for arguments in [&["uninstall"][..], &["uninstall", "--all"]] {
        let said = place.try_loop(arguments);
        assert_eq!(said.code, Some(1), "{said:?}");
        assert!(said.err.contains("loop down"), "{said:?}");
    }
    place.run(&["down"]);
    let said = place.run(&["uninstall", "--all"]);
    assert!(said.contains("config.yaml"), "{said}");
    assert!(!stage.state().exists());
    assert!(stage.sandbox.home().join(".config/agent-loop/config.yaml").exists());
    assert!(!place.repo.path().join(".git/loop").exists());
    assert_eq!(place.run(&["uninstall", "--all"]), "nothing of loop's is left.\n");
    stage.nothing_runs();
}

#[test]
fn the_notifier_alone_comes_and_goes() {
    let stage = Stage::new("");
    let place = stage.shop();
    let before = snapshot(place.repo.path());
    let without = place.try_loop(&["hooks", "status"]);
    assert_eq!(without.code, Some(1), "{without:?}");
    assert!(without.out.starts_with("does not work: "), "{without:?}");
    assert!(place.run(&["hooks", "install"]).starts_with("installed: "));
    assert!(place.run(&["hooks", "install"]).starts_with("nothing to do: "));
    assert!(place.run(&["hooks", "status"]).starts_with("works: "));
    let json: serde_json::Value = serde_json::from_str(&place.run(&["hooks", "status", "--json"])).unwrap();
    assert_eq!(json["works"], true);
    place.run(&["hooks", "uninstall"]);
    assert_same(place.repo.path(), &before, "uninstalled");
    assert!(place.run(&["hooks", "uninstall"]).starts_with("nothing to do: "));
}
