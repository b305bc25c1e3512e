//! Who is woken, and when.

use std::time::{Duration, Instant};

use loop_transport::Presence;
use serde_json::json;

use crate::world::{ID, World, config};

#[tokio::test]
async fn two_agents_play_until_one_passes() {
    let world = World::with(&config(&["CC", "Codex"], "pass: other"), |_| {}).await;
    world.woken("CC", 1).await;
    assert_eq!(world.fake.wakes(ID, "CC"), ["/agent-loop CC"], "the recipient's own name");
    world.repo.write("shop.rs", "fn sell() {}\n");
    world.turn("CC", "built it", "F1 done");
    world.woken("Codex", 1).await;
    world.turn("Codex", "found a bug", "F1 P1 shop.rs:1 sells nothing");
    world.woken("CC", 2).await;
    world.repo.write("shop.rs", "fn sell() -> u8 { 1 }\n");
    world.turn("CC", "mended it", "done");
    world.woken("Codex", 2).await;
    world.turn("Codex", "right", "REVIEW-PASS");
    let decision = world.state("passed", "unverified").await;
    assert!(decision.contains("passed at"), "{decision}");
    world.settle().await;
    assert_eq!((world.wakes("CC"), world.wakes("Codex")), (2, 2));
    assert_eq!(
        world.ledger().await,
        "0 CC 1 answered, 1 Codex 1 answered, 2 CC 1 answered, 3 Codex 1 answered"
    );
    assert_eq!(world.events("turn").await.len(), 4);
}

#[tokio::test]
async fn five_agents_in_a_ring_take_their_turns() {
    let names = ["CC", "Codex", "OpenCode", "Gemini", "Qwen"];
    let world = World::with(&config(&names, "pass: all"), |_| {}).await;
    for round in 1..=2 {
        for name in names {
            world.woken(name, round).await;
            if round == 1 {
                world.repo.write(&format!("{name}.txt"), "work");
            }
            world.turn(name, "my part", if round == 2 { "REVIEW-PASS" } else { "work" });
        }
    }
    world.state("passed", "Qwen").await;
    assert_eq!(world.fake.all(), 10);
}

#[tokio::test]
async fn many_rings_make_one_delivery() {
    let world = World::two().await;
    world.woken("CC", 1).await;
    world.turn("CC", "built it", "");
    let answers = futures_util::future::join_all((0..8).map(|_| world.ring_here("CC"))).await;
    let told: Vec<_> = answers.iter().filter(|answer| answer["target"] == "Codex").collect();
    assert_eq!(told.len(), 1, "one ring is told of the turn, the others that nothing is new: {answers:?}");
    assert_eq!(told[0]["turn"], 1);
    world.woken("Codex", 1).await;
    world.settle().await;
    assert_eq!(world.ledger().await, "0 CC 1 answered, 1 Codex 1 submitted");
    assert_eq!(told[0]["delivery"], world.deliveries().await[1].id);
}

#[tokio::test]
async fn a_commit_that_nobody_rings_for_is_found_by_the_sweep() {
    let world = World::with(&config(&["CC", "Codex"], ""), |options| {
        options.watch = false;
        options.sweep = Duration::from_millis(100);
    })
    .await;
    world.woken("CC", 1).await;
    world.turn("CC", "built it", "");
    world.woken("Codex", 1).await;
    world.settle().await;
    assert_eq!(world.fake.all(), 2);
}

#[tokio::test]
async fn a_sweep_reads_nothing_while_nothing_is_new() {
    let world = World::with(&config(&["CC", "Codex"], ""), |options| {
        options.watch = false;
        options.sweep = Duration::from_millis(20);
    })
    .await;
    world.fake.set(ID, "Codex", Presence::Busy);
    world.woken("CC", 1).await;
    world.steer("pause", json!({})).await;
    let notices = || async {
        let text = world.get("/metrics").send().await.unwrap().text().await.unwrap();
        let line = text.lines().find(|line| line.starts_with("loop_notices_total")).unwrap().to_owned();
        line.split_once(' ').unwrap().1.parse::<u64>().unwrap()
    };
    world
        .until("reading to come to rest", || async {
            let before = notices().await;
            tokio::time::sleep(Duration::from_millis(400)).await;
            let after = notices().await;
            if after == before { Ok(()) } else { Err(format!("{before} -> {after}")) }
        })
        .await;
    world.turn("CC", "built it", "");
    world.state("held", "paused").await;
    world
        .until("the section to be seen", || async {
            let turns = world.store().await.turns(ID).await.unwrap().len();
            if turns == 1 { Ok(()) } else { Err(format!("{turns}")) }
        })
        .await;
}

#[tokio::test]
async fn a_commit_that_leaves_the_status_file_alone_passes_no_turn() {
    let world = World::two().await;
    world.woken("CC", 1).await;
    world.repo.commit("shop.rs", "fn sell() {}", "work in progress");
    let answer = world.ring_here("CC").await;
    assert_eq!(answer["target"], serde_json::Value::Null, "{answer}");
    world.settle().await;
    assert_eq!(world.fake.all(), 1);
}

#[tokio::test]
async fn amending_and_rebasing_make_no_second_delivery() {
    let world = World::two().await;
    world.woken("CC", 1).await;
    world.turn("CC", "built it", "first words");
    world.woken("Codex", 1).await;
    let status = world.repo.read("STATUS.md").replace("first words", "other words");
    world.repo.write("STATUS.md", status);
    world.repo.git(&["commit", "--quiet", "--all", "--amend", "--no-edit"]);
    world.ring_here("CC").await;
    world.settle().await;
    assert_eq!(world.fake.all(), 2);
    // Everything under the loop is moved onto another commit.
    let base = world.repo.git(&["rev-list", "--max-parents=0", "HEAD"]);
    world.repo.git(&["checkout", "--quiet", "-b", "base", &base]);
    world.repo.commit("other.txt", "x", "something else");
    world.repo.git(&["checkout", "--quiet", "main"]);
    world.repo.git(&["rebase", "--quiet", "base"]);
    world.ring_here("CC").await;
    world.settle().await;
    assert_eq!(world.fake.all(), 2, "{}", world.ledger().await);
    assert_eq!(world.row().await.state, "running");
    world.turn("Codex", "right", "REVIEW-PASS");
    world.state("passed", "Codex").await;
}

#[tokio::test]
async fn a_verdict_that_is_amended_is_decided_anew() {
    let world = World::two().await;
    world.woken("CC", 1).await;
    world.section("CC", "done", "REVIEW-BLOCKED: no key");
    world.state("blocked", "no key").await;
    let status = world.repo.read("STATUS.md").replace("REVIEW-BLOCKED: no key", "found the key");
    world.repo.write("STATUS.md", status);
    world.repo.git(&["commit", "--quiet", "--all", "--amend", "--no-edit"]);
    world.idle("CC");
    world.woken("Codex", 1).await;
    assert_eq!(world.row().await.state, "running");
}

#[tokio::test]
async fn a_section_out_of_turn_moves_the_turn() {
    let world = World::with(&config(&["CC", "Codex", "OpenCode"], ""), |_| {}).await;
    world.woken("CC", 1).await;
    world.turn("Codex", "I was quicker", "");
    world.settle().await;
    assert_eq!(world.wakes("OpenCode"), 0, "CC still edits the same tree");
    world.idle("CC");
    world.woken("OpenCode", 1).await;
    assert_eq!(world.wakes("Codex"), 0);
}

#[tokio::test]
async fn a_verdict_in_anothers_name_is_ignored() {
    let world = World::two().await;
    world.woken("CC", 1).await;
    // CC plays both sides.
    world.turn("Codex", "looks right", "REVIEW-PASS");
    world.woken("CC", 1).await;
    world.settle().await;
    assert_eq!(world.row().await.state, "running");
    let status: serde_json::Value =
        world.get(&format!("/api/loops/{ID}/status")).send().await.unwrap().json().await.unwrap();
    let codes: Vec<&str> =
        status["diagnostics"].as_array().unwrap().iter().filter_map(|d| d["code"].as_str()).collect();
    assert!(codes.contains(&"not-woken"), "{status}");
}

#[tokio::test]
async fn a_target_gets_the_turn() {
    let world = World::with(&config(&["CC", "Codex", "OpenCode"], ""), |_| {}).await;
    world.woken("CC", 1).await;
    world.turn("CC -> OpenCode", "over to you", "");
    world.idle("CC");
    world.woken("OpenCode", 1).await;
    assert_eq!(world.wakes("Codex"), 0);
}

#[tokio::test]
async fn a_persons_section_leaves_the_turn_where_it_was() {
    let world = World::with(&config(&["CC", "Codex"], "people: [Dana]"), |_| {}).await;
    world.woken("CC", 1).await;
    world.turn("CC", "built it", "");
    world.woken("Codex", 1).await;
    world.section("Dana", "please use blue", "");
    world.settle().await;
    // Codex is at it already; its text is not typed twice.
    assert_eq!(world.wakes("Codex"), 1);
    world.turn("Codex", "blue it is", "");
    world.woken("CC", 2).await;
}

#[tokio::test]
async fn several_sections_in_a_row_make_one_hand_over() {
    let world = World::two().await;
    world.woken("CC", 1).await;
    world.fake.set(ID, "CC", Presence::Busy);
    world.section("CC", "first half", "");
    world.section("CC", "second half", "");
    world.idle("CC");
    world.woken("Codex", 1).await;
    world.settle().await;
    assert_eq!(world.wakes("Codex"), 1, "{}", world.ledger().await);
}

/// Whether the newest wake waits for CC.
async fn told_to_wait(world: &World) -> Result<(), String> {
    let waiting = world.deliveries().await.pop().unwrap();
    let reason = waiting.reason.clone().unwrap_or_default();
    if reason.contains("CC has not finished") { Ok(()) } else { Err(format!("{waiting:?}")) }
}

#[tokio::test]
async fn the_next_agent_waits_until_the_author_has_settled() {
    let world = World::with(&config(&["CC", "Codex"], "handover_grace: 1h"), |_| {}).await;
    world.woken("CC", 1).await;
    world.section("CC", "built it", "");
    world.until("the wait to be told", || told_to_wait(&world)).await;
    assert_eq!(world.wakes("Codex"), 0);
    world.idle("CC");
    world.woken("Codex", 1).await;
}

#[tokio::test]
async fn after_the_grace_the_next_agent_is_woken_all_the_same() {
    let world = World::with(&config(&["CC", "Codex"], "handover_grace: 1s"), |_| {}).await;
    world.woken("CC", 1).await;
    world.section("CC", "built it", "");
    world.woken("Codex", 1).await;
    assert_eq!(world.fake.wakes(ID, "CC").len(), 1);
}

#[tokio::test]
async fn while_a_rebase_is_under_way_the_turn_waits() {
    let world = World::two().await;
    world.woken("CC", 1).await;
    world.repo.commit("a.txt", "1", "one");
    world.repo.git(&["checkout", "--quiet", "-b", "side", "HEAD~1"]);
    world.repo.commit("a.txt", "2", "two");
    world.repo.git(&["checkout", "--quiet", "main"]);
    assert!(!world.repo.try_git(&["rebase", "side"]).status.success(), "it must conflict");
    // A section that lands on the branch meanwhile is looked at after it.
    let answer = world.ring_here("CC").await;
    assert!(answer["reason"].as_str().unwrap().contains("rebase"), "{answer}");
    world.repo.git(&["rebase", "--abort"]);
    world.turn("CC", "built it", "");
    world.woken("Codex", 1).await;
    world.settle().await;
    assert_eq!(world.fake.all(), 2);
}

#[tokio::test]
async fn a_wake_that_is_due_waits_for_the_end_of_a_rebase() {
    let world = World::two().await;
    world.woken("CC", 1).await;
    world.fake.set(ID, "Codex", Presence::Busy);
    world.turn("CC", "built it", "");
    world
        .until("the wake of Codex to wait", || async {
            let ledger = world.ledger().await;
            if ledger.contains("1 Codex 1 waiting") { Ok(()) } else { Err(ledger) }
        })
        .await;
    std::fs::create_dir_all(world.repo.path().join(".git/rebase-merge")).unwrap();
    world.idle("Codex");
    world.settle().await;
    assert_eq!(world.wakes("Codex"), 0);
    std::fs::remove_dir_all(world.repo.path().join(".git/rebase-merge")).unwrap();
    world.woken("Codex", 1).await;
}

#[tokio::test]
async fn two_loops_in_two_worktrees_do_not_mix() {
    let world = World::two().await;
    let path = world.sandbox.root().join("side");
    world.repo.git(&["worktree", "add", "--quiet", "-b", "loop/side", path.to_str().unwrap(), "HEAD~1"]);
    let side = world.repo.at(&path);
    world.open_loop(&side, "side-2", "loop/side", &config(&["CC", "Codex"], "")).await;
    world.up("side-2").await;
    world.router.as_ref().unwrap().desk().loops_changed();
    world.woken("CC", 1).await;
    world
        .until("the other CC to be woken", || async {
            let wakes = world.fake.wakes("side-2", "CC").len();
            if wakes == 1 { Ok(()) } else { Err(format!("{wakes}")) }
        })
        .await;
    world.turn("CC", "built it", "");
    world.woken("Codex", 1).await;
    assert_eq!(world.fake.wakes("side-2", "Codex").len(), 0);
    let (status, answer) =
        world.ring(json!({"author": "CC", "repo": path.join("sub/folder").to_str().unwrap()})).await;
    assert_eq!(status, 202, "{answer}");
    assert!(
        answer["reason"].as_str().unwrap().starts_with("turn 1 goes to CC"),
        "that of the side: {answer}"
    );
}

#[tokio::test]
async fn two_repositories_of_the_same_folder_name_do_not_mix() {
    let world = World::two().await;
    let other = world.sandbox.repo("elsewhere/shop");
    world.open_loop(&other, "shop-2", "main", &config(&["CC", "Codex"], "")).await;
    world.up("shop-2").await;
    world.router.as_ref().unwrap().desk().loops_changed();
    world.woken("CC", 1).await;
    world.turn("CC", "built it", "");
    world.woken("Codex", 1).await;
    assert_eq!(world.fake.wakes("shop-2", "Codex").len(), 0);
    world
        .until("the other CC to be woken", || async {
            let wakes = world.fake.wakes("shop-2", "CC").len();
            if wakes == 1 { Ok(()) } else { Err(format!("{wakes}")) }
        })
        .await;
}

#[tokio::test]
async fn a_planner_with_a_window_is_woken_once_at_the_end() {
    let yaml = "agents:\n  CC: {kind: scripted, transport: command}\n  \
                Hermes: {kind: scripted, transport: command}\nrotation: [CC]\nplanner: Hermes\npass: any\n";
    let world = World::with(yaml, |_| {}).await;
    world.woken("CC", 1).await;
    world.turn("CC", "done", "REVIEW-PASS");
    world.woken("Hermes", 1).await;
    // It owes no section: standing still is no failure of its.
    world.idle("Hermes");
    world
        .until("the planner's wake to be over", || async {
            let ledger = world.ledger().await;
            if ledger.contains("1 Hermes 1 unanswered") { Ok(()) } else { Err(ledger) }
        })
        .await;
    world.settle().await;
    assert_eq!(world.wakes("Hermes"), 1);
    assert_eq!(world.row().await.state, "passed");
}

#[tokio::test]
async fn the_grace_of_a_hand_over_is_time_in_which_somebody_looked() {
    let mut world = World::with(&config(&["CC", "Codex"], "handover_grace: 2s"), |_| {}).await;
    world.woken("CC", 1).await;
    world.section("CC", "built it", "");
    world.until("the wait to be told", || told_to_wait(&world)).await;
    // As over a night in which the machine slept, the grace goes by and nobody can say what CC did.
    world.crash().await;
    tokio::time::sleep(Duration::from_millis(2100)).await;
    let started = Instant::now();
    world.start().await;
    world.woken("Codex", 1).await;
    assert!(started.elapsed() >= Duration::from_millis(1900), "{:?}", started.elapsed());
}
