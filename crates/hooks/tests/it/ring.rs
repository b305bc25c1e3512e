//! What `loop notify` does and says after a commit.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use loop_hooks::notify::{NotifyInput, run_within};

use crate::router::{FakeRouter, KEY, key_file, router_file};
use crate::world::World;

const OK: &str = r#"{"status":"ok","target":"Codex","turn":1,"delivery":"d"}"#;
const CONFIG: &str = "agents:\n  CC: {kind: claude-code}\n  Codex: {kind: codex}\nrotation: [CC, Codex]\n";
const START: &str = "# A task\n\n<!-- loop: 0198c0de -->\n";

/// A repository with a loop in which nobody has had a turn.
fn running() -> World {
    let world = World::new();
    world.write("loop.yaml", CONFIG);
    world.write("STATUS.md", START);
    commit(&world, "a loop");
    world
}

fn commit(world: &World, message: &str) {
    world.git(&["add", "."]);
    world.git(&["commit", "-q", "--allow-empty", "-m", message]);
}

/// Appends to STATUS.md and commits.
fn turn(world: &World, text: &str) {
    let status = fs::read_to_string(world.repo.join("STATUS.md")).unwrap() + text;
    world.write("STATUS.md", &status);
    commit(world, "CC: did it");
}

fn input(world: &World) -> NotifyInput {
    NotifyInput {
        cwd: world.repo.clone(),
        git_dir: None,
        probe: None,
        router_file: router_file(world),
        key_file: key_file(world),
        name: None,
        kinds: BTreeMap::new(),
    }
}

/// Rings with all the time in the world, so that a busy machine changes nothing.
fn run(input: NotifyInput) -> Vec<String> {
    run_within(input, Duration::from_secs(60))
}

/// Rings as the hook does.
fn in_a_hurry(world: &World) -> Vec<String> {
    loop_hooks::notify::run(input(world))
}

fn notified(world: &World) -> Vec<String> {
    run(input(world))
}

/// Checks that a turn is rung for, and that the first line says `expected` of it.
fn check(world: &World, expected: &str) {
    let lines = notified(world);
    assert!(lines.first().is_some_and(|line| line.contains(expected)), "{expected:?} in {lines:?}");
    assert_eq!(lines.len(), 1, "{lines:?}");
}

#[test]
fn a_turn_is_rung_with_the_key_and_told() {
    let world = running();
    turn(&world, "\n## CC: did it\n\nAll of it.\n");
    let router = FakeRouter::answering(&world, OK);
    assert_eq!(notified(&world), ["loop: turn 1 by CC -> Codex"]);
    let request = router.request();
    assert!(request.starts_with("POST /webhook/agent-loop HTTP/1.1\r\nHost: 127.0.0.1:"), "{request}");
    assert!(request.contains(&format!("\r\nAuthorization: Bearer {KEY}\r\n")), "{request}");
    let (_, body) = request.split_once("\r\n\r\n").unwrap();
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    let tip = world.git(&["rev-parse", "HEAD"]);
    let repo = world.repo.to_str().unwrap();
    let expected = serde_json::json!({"author": "CC", "message": "CC: did it", "repo": repo, "commit": tip});
    assert_eq!(body, expected);
}

#[test]
fn from_a_linked_worktree_and_a_folder_below() {
    let world = running();
    let linked = world.home.join("linked");
    world.git(&["worktree", "add", "-q", linked.to_str().unwrap()]);
    fs::create_dir(linked.join("src")).unwrap();
    let router = FakeRouter::answering(&world, r#"{"status":"ok"}"#);
    run(NotifyInput { cwd: linked.join("src"), ..input(&world) });
    assert!(router.request().contains(linked.to_str().unwrap()));
    let git_dir = Some(world.repo.join(".git/worktrees/linked"));
    run(NotifyInput { cwd: linked.clone(), git_dir, ..input(&world) });
    assert!(router.request().contains(linked.to_str().unwrap()));
    let another = Some(world.repo.join(".git"));
    assert!(run(NotifyInput { cwd: linked, git_dir: another, ..input(&world) }).is_empty());
    assert!(router.is_unrung());
}

#[test]
fn where_no_loop_is_concerned_there_is_silence() {
    let world = World::new();
    let router = FakeRouter::answering(&world, OK);
    assert!(notified(&world).is_empty());
    assert!(run(NotifyInput { cwd: world.home.clone(), ..input(&world) }).is_empty());
    // A STATUS.md of somebody else's.
    world.write("STATUS.md", "## Now: green\n");
    commit(&world, "status");
    assert!(notified(&world).is_empty());
    // Loop's own commits, and those of a rebase.
    let world = running();
    let router_of_loop = FakeRouter::answering(&world, OK);
    commit(&world, "loop: start\n\nLoop-Init: 0198c0de");
    assert!(notified(&world).is_empty());
    turn(&world, "\n## CC: did it\n");
    assert!(!world.git_in(&world.repo, &["rebase", "-q", "--exec", "false", "HEAD~1"]).status.success());
    assert!(notified(&world).is_empty());
    assert!(router.is_unrung() && router_of_loop.is_unrung());
    assert!(World::unborn().git(&["status"]).contains("No commits"));
}

#[test]
fn an_archived_loop_says_nothing_without_a_router() {
    let world = running();
    fs::remove_file(world.repo.join("STATUS.md")).unwrap();
    commit(&world, "gone");
    check(&world, "STATUS.md is gone");
    commit(&world, "later");
    assert!(notified(&world).is_empty());
}

#[test]
fn a_router_that_hangs_does_not_hold_the_commit() {
    let world = running();
    turn(&world, "\n## CC: did it\n");
    let _router = FakeRouter::start(&world, None);
    let start = Instant::now();
    in_a_hurry(&world);
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    let lines = run_within(input(&world), Duration::from_secs(5));
    assert!(
        lines[0].contains("turn 1 by CC is in the commit; the router did not answer in time"),
        "{lines:?}"
    );
}

#[test]
fn a_router_that_drips_does_not_hold_the_commit_either() {
    let world = running();
    turn(&world, "\n## CC: did it\n");
    let _router = FakeRouter::dripping(&world);
    let start = Instant::now();
    in_a_hurry(&world);
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
}

#[test]
fn whatever_is_wrong_with_the_router_is_one_line() {
    let world = running();
    turn(&world, "\n## CC: did it\n");
    check(&world, "the router is not running");
    fs::write(router_file(&world), "{ torn").unwrap();
    check(&world, "the router is not running");
    for (answer, expected) in [
        ("220 mail.example.org\r\n", "is no router of loop's"),
        ("", "is no router of loop's"),
        ("HTTP/1.1 202 Accepted\r\ncontent-length: 1000\r\n\r\n{", "is no router of loop's"),
        ("HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n", "refused the key"),
        ("HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n", "refused the ring (503)"),
        (
            "HTTP/1.1 404 No\r\ncontent-length: 24\r\n\r\n{\"detail\":\"unknown here\"}",
            "the router says: unknown here",
        ),
    ] {
        let _router = FakeRouter::start(&world, Some(answer));
        check(&world, expected);
    }
    let router = FakeRouter::answering(&world, OK);
    fs::write(key_file(&world), "\n").unwrap();
    check(&world, "it holds no key");
    fs::remove_file(key_file(&world)).unwrap();
    check(&world, "cannot be read");
    assert!(router.is_unrung());
    // Nobody listens there any more.
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let file = format!(r#"{{"pid":1,"addr":"{gone}","version":"0","started_at":"2026-11-30T00:00:00Z"}}"#);
    fs::write(router_file(&world), file).unwrap();
    fs::write(key_file(&world), KEY).unwrap();
    check(&world, "the router is not running");
}

#[test]
fn whoever_took_the_port_of_a_router_that_was_killed_is_not_shown_the_key() {
    let world = running();
    let router = FakeRouter::answering(&world, OK);
    turn(&world, "\n## CC: did it\n");
    check(&world, "turn 1 by CC");
    router.request();
    let stranger = router.without_lock();
    check(&world, "the router is not running");
    assert!(stranger.is_unrung());
}

#[test]
fn a_commit_without_a_section_is_work_in_progress() {
    let world = running();
    commit(&world, "wip\n\nLoop-Agent: CC");
    check(&world, "no section added, so no turn passes (`loop commit CC -m");
    turn(&world, "\nMore about the task.\n");
    check(&world, "STATUS.md changed, no section added");
    world.git(&["checkout", "-q", "--detach"]);
    turn(&world, "\n## CC: did it\n");
    check(&world, "HEAD is detached");
}

#[test]
fn what_can_be_mended_is_told_with_its_line() {
    let world = running();
    turn(&world, "\n## CC: did it\n\nnot REVIEW-PASS yet\n");
    let lines = notified(&world);
    assert!(lines[0].starts_with("loop: turn 1 by CC"), "{lines:?}");
    assert!(lines[1].starts_with("loop: STATUS.md:"), "{lines:?}");
    assert!(lines.last().unwrap().contains("--amend"), "{lines:?}");
    // What an earlier commit brought is not told again.
    turn(&world, "\n## Codex: fine\n");
    check(&world, "turn 2 by Codex");
    turn(&world, "\n## Codx: fine\n");
    let lines = notified(&world);
    assert!(lines[0].contains("no section added"), "{lines:?}");
    assert!(lines[1].contains("Codx") && lines[1].contains("Codex"), "{lines:?}");
}

#[test]
fn an_amended_turn_is_the_same_turn() {
    let world = running();
    turn(&world, "\n## CC: did it\n");
    let text = fs::read_to_string(world.repo.join("STATUS.md")).unwrap();
    world.write("STATUS.md", &text.replace("did it", "did it well"));
    world.git(&["commit", "-q", "-a", "--amend", "-m", "CC: did it well"]);
    check(&world, "turn 1 by CC");
    // In a later commit it is a change of a section, not a new one.
    world.write("STATUS.md", &text);
    commit(&world, "CC: worse again");
    check(&world, "no section added");
}

#[test]
fn a_loop_that_cannot_be_read_is_told() {
    let world = running();
    world.write("loop.yaml", "agents: [\n");
    commit(&world, "broken");
    let lines = notified(&world);
    assert!(lines[0].starts_with("loop: loop.yaml:"), "{lines:?}");
    let world = running();
    turn(&world, "\n<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n");
    check(&world, "STATUS.md: conflict markers");
}

#[test]
fn a_trial_commit_is_answered_and_rings_nobody() {
    let world = running();
    turn(&world, "\n## CC: did it\n");
    let router = FakeRouter::answering(&world, OK);
    let token = world.home.join("token");
    fs::write(&token, "loop probe: waiting\n").unwrap();
    assert!(run(NotifyInput { probe: Some(token.clone()), ..input(&world) }).is_empty());
    assert_eq!(fs::read_to_string(&token).unwrap(), "loop probe: rang\n");
    assert!(router.is_unrung());
}

#[test]
fn a_disk_that_hangs_does_not_hold_the_commit() {
    let world = running();
    turn(&world, "\n## CC: did it\n");
    // Whoever opens a pipe waits for somebody to write into it.
    let head = world.repo.join(".git/refs/heads/main");
    fs::remove_file(&head).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&head).status().unwrap().success());
    let start = Instant::now();
    assert!(in_a_hurry(&world).is_empty());
    let router = FakeRouter::answering(&world, OK);
    let lines = run_within(input(&world), Duration::from_secs(1));
    assert_eq!(lines, ["loop: git could not be read in time; the router was rung, and reads it"]);
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
    assert!(router.request().contains(r#""author":"","message":"","repo":"#));
}
