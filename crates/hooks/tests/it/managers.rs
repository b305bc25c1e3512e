//! Folders of hooks elsewhere, and programs that manage them.

use std::fs;

use loop_hooks::{InstallOptions, Outcome};

use crate::world::{Bytes, World, put};

fn is_by_hand(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::ByHand { .. })
}

#[test]
fn hooks_path_of_every_form() {
    for (scope, value, folder) in [
        ("--local", "HOME/hooks", "HOME/hooks"),
        ("--global", "~/my hooks", "HOME/my hooks"),
        ("--local", "../beside/a/b", "HOME/../beside/a/b"),
        ("--local", ".githooks", "HOME/../repo/.githooks"),
    ] {
        let world = World::new();
        let home = world.home.to_str().unwrap();
        world.git(&["config", scope, "core.hooksPath", &value.replace("HOME", home)]);
        let before = world.bytes();
        let installed = world.install();
        assert_eq!(installed.outcome, Outcome::Installed, "{value}");
        let folder = fs::canonicalize(folder.replace("HOME", home)).unwrap();
        assert_eq!(installed.folder, folder);
        assert_eq!(world.git(&["status", "--porcelain"]), "", "{value}");
        assert!(world.works_in(&world.repo), "{value}");
        world.uninstall();
        assert_eq!(world.bytes(), before, "{value}");
        world.install();
        world.check_rings(&world.repo, 1);
        let said = installed.notes.iter().any(|note| note.contains("more than this repository"));
        assert_eq!(said, scope == "--global", "{:?}", installed.notes);
    }
}

#[test]
fn a_global_hook_that_is_there_goes_on_for_every_repository() {
    let world = World::new();
    world.git(&["config", "--global", "core.hooksPath", "~/hooks"]);
    put(&world.home.join("hooks/post-commit"), "#!/bin/sh\necho mine >&2\n", 0o755);
    assert_eq!(world.install().outcome, Outcome::Installed);
    assert!(world.check_rings(&world.repo, 1).contains("mine"));
    assert_eq!(world.git(&["config", "--get-all", "core.hooksPath"]), "~/hooks");
}

#[test]
fn hooks_that_are_switched_off_stay_off() {
    let world = World::new();
    world.git(&["config", "core.hooksPath", "/dev/null"]);
    let before = world.bytes();
    assert!(matches!(world.install().outcome, Outcome::Off { .. }));
    assert!(matches!(world.proof_in(&world.repo), loop_hooks::Proof::NotRun { .. }));
    world.uninstall();
    assert_eq!(world.bytes(), before);
}

#[test]
fn linked_worktrees_share_the_hook_or_have_their_own() {
    let world = World::new();
    let linked = world.home.join("linked");
    world.git(&["worktree", "add", "-q", linked.to_str().unwrap()]);
    world.install_in(&linked);
    for worktree in [&world.repo, &linked] {
        world.check_rings(worktree, 1);
        assert!(world.works_in(worktree));
    }
    world.uninstall();

    world.git(&["config", "core.hooksPath", ".githooks"]);
    let installed = world.install();
    assert!(installed.notes.iter().any(|note| note.contains("does not run here")), "{:?}", installed.notes);
    world.check_rings(&linked, 0);
    let proof = world.proof_in(&linked);
    assert!(matches!(proof, loop_hooks::Proof::NotRun { .. }), "{proof:?}");
    assert!(world.works_in(&world.repo));
    world.install_in(&linked);
    world.check_rings(&linked, 1);
    assert!(world.works_in(&linked));
    assert_eq!(String::from_utf8_lossy(&world.git_in(&linked, &["status", "--porcelain"]).stdout), "");
}

#[test]
fn a_worktree_of_a_bare_repository_and_a_submodule() {
    let world = World::new();
    world.git(&["clone", "-q", "--bare", ".", "../bare.git"]);
    let bare = world.repo.parent().unwrap().join("bare.git");
    let linked = world.home.join("linked");
    assert!(
        world.git_in(&bare, &["worktree", "add", "-q", linked.to_str().unwrap(), "main"]).status.success()
    );
    world.install_in(&linked);
    world.check_rings(&linked, 1);
    assert!(world.works_in(&linked));

    world.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        bare.to_str().unwrap(),
        "sub",
    ]);
    let sub = world.repo.join("sub");
    world.install_in(&sub);
    world.check_rings(&sub, 1);
    assert!(world.works_in(&sub));
    world.check_rings(&world.repo, 0);
}

#[test]
fn a_tracked_folder_of_hooks_is_edited_only_when_asked() {
    let world = World::new();
    world.git(&["config", "core.hooksPath", ".githooks"]);
    world.script(".githooks/pre-commit", "#!/bin/sh\n");
    let text = "#!/bin/sh\necho mine >&2\n";
    for hook in [None, Some(text)] {
        if let Some(text) = hook {
            world.script(".githooks/post-commit", text);
        }
        world.git(&["add", "."]);
        world.git(&["commit", "-q", "-m", "hooks"]);
        let before = world.bytes();
        let Outcome::ByHand { file, lines, .. } = world.install().outcome else { panic!("{hook:?}") };
        assert_eq!(file, world.repo.join(".githooks/post-commit"));
        assert!(lines.contains("loop notify || :"));
        assert_eq!(world.bytes(), before);
    }
    let asked = InstallOptions { force_tracked: true };
    assert_eq!(loop_hooks::install(&world.repo, &world.env, asked).unwrap().outcome, Outcome::Installed);
    assert!(world.check_rings(&world.repo, 1).contains("mine"));
    world.uninstall();
    assert_eq!(fs::read_to_string(world.repo.join(".githooks/post-commit")).unwrap(), text);
    // The line that the report asks for is found again, and not put in twice.
    world.script(
        ".githooks/post-commit",
        "#!/bin/sh\nif command -v loop >/dev/null; then loop notify || :; fi\n",
    );
    assert_eq!(world.install().outcome, Outcome::AlreadyThere);
}

/// What husky 9 puts into `.husky/_`, in our words: each hook runs the script of its name one folder up, with `sh -e`.
fn husky_9(world: &World) {
    world.git(&["config", "core.hooksPath", ".husky/_"]);
    put(&world.repo.join(".husky/_/.gitignore"), "*", 0o644);
    let dispatch = "#!/usr/bin/env sh\nname=$(basename \"$0\")\nscript=$(dirname \"$(dirname \"$0\")\")/$name\n[ -f \"$script\" ] || exit 0\nsh -e \"$script\" \"$@\"\n";
    put(&world.repo.join(".husky/_/h"), dispatch, 0o644);
    put(&world.repo.join(".husky/_/post-commit"), "#!/usr/bin/env sh\n. \"$(dirname \"$0\")/h\"", 0o755);
}

#[test]
fn husky_9_runs_a_script_of_ours_that_git_does_not_show() {
    let world = World::new();
    husky_9(&world);
    let before = world.bytes();
    let installed = world.install();
    assert_eq!((installed.outcome, installed.manager), (Outcome::Installed, Some("husky")));
    assert_eq!(installed.file, world.repo.join(".husky/post-commit"));
    assert_eq!(world.git(&["status", "--porcelain"]), "");
    assert!(world.works_in(&world.repo));
    world.uninstall();
    assert_eq!(world.bytes(), before);
    world.install();
    world.check_rings(&world.repo, 1);
    // Husky's set-up is run again.
    husky_9(&world);
    world.check_rings(&world.repo, 1);
}

#[test]
fn husky_9_with_a_script_of_the_users() {
    let world = World::new();
    husky_9(&world);
    world.write(".husky/post-commit", "echo mine >&2\nexit 0\n");
    let before = world.bytes();
    assert_eq!(world.install().outcome, Outcome::Installed);
    assert!(world.check_rings(&world.repo, 1).contains("mine"));
    assert!(world.works_in(&world.repo));
    world.uninstall();
    let text = |bytes: &Bytes| bytes[&world.repo.join(".husky/post-commit")].clone();
    assert_eq!(text(&world.bytes()), text(&before));
    world.git(&["add", ".husky/post-commit"]);
    assert!(is_by_hand(&world.install().outcome));
    assert_eq!(text(&world.bytes()), text(&before));
}

#[test]
fn husky_9_in_a_linked_worktree_without_its_set_up() {
    let world = World::new();
    husky_9(&world);
    let linked = world.home.join("linked");
    world.git(&["worktree", "add", "-q", linked.to_str().unwrap()]);
    let installed = world.install_in(&linked);
    assert!(installed.notes.iter().any(|note| note.contains("npm install")), "{:?}", installed.notes);
    assert!(!world.works_in(&linked));
    world.check_rings(&linked, 0);
}

#[test]
fn husky_8_rings_once() {
    let world = World::new();
    world.git(&["config", "core.hooksPath", ".husky"]);
    let runner = "if [ -z \"$husky_skip_init\" ]; then\n  export husky_skip_init=1\n  sh -e \"$0\" \"$@\"\n  exit $?\nfi\n";
    put(&world.repo.join(".husky/_/husky.sh"), runner, 0o644);
    put(&world.repo.join(".husky/_/.gitignore"), "*", 0o644);
    assert_eq!(world.install().outcome, Outcome::Installed);
    assert_eq!(world.git(&["status", "--porcelain"]), "");
    world.check_rings(&world.repo, 1);
    world.uninstall();
    let text = "#!/usr/bin/env sh\n. \"$(dirname -- \"$0\")/_/husky.sh\"\n\necho mine >&2\n";
    world.script(".husky/post-commit", text);
    world.install();
    assert!(world.check_rings(&world.repo, 1).contains("mine"));
    world.uninstall();
    assert_eq!(fs::read_to_string(world.repo.join(".husky/post-commit")).unwrap(), text);
}

#[test]
fn pre_commit_moves_our_hook_aside_and_it_still_rings() {
    let world = World::new();
    let managed = "#!/usr/bin/env bash\n# File generated by pre-commit: https://pre-commit.com\nHERE=\"$(cd \"$(dirname \"$0\")\" && pwd)\"\n[ -x \"$HERE/post-commit.legacy\" ] && \"$HERE/post-commit.legacy\" \"$@\"\nexec echo mine >&2\n";
    let hook = world.repo.join(".git/hooks/post-commit");
    // Ours first, then pre-commit's.
    world.install();
    fs::rename(&hook, world.repo.join(".git/hooks/post-commit.legacy")).unwrap();
    put(&hook, managed, 0o755);
    assert!(world.check_rings(&world.repo, 1).contains("mine"));
    assert!(world.works_in(&world.repo));
    world.uninstall();
    assert!(!world.repo.join(".git/hooks/post-commit.legacy").exists());
    assert_eq!(fs::read_to_string(&hook).unwrap(), managed);
    // pre-commit's first, then ours.
    let installed = world.install();
    assert_eq!((installed.outcome, installed.manager), (Outcome::Installed, Some("pre-commit")));
    assert!(world.check_rings(&world.repo, 1).contains("mine"));
    world.uninstall();
    assert_eq!(fs::read_to_string(&hook).unwrap(), managed);
}

const LEFTHOOK: &str =
    "#!/bin/sh\ncall_lefthook()\n{\n  lefthook \"$@\"\n}\ncall_lefthook run \"post-commit\" \"$@\"\n";

#[test]
fn lefthook_is_given_a_job_where_the_hook_is_its_own() {
    let world = World::new();
    world.write("lefthook.yml", "post-commit:\n  jobs: []\n");
    world.git(&["add", "."]);
    world.git(&["commit", "-q", "-m", "lefthook"]);
    world.script(".git/hooks/post-commit", LEFTHOOK);
    let before = world.bytes();
    let installed = world.install();
    assert_eq!((installed.outcome, installed.manager), (Outcome::Installed, Some("lefthook")));
    assert_eq!(installed.file, world.repo.join("lefthook-local.yml"));
    assert_eq!(world.git(&["status", "--porcelain"]), "");
    assert_eq!(world.install().outcome, Outcome::AlreadyThere);
    world.uninstall();
    assert_eq!(world.bytes(), before);

    world.write("lefthook-local.yml", "pre-commit:\n  skip: true");
    world.install();
    world.uninstall();
    assert_eq!(
        fs::read_to_string(world.repo.join("lefthook-local.yml")).unwrap(),
        "pre-commit:\n  skip: true"
    );
    world.write("lefthook-local.yml", "post-commit:\n  jobs: []\n");
    assert!(is_by_hand(&world.install().outcome));
}

#[test]
fn lefthook_leaves_a_hook_that_it_does_not_configure() {
    let world = World::new();
    world.write("lefthook.yml", "pre-commit:\n  jobs: []\n");
    let installed = world.install();
    assert_eq!(installed.outcome, Outcome::Installed);
    assert_eq!(installed.file, world.repo.join(".git/hooks/post-commit"));
    world.check_rings(&world.repo, 1);
}
