//! What later commits do to earlier sections, and files that cannot be read.

use serde_json::json;

use crate::world::{World, config};

/// CC, Codex and CC have written; it is Codex's turn, and it has been woken for it.
async fn three_turns() -> World {
    let world = World::two().await;
    world.woken("CC", 1).await;
    world.turn("CC", "one", "a");
    world.woken("Codex", 1).await;
    world.turn("Codex", "two", "b");
    world.woken("CC", 2).await;
    world.turn("CC", "three", "c");
    world.woken("Codex", 2).await;
    world
}

fn rewrite(world: &World, change: impl FnOnce(String) -> String, message: &str) -> String {
    let status = change(world.repo.read("STATUS.md"));
    world.repo.commit("STATUS.md", status, message)
}

#[tokio::test]
async fn a_section_that_vanished_holds_the_loop_until_it_is_back() {
    let world = three_turns().await;
    let whole = world.repo.read("STATUS.md");
    let bad = rewrite(&world, |text| text.replace("## Codex: two\n\nb\n", ""), "tidy up");
    // Another commit on top: the hold goes on naming the one that did it.
    world.repo.commit("x.txt", "x", "more");
    let decision = world.state("held", "turn 2 by Codex").await;
    assert!(decision.contains(&bad[..7]), "{decision} does not name {bad}");
    world.repo.commit("y.txt", "y", "still more");
    world.settle().await;
    assert_eq!(world.events("damage").await, [bad]);
    assert_eq!(world.events("told").await.len(), 1, "one thing is told once");
    rewrite(&world, |_| whole, "put it back");
    world.state("running", "Codex").await;
    world.turn("Codex", "four", "d");
    world.woken("CC", 3).await;
}

#[tokio::test]
async fn a_section_that_changed_hands_holds_the_loop() {
    let world = three_turns().await;
    rewrite(&world, |text| text.replace("## Codex: two", "## CC: two"), "mine");
    world.state("held", "was by Codex and is by CC now").await;
    rewrite(&world, |text| text.replace("## CC: two", "## Codex: two"), "yours");
    world.state("running", "Codex").await;
}

#[tokio::test]
async fn a_section_put_before_others_holds_the_loop() {
    let world = three_turns().await;
    rewrite(&world, |text| text.replace("## CC: one", "## Codex: zero\n\n## CC: one"), "a quick note");
    world.state("held", "stands before older ones").await;
    world.settle().await;
    assert_eq!(world.fake.all(), 4);
}

#[tokio::test]
async fn a_file_written_anew_holds_the_loop_and_a_person_can_take_it_as_it_is() {
    let world = three_turns().await;
    let new = "# Build a shop\n\n<!-- loop: shop-1 -->\n\n## Codex: everything anew\n\nall\n";
    rewrite(&world, |_| new.to_owned(), "rewrite");
    world.state("held", "gone").await;
    world.idle("Codex");
    world.settle().await;
    assert_eq!(world.wakes("CC"), 2, "nobody is woken meanwhile");
    world.steer("resume", json!({})).await;
    // One section by Codex stands there now: CC comes after it.
    world.woken("CC", 3).await;
    world.turn("CC", "so be it", "");
    world.woken("Codex", 3).await;
    assert_eq!(world.store().await.turns("shop-1").await.unwrap().len(), 2);
}

#[tokio::test]
async fn who_was_woken_is_still_known_after_a_person_took_damage_as_it_is() {
    let world = World::with(&config(&["CC", "Codex", "OpenCode"], "pass: all"), |_| {}).await;
    world.woken("CC", 1).await;
    // Codex was not woken: this pass counts neither now nor later.
    world.turn("Codex", "fine", "REVIEW-PASS");
    world.idle("CC");
    world.woken("OpenCode", 1).await;
    world.turn("OpenCode", "fine", "REVIEW-PASS");
    world.woken("CC", 1).await;
    rewrite(&world, |text| text.replace("## Codex: fine", "## Codex: new\n\n## Codex: fine"), "odd");
    world.state("held", "stands before").await;
    world.steer("resume", json!({})).await;
    world.state("running", "CC").await;
    let turns = world.store().await.turns("shop-1").await.unwrap();
    assert_eq!(turns[1].woken, Some(false), "{turns:?}");
}

#[tokio::test]
async fn two_names_in_one_commit_hold_the_loop() {
    let world = World::two().await;
    world.woken("CC", 1).await;
    rewrite(
        &world,
        |text| format!("{text}\n## CC: built it\n\na\n\n## Codex: right\n\nREVIEW-PASS\n"),
        "both",
    );
    world.state("held", "new sections of CC and Codex").await;
    assert_eq!(world.events("turn").await.len(), 0);
    world.settle().await;
    assert_eq!(world.wakes("Codex"), 0);
    world.steer("resume", json!({})).await;
    world.state("running", "").await;
    assert_eq!(world.store().await.turns("shop-1").await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_squash_of_known_turns_holds_nothing() {
    let world = three_turns().await;
    let root = world.repo.git(&["log", "--format=%H", "--grep=open the loop"]);
    world.repo.git(&["reset", "--quiet", "--soft", &root]);
    world.repo.git(&["commit", "--quiet", "-m", "squashed"]);
    world.ring_here("CC").await;
    world.settle().await;
    assert_eq!(world.row().await.state, "running");
    assert_eq!(world.fake.all(), 4);
}

#[tokio::test]
async fn files_that_cannot_be_read_hold_the_loop_and_wake_nobody() {
    let cases: [(&str, &[u8], &str); 3] = [
        ("conflict", b"# Shop\n<<<<<<< ours\n## CC: a\n=======\n>>>>>>> theirs\n", "remove the markers"),
        ("not UTF-8", b"# Shop\n\n## CC: \xff\xfe\n", "save it as UTF-8"),
        ("NUL", b"# Shop\n\n## CC: \0\n", "NUL"),
    ];
    let world = three_turns().await;
    let whole = world.repo.read("STATUS.md");
    for (what, bytes, words) in cases {
        world.repo.commit("STATUS.md", bytes, what);
        world.state("held", words).await;
        world.idle("Codex");
        world.settle().await;
        world.repo.commit("STATUS.md", &whole, "mended");
        world.state("running", "Codex").await;
    }
    // Woken once more each time it was mended, and never held for what it could not do.
    assert!(world.wakes("Codex") <= 5, "{}", world.ledger().await);
}

#[tokio::test]
async fn a_status_file_that_an_agent_removed_holds_the_loop() {
    let world = three_turns().await;
    world.repo.git(&["rm", "--quiet", "STATUS.md"]);
    world.repo.git(&["commit", "--quiet", "-m", "clean up"]);
    let decision = world.state("held", "STATUS.md is gone").await;
    assert!(decision.contains("git checkout"), "{decision}");
    world.repo.git(&["checkout", "HEAD~1", "--", "STATUS.md"]);
    world.repo.git(&["commit", "--quiet", "-m", "back"]);
    world.state("running", "Codex").await;
}

#[tokio::test]
async fn an_archived_loop_is_idle_and_tells_nobody() {
    let world = three_turns().await;
    world.repo.git(&["rm", "--quiet", "STATUS.md"]);
    world.repo.git(&["commit", "--quiet", "-m", "archive", "--trailer", "Loop-Archive: shop-1"]);
    world.state("idle", "").await;
    assert_eq!(world.row().await.decision_json, None);
    assert!(world.events("told").await.is_empty());
}

#[tokio::test]
async fn a_working_tree_that_is_gone_holds_the_loop_until_it_is_back() {
    let world = World::two().await;
    world.woken("CC", 1).await;
    let away = world.sandbox.root().join("away");
    std::fs::rename(world.repo.path(), &away).unwrap();
    world.router.as_ref().unwrap().desk().look_at("shop-1");
    world.state("held", "is not there any more").await;
    world.settle().await;
    assert_eq!(world.events("told").await.len(), 1);
    std::fs::rename(&away, world.repo.path()).unwrap();
    world.turn("CC", "back", "");
    world.router.as_ref().unwrap().desk().look_at("shop-1");
    world.woken("Codex", 1).await;
}

#[tokio::test]
async fn a_changed_configuration_holds_the_loop_until_it_is_approved() {
    let world = World::two().await;
    world.woken("CC", 1).await;
    let changed = world.repo.read("loop.yaml").replace("pass: any", "pass: all");
    world.repo.write("loop.yaml", &changed);
    world.turn("CC", "an easier rule", "");
    world.state("held", "not the one that was approved").await;
    world.settle().await;
    assert_eq!(world.wakes("Codex"), 0);
    world.steer("trust", json!({"text": changed})).await;
    world.woken("Codex", 1).await;
}

#[tokio::test]
async fn a_configuration_that_is_broken_or_gone_holds_the_loop_too() {
    let world = World::two().await;
    world.woken("CC", 1).await;
    let good = world.repo.read("loop.yaml");
    world.repo.commit("loop.yaml", "agents: [", "broken");
    world.state("held", "loop.yaml cannot be read: loop.yaml:1:").await;
    world.repo.commit("loop.yaml", b"agents: \xff", "not text");
    world.state("held", "not UTF-8").await;
    world.repo.git(&["rm", "--quiet", "loop.yaml"]);
    world.repo.git(&["commit", "--quiet", "-m", "gone"]);
    world.state("held", "loop.yaml is gone").await;
    world.repo.commit("loop.yaml", &good, "back");
    world.state("running", "CC").await;
}
