//! A trial commit tells the truth, and leaves nothing.

use std::fs;

use loop_hooks::Proof;

use crate::world::World;

const HOOK: &str = ".git/hooks/post-commit";

#[test]
fn nothing_is_left_of_a_trial() {
    for world in [World::new(), World::unborn()] {
        world.install();
        let before = world.bytes();
        assert!(world.works_in(&world.repo));
        assert_eq!(world.bytes(), before);
        assert_eq!(world.rung(), 0);
        assert_eq!(fs::read_dir(world.home.join("tmp")).unwrap().count(), 0);
    }
}

#[test]
fn staged_and_unstaged_changes_are_not_touched() {
    let world = World::new();
    world.install();
    world.write("README", "staged\n");
    world.git(&["add", "README"]);
    world.write("README", "changed\n");
    world.write("new", "new\n");
    let shown = world.git(&["status", "--porcelain"]);
    let tip = world.git(&["rev-parse", "HEAD"]);
    assert!(world.works_in(&world.repo));
    assert_eq!(world.git(&["status", "--porcelain"]), shown);
    assert_eq!(world.git(&["rev-parse", "HEAD"]), tip);
    assert_eq!(fs::read_to_string(world.repo.join("README")).unwrap(), "changed\n");
}

#[test]
fn the_users_part_is_not_run_by_a_trial() {
    let world = World::new();
    world.script(HOOK, "#!/bin/sh\ntouch \"$HOME/ran\"\n");
    world.install();
    assert!(world.works_in(&world.repo));
    assert!(!world.home.join("ran").exists());
    world.commit_in(&world.repo);
    assert!(world.home.join("ran").exists());
}

#[test]
fn what_does_not_work_is_told() {
    let world = World::new();
    let proof = world.proof_in(&world.repo);
    assert!(matches!(&proof, Proof::NotRun { why } if why.contains("there is none")), "{proof:?}");

    world.script(HOOK, "#!/bin/sh\nexit 0\n");
    let proof = world.proof_in(&world.repo);
    assert!(matches!(&proof, Proof::NotRun { why } if why.contains("does not ring")), "{proof:?}");

    world.install();
    let text = fs::read_to_string(world.repo.join(HOOK)).unwrap();
    world.script(HOOK, &text.replacen("#!/bin/sh\n", "#!/bin/sh\nexit 0\n", 1));
    let proof = world.proof_in(&world.repo);
    assert!(matches!(&proof, Proof::Bypassed { .. }), "{proof:?}");

    world.script(HOOK, &text);
    fs::remove_file(&world.env.loop_binary).unwrap();
    let proof = world.proof_in(&world.repo);
    assert!(matches!(&proof, Proof::Bypassed { why } if why.contains("is gone")), "{proof:?}");

    world.script(".git/hooks/prepare-commit-msg", "#!/bin/sh\necho no commits today >&2\nexit 1\n");
    let proof = world.proof_in(&world.repo);
    assert!(matches!(&proof, Proof::Unproven { why } if why.contains("no commits today")), "{proof:?}");
}

#[test]
fn settings_of_one_worktree_and_conditional_ones_count() {
    let world = World::new();
    world.git(&["config", "extensions.worktreeConfig", "true"]);
    let linked = world.home.join("linked");
    world.git(&["worktree", "add", "-q", linked.to_str().unwrap()]);
    assert!(world.git_in(&linked, &["config", "--worktree", "core.hooksPath", "/dev/null"]).status.success());
    world.install();
    assert!(world.works_in(&world.repo));
    assert!(matches!(world.proof_in(&linked), Proof::NotRun { .. }));

    let world = World::new();
    let path = world.repo.display();
    let config = format!("[includeIf \"gitdir:{path}/\"]\n\tpath = there\n");
    fs::write(world.home.join("gitconfig"), config).unwrap();
    fs::write(world.home.join("there"), "[core]\n\thooksPath = ~/hooks\n").unwrap();
    world.install();
    assert!(world.home.join("hooks/post-commit").exists());
    assert!(world.works_in(&world.repo));
    world.check_rings(&world.repo, 1);
}

#[test]
fn a_stray_variable_writes_nothing() {
    let world = World::new();
    let file = world.home.join("precious");
    fs::write(&file, "mine").unwrap();
    assert!(!loop_hooks::answer_probe(&file));
    assert!(!loop_hooks::answer_probe(&world.home.join("nowhere")));
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
}
