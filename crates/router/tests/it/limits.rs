//! Usage limits: who is told, and who is left out.

use std::time::Duration;

use loop_transport::Presence;
use serde_json::json;

use crate::world::{ID, World, config};

/// CC meets a limit, before it is woken for the first time.
async fn limited(agent: &str, words: &str) -> World {
    let text = config(&["CC", "Codex"], "pass: any")
        .replace("CC: {kind: scripted,", &format!("CC: {{kind: scripted, {agent}"));
    let mut world = World::down(&text, |options| {
        options.limit_margin = Duration::from_millis(200);
        options.sweep = Duration::from_millis(50);
    })
    .await;
    world.fake.set(ID, "CC", Presence::Limited(words.to_owned()));
    world.up(ID).await;
    world.start().await;
    world
}

#[tokio::test]
async fn a_person_is_told_of_a_limit_although_nothing_was_typed() {
    let world = limited("", "try again in 2 hours").await;
    world
        .until("a person to be told", || async {
            let told = world.events("told").await;
            if told.iter().any(|line| line.contains("try again in 2 hours (until ")) {
                Ok(())
            } else {
                Err(format!("{told:?}"))
            }
        })
        .await;
    world.settle().await;
    assert_eq!(world.events("told").await.len(), 1, "once");
    assert_eq!(world.wakes("CC"), 0);
    // It is waited out: nothing is left to do for anybody.
    assert_eq!(loop_router::for_a_person(&world.deliveries().await), None);
}

#[tokio::test]
async fn whom_a_person_leaves_out_is_left_out_whatever_becomes_of_a_limit() {
    let world = limited("on_limit: skip, ", "try again in 1 second").await;
    world.woken("Codex", 1).await;
    world
        .until("CC to take part again", || async {
            let said = world.events("steer").await;
            if said.iter().any(|line| line.contains("takes part again")) {
                Ok(())
            } else {
                Err(format!("{said:?}"))
            }
        })
        .await;
    world.steer("skip", json!({"name": "CC"})).await;
    world.settle().await;
    assert_eq!(world.row().await.skipped.len(), 1, "{:?}", world.events("steer").await);
}

#[tokio::test]
async fn whom_a_person_takes_in_again_is_woken_although_the_limit_still_stands_there() {
    let world = limited("on_limit: skip, ", "ask your administrator").await;
    world.woken("Codex", 1).await;
    // Nobody but a person can say when it ends, and so they are told.
    world
        .until("a person to be told", || async {
            let told = world.events("told").await;
            let words = "skipped until `loop skip CC --undo`";
            if told.iter().any(|line| line.contains(words)) { Ok(()) } else { Err(format!("{told:?}")) }
        })
        .await;
    world.steer("skip", json!({"name": "CC", "undo": true})).await;
    world.turn("Codex", "built", "");
    world.ring_here("Codex").await;
    world.woken("CC", 1).await;
    assert!(world.row().await.skipped.is_empty(), "{:?}", world.events("steer").await);
}

#[tokio::test]
async fn when_everybody_is_left_out_for_a_limit_the_loop_goes_on_at_its_end() {
    let text =
        config(&["CC", "Codex"], "pass: any").replace("kind: scripted,", "kind: scripted, on_limit: skip,");
    let mut world = World::down(&text, |options| {
        options.limit_margin = Duration::from_millis(200);
        options.sweep = Duration::from_millis(50);
    })
    .await;
    for agent in ["CC", "Codex"] {
        world.fake.set(ID, agent, Presence::Limited("try again in 3 seconds".to_owned()));
    }
    world.up(ID).await;
    world.start().await;
    world
        .until("everybody to be left out", || async {
            let row = world.row().await;
            if row.skipped.len() == 2 { Ok(()) } else { Err(format!("{row:?}")) }
        })
        .await;
    for agent in ["CC", "Codex"] {
        world.fake.set(ID, agent, Presence::Idle);
    }
    world.woken("CC", 1).await;
    world
        .until("nobody to be left out", || async {
            let row = world.row().await;
            if row.skipped.is_empty() { Ok(()) } else { Err(format!("{row:?}")) }
        })
        .await;
}

#[tokio::test]
async fn a_limit_that_counts_down_is_one_limit() {
    let world = limited("", "try again in 7200 seconds").await;
    for second in 0..20 {
        world.fake.set(ID, "CC", Presence::Limited(format!("try again in {} seconds", 7199 - second)));
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
    world.settle().await;
    let said = world.events("delivery").await;
    let met = said.iter().filter(|line| line.starts_with("CC has met a usage limit")).count();
    assert_eq!(met, 1, "{said:#?}");
    let lines = world.store().await.ledger(ID).await.unwrap().len();
    assert!(lines <= 4, "{lines} lines");
}

#[tokio::test]
async fn a_limit_that_has_counted_down_is_waited_out() {
    let world = limited("", "try again in 1 second").await;
    world
        .until("the limit to be known", || async {
            let said = world.events("delivery").await;
            if said.iter().any(|line| line.contains("has met")) { Ok(()) } else { Err(format!("{said:?}")) }
        })
        .await;
    // No time can be read from it any more, which would hold the loop.
    world.fake.set(ID, "CC", Presence::Limited("try again in 0 seconds".to_owned()));
    world.settle().await;
    assert_eq!(world.row().await.paused, None);
    world.idle("CC");
    world.woken("CC", 1).await;
}
