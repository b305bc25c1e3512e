//! The router's own run of a test command before a pass counts.

use std::time::Duration;

use crate::world::{World, config};

const RULES: &str = "pass: any\nverify: [/bin/sh, check.sh]";

async fn passed_with(script: &str, limit: Duration) -> World {
    let world = World::with(&config(&["CC", "Codex"], RULES), |options| options.verify_limit = limit).await;
    world.woken("CC", 1).await;
    world.repo.write("check.sh", script);
    world.turn("CC", "built it", "");
    world.woken("Codex", 1).await;
    world.repo.write("untracked.txt", "must not be seen");
    world.repo.git(&["add", "STATUS.md"]);
    std::fs::write(world.repo.path().join(".git/info/exclude"), "untracked.txt\n").unwrap();
    world.turn("Codex", "right", "REVIEW-PASS");
    world
}

#[tokio::test]
async fn a_pass_that_holds_up_is_verified() {
    let world = passed_with("test ! -e untracked.txt && test -e check.sh", Duration::from_secs(60)).await;
    let decision = world.state("passed", "verified").await;
    assert!(decision.contains(r#""verified":true"#), "{decision}");
    assert!(world.repo.git(&["worktree", "list"]).lines().count() == 1, "the checkout is taken away");
    assert_eq!(world.fake.all(), 2);
}

#[tokio::test]
async fn a_pass_that_fails_goes_to_whoever_made_the_newest_change() {
    let world = passed_with("echo 2 tests failed; exit 4", Duration::from_secs(60)).await;
    world.woken("CC", 2).await;
    let events = world.events("verify").await;
    assert!(events[0].contains("2 tests failed"), "{events:?}");
    assert_eq!(world.row().await.state, "running");
}

#[tokio::test]
async fn a_check_that_never_ends_is_killed() {
    let world = passed_with("sleep 1000 & wait", Duration::from_millis(300)).await;
    world.woken("CC", 2).await;
    assert!(world.events("verify").await[0].contains("was killed"));
}

#[tokio::test]
async fn a_check_that_was_cut_off_is_run_again() {
    let script = "test -e \"$TMPDIR/go\" || { echo started > \"$TMPDIR/started\"; sleep 1000; }";
    let mut world = passed_with(script, Duration::from_secs(60)).await;
    world.state("held", "runs on the pass of Codex").await;
    let tmp = world.sandbox.root().join("tmp");
    world
        .until("the check to run", || async {
            if tmp.join("started").exists() { Ok(()) } else { Err(String::new()) }
        })
        .await;
    world.crash().await;
    std::fs::write(tmp.join("go"), "").unwrap();
    world.start().await;
    world.state("passed", "verified").await;
    assert!(world.events("told").await.len() == 1);
}
