//! Hooks that are there before us: what a commit runs with us, and every byte back without us.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use loop_hooks::{HookError, InstallOptions, Outcome, WriteKind};

use crate::world::{Bytes, World, put};

const HOOK: &str = ".git/hooks/post-commit";

/// Installs around a hook of the user's, which writes `mine` when it runs, and takes it out again.
fn check(name: &str, set_up: impl Fn(&World), runs: bool) {
    let world = World::new();
    set_up(&world);
    let before = world.bytes();
    let says = |world: &World| world.commit_in(&world.repo).contains("mine");
    assert_eq!(says(&world), runs, "{name}: before");
    let installed = world.install();
    assert_eq!(installed.outcome, Outcome::Installed, "{name}");
    let with = world.bytes();
    let words = world.check_rings(&world.repo, 1);
    assert_eq!(words.contains("mine"), runs, "{name}: {words}");
    assert!(words.contains("loop: turn 3"), "{name}: {words}");
    assert!(world.works_in(&world.repo), "{name}: {:?}", world.proof_in(&world.repo));

    let again = world.install();
    assert_eq!((again.outcome, again.writes.len()), (Outcome::AlreadyThere, 0), "{name}");
    let hooks = |bytes: &Bytes| -> Bytes {
        let folder = world.repo.join(".git/hooks");
        bytes
            .iter()
            .filter(|(path, _)| path.starts_with(&folder))
            .map(|(path, is)| (path.clone(), is.clone()))
            .collect()
    };
    assert_eq!(hooks(&world.bytes()), hooks(&with), "{name}");

    assert!(!world.uninstall().writes.is_empty(), "{name}");
    assert_eq!(hooks(&world.bytes()), hooks(&before), "{name}");
    // What commits write is left out.
    let rest = |bytes: &Bytes| -> Bytes {
        let outside = |path: &Path| !path.starts_with(world.repo.join(".git")) && !path.ends_with("rung");
        bytes.iter().filter(|(path, _)| outside(path)).map(|(path, is)| (path.clone(), is.clone())).collect()
    };
    assert_eq!(rest(&world.bytes()), rest(&before), "{name}");
    assert_eq!(says(&world), runs, "{name}: after");
    assert!(world.uninstall().writes.is_empty(), "{name}");
}

#[test]
fn shell_hooks() {
    for (name, text) in [
        ("exit", "#!/bin/sh\necho mine >&2\nexit 0\n"),
        ("exec", "#!/bin/bash -eu\nexec echo mine >&2"),
        ("no shebang", "echo mine >&2\n"),
        ("env", "#!/usr/bin/env bash\nset -euo pipefail\n: \"${1-}\"\necho mine >&2\n"),
        ("crlf lines", "#!/bin/sh\necho mine\r\nexit 0\r\n"),
        ("heredoc", "#!/bin/sh\ncat >&2 <<EOF\nmine\nEOF\n"),
    ] {
        check(name, |world| world.script(HOOK, text), true);
    }
    check("empty", |world| world.script(HOOK, ""), false);
    check("only a shebang", |world| world.script(HOOK, "#!/bin/sh"), false);
    check("none", |_| {}, false);
    check("no hooks folder", |world| fs::remove_dir_all(world.repo.join(".git/hooks")).unwrap(), false);
    let read_only = |world: &World| put(&world.repo.join(HOOK), "#!/bin/sh\necho mine >&2\n", 0o555);
    check("read-only", read_only, true);
}

#[test]
fn other_hooks_are_kept_beside_ours() {
    check("perl", |world| world.script(HOOK, "#!/usr/bin/env perl\nprint STDERR \"mine\\n\";\n"), true);
    let by_name = "#!/usr/bin/env perl\nuse File::Basename;\nprint STDERR \"mine\\n\" if basename($0) eq 'post-commit';\n";
    check("asks its name", |world| world.script(HOOK, by_name), true);
    check("crlf shebang", |world| world.script(HOOK, "#!/bin/sh\r\necho mine >&2\r\n"), false);
    let disabled = |world: &World| put(&world.repo.join(HOOK), "#!/bin/sh\necho mine >&2\n", 0o644);
    check("disabled", disabled, false);
    check("binary", |world| assert!(fs::copy("/bin/true", world.repo.join(HOOK)).is_ok()), false);
    let link = |world: &World| {
        world.script("tools/hook.sh", "#!/bin/sh\necho mine >&2\n");
        world.git(&["add", "tools"]);
        world.git(&["commit", "-q", "-m", "tools"]);
        symlink("../../tools/hook.sh", world.repo.join(HOOK)).unwrap();
    };
    check("symlink", link, true);
    check("dangling symlink", |world| symlink("nowhere", world.repo.join(HOOK)).unwrap(), false);
}

#[test]
fn a_disabled_hook_is_said_to_be_disabled_and_can_be_enabled() {
    let world = World::new();
    put(&world.repo.join(HOOK), "#!/bin/sh\necho mine >&2\n", 0o644);
    let installed = world.install();
    assert!(installed.notes.iter().any(|note| note.contains("not executable")), "{:?}", installed.notes);
    let aside = world.repo.join(HOOK.to_owned() + ".before-loop");
    fs::set_permissions(&aside, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(world.check_rings(&world.repo, 1).contains("mine"));
}

#[test]
fn a_hook_that_was_switched_off_after_the_install_stays_off_and_ours_rings() {
    let world = World::new();
    let text = "#!/bin/sh\necho mine >&2\n";
    world.script(HOOK, text);
    world.install();
    fs::set_permissions(world.repo.join(HOOK), fs::Permissions::from_mode(0o644)).unwrap();
    world.check_rings(&world.repo, 0);
    assert_eq!(world.install().outcome, Outcome::Installed);
    assert!(!world.check_rings(&world.repo, 1).contains("mine"));
    world.uninstall();
    assert_eq!(fs::read_to_string(world.repo.join(HOOK)).unwrap(), text);
}

#[test]
fn lines_that_a_user_adds_later_survive_the_uninstall() {
    for (before, added, after) in [
        (None, "echo added >&2\n", "#!/bin/sh\necho added >&2\n"),
        (Some("#!/bin/sh"), "\necho added >&2\n", "#!/bin/sh\necho added >&2\n"),
        (Some("#!/bin/sh\nexit\n"), "# x\n", "#!/bin/sh\nexit\n# x\n"),
    ] {
        let world = World::new();
        if let Some(before) = before {
            world.script(HOOK, before);
        }
        world.install();
        let hook = world.repo.join(HOOK);
        let text = fs::read_to_string(&hook).unwrap() + added;
        fs::write(&hook, text).unwrap();
        world.check_rings(&world.repo, 1);
        world.uninstall();
        assert_eq!(fs::read_to_string(&hook).unwrap(), after);
    }
}

#[test]
fn another_loop_takes_the_place_of_the_old_one() {
    let mut world = World::new();
    world.script(HOOK, "#!/bin/sh\necho mine >&2\n");
    world.install();
    let moved = world.home.join("loop");
    fs::rename(&world.env.loop_binary, &moved).unwrap();
    let words = world.commit_in(&world.repo);
    assert!(words.contains("is gone; run `loop hooks install` again\nmine"), "{words}");
    world.env.loop_binary = moved;
    assert!(!loop_hooks::status(&world.repo, &world.env, false).unwrap().current);
    assert_eq!(world.install().outcome, Outcome::Updated);
    assert!(loop_hooks::status(&world.repo, &world.env, false).unwrap().current);
    assert!(world.check_rings(&world.repo, 1).contains("mine"));
    world.uninstall();
    assert_eq!(fs::read_to_string(world.repo.join(HOOK)).unwrap(), "#!/bin/sh\necho mine >&2\n");
}

#[test]
fn what_is_in_the_way_is_named_and_nothing_is_touched() {
    let install = |world: &World| loop_hooks::install(&world.repo, &world.env, InstallOptions::default());
    let world = World::new();
    world.script(HOOK, "#!/usr/bin/env perl\n");
    world.script(&(HOOK.to_owned() + ".before-loop"), "older\n");
    let before = world.bytes();
    assert!(matches!(install(&world), Err(HookError::InTheWay { .. })));
    assert_eq!(world.bytes(), before);

    world.script(HOOK, "#!/bin/sh\n# >>> loop >>>\nhalf\n");
    let before = world.bytes();
    assert!(matches!(install(&world), Err(HookError::Half { line: 2, .. })));
    assert!(matches!(loop_hooks::uninstall(&world.repo, &world.env), Err(HookError::Half { .. })));
    assert_eq!(world.bytes(), before);

    fs::remove_file(world.repo.join(HOOK)).unwrap();
    fs::create_dir(world.repo.join(HOOK)).unwrap();
    assert!(matches!(install(&world), Err(HookError::InTheWay { .. })));

    let elsewhere = loop_hooks::install(&world.home, &world.env, InstallOptions::default());
    assert!(matches!(elsewhere, Err(HookError::NoWorktree { .. })));
    world.git(&["clone", "-q", "--bare", ".", "../bare"]);
    let bare = loop_hooks::install(&world.repo.join("../bare"), &world.env, InstallOptions::default());
    assert!(matches!(bare, Err(HookError::NoWorktree { .. })));
}

#[test]
fn every_write_is_told() {
    let world = World::new();
    fs::remove_dir_all(world.repo.join(".git/hooks")).unwrap();
    let told: Vec<_> =
        world.install().writes.into_iter().map(|write| (write.path, write.kind, write.before)).collect();
    let hooks = world.repo.join(".git/hooks");
    let hook = hooks.join("post-commit");
    assert_eq!(
        told,
        [(hooks.clone(), WriteKind::MadeFolder, None), (hook.clone(), WriteKind::MadeFile, None)]
    );
    let text = fs::read(&hook).unwrap();
    let told: Vec<_> =
        world.uninstall().writes.into_iter().map(|write| (write.path, write.kind, write.before)).collect();
    assert_eq!(told, [(hook, WriteKind::RemovedFile, Some(text)), (hooks, WriteKind::RemovedFolder, None)]);
}

#[test]
fn the_old_way_is_pointed_out() {
    let world = World::new();
    world.script("scripts/wake.sh", "#!/bin/sh\n# notify-agent in a comment\npython simple-inject.py CC\n");
    world.script(HOOK, "#!/bin/sh\n\"$(git rev-parse --show-toplevel)/scripts/wake.sh\" &\ncurl -d @- http://localhost:5679/webhook/agent-loop\n");
    for _ in 0..2 {
        let found = world.install().old_ways;
        let found: Vec<_> = found
            .iter()
            .map(|way| (way.file.file_name().unwrap().to_str().unwrap(), way.text.as_str()))
            .collect();
        let curl = ("post-commit", "curl -d @- http://localhost:5679/webhook/agent-loop");
        assert_eq!(found, [curl, ("wake.sh", "python simple-inject.py CC")]);
    }
}

#[test]
fn an_agents_pipe_is_not_held() {
    let world = World::new();
    world.install();
    let mut command = std::process::Command::new("sh");
    let script = "git commit -q --allow-empty -m x 2>&1 | cat";
    command.args(["-c", script]).current_dir(&world.repo).env("HOME", &world.home);
    for (key, value) in [
        ("GIT_AUTHOR_NAME", "x"),
        ("GIT_AUTHOR_EMAIL", "x@x"),
        ("GIT_COMMITTER_NAME", "x"),
        ("GIT_COMMITTER_EMAIL", "x@x"),
    ] {
        command.env(key, value);
    }
    let output = command.env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "loop: turn 3 by CC -> Codex\n");
}

#[test]
fn of_many_installations_at_once_the_users_hook_comes_out_whole() {
    let world = World::new();
    let text = "#!/usr/bin/env perl\nprint STDERR \"mine\\n\";\n";
    world.script(HOOK, text);
    std::thread::scope(|scope| {
        for _ in 0..6 {
            // Who comes second finds our hook, or something in the way; never is the user's overwritten.
            scope.spawn(|| loop_hooks::install(&world.repo, &world.env, InstallOptions::default()).is_ok());
        }
    });
    world.install();
    assert!(world.check_rings(&world.repo, 1).contains("mine"));
    world.uninstall();
    assert_eq!(fs::read_to_string(world.repo.join(HOOK)).unwrap(), text);
    assert_eq!(fs::metadata(world.repo.join(HOOK)).unwrap().permissions().mode() & 0o777, 0o755);
}
