//! A router that is cut off anywhere goes on where it was: every turn is handed over once.

use std::time::Duration;

use loop_core::DeliveryState;
use loop_router::{Router, StartError};
use loop_transport::Presence;

use crate::fake::Act;
use crate::world::{ID, World, config};

#[tokio::test]
async fn killed_between_turns() {
    let mut world = World::two().await;
    world.woken("CC", 1).await;
    world.crash().await;
    world.turn("CC", "built it", "");
    world.start().await;
    world.woken("Codex", 1).await;
    world.restart().await;
    world.settle().await;
    assert_eq!((world.wakes("CC"), world.wakes("Codex")), (1, 1), "{}", world.ledger().await);
    world.turn("Codex", "right", "REVIEW-PASS");
    world.state("passed", "Codex").await;
    world.restart().await;
    world.settle().await;
    assert_eq!(world.fake.all(), 2);
}

#[tokio::test]
async fn killed_while_the_wake_waits() {
    let mut world = World::down(&config(&["CC", "Codex"], ""), |_| {}).await;
    world.fake.set(ID, "CC", Presence::Busy);
    world.up(ID).await;
    world.start().await;
    world
        .until("a wait", || async {
            let ledger = world.ledger().await;
            if ledger == "0 CC 1 waiting" { Ok(()) } else { Err(ledger) }
        })
        .await;
    world.restart().await;
    world.idle("CC");
    world.woken("CC", 1).await;
}

#[tokio::test]
async fn killed_in_the_middle_of_a_send_that_arrived() {
    killed_while_sending(Act::HearAndHang, true).await;
}

#[tokio::test]
async fn killed_in_the_middle_of_a_send_that_did_not_arrive() {
    killed_while_sending(Act::Hang, false).await;
}

async fn killed_while_sending(act: Act, arrives: bool) {
    let mut world = World::down(&config(&["CC", "Codex"], ""), |_| {}).await;
    world.fake.next(ID, "CC", act);
    world.up(ID).await;
    world.start().await;
    world
        .until("the send to begin", || async {
            let ledger = world.ledger().await;
            let heard = !arrives || world.wakes("CC") == 1;
            if ledger == "0 CC 1 typing" && heard { Ok(()) } else { Err(ledger) }
        })
        .await;
    world.restart().await;
    world.woken("CC", 1).await;
    world.settle().await;
    assert_eq!(world.wakes("CC"), 1, "{}", world.ledger().await);
    world.turn("CC", "built it", "");
    world.woken("Codex", 1).await;
}

#[tokio::test]
async fn killed_after_a_wake_that_was_answered_before_anybody_looked() {
    let mut world = World::down(&config(&["CC", "Codex"], ""), |_| {}).await;
    world.fake.next(ID, "CC", Act::HearAndHang);
    world.up(ID).await;
    world.start().await;
    world.woken("CC", 1).await;
    world.crash().await;
    world.turn("CC", "built it", "");
    world.start().await;
    world.woken("Codex", 1).await;
    assert_eq!(world.wakes("CC"), 1);
    assert!(world.ledger().await.starts_with("0 CC 1 answered"));
}

#[tokio::test]
async fn killed_between_a_wake_that_led_to_nothing_and_the_next_one() {
    let mut world = World::two().await;
    world.woken("CC", 1).await;
    world.crash().await;
    // What the router would have written next, and no more.
    let store = world.store().await;
    let delivery = world.deliveries().await.pop().unwrap();
    let to = DeliveryState::Unanswered;
    let why = Some("nothing changed");
    assert!(store.advance(&delivery.id, delivery.state, to, why, jiff::Timestamp::now()).await.unwrap());
    world.idle("CC");
    world.start().await;
    world.woken("CC", 2).await;
    world.idle("CC");
    world.state("held", "stopped without committing").await;
}

/// At each moment of a turn the router is cut off; whatever the moment, nothing is handed over twice.
#[tokio::test]
async fn killed_at_any_moment_every_turn_is_handed_over_once() {
    let mut world = World::with(&config(&["CC", "Codex"], "limits: off"), |options| {
        options.quiet = Duration::from_millis(300);
    })
    .await;
    let mut pause = 0;
    for turn in 0..24_usize {
        let (author, other) = if turn % 2 == 0 { ("CC", "Codex") } else { ("Codex", "CC") };
        world.woken(author, turn / 2 + 1).await;
        world.repo.write("work.txt", format!("{turn}"));
        world.turn(author, &format!("turn {turn}"), "");
        // From at once to after the whole hand-over, in uneven steps.
        tokio::time::sleep(Duration::from_millis(pause)).await;
        pause = (pause + 7) % 90;
        world.restart().await;
        world.woken(other, turn.div_ceil(2) + 1).await;
    }
    world.settle().await;
    assert_eq!(world.fake.all(), 25, "{}", world.ledger().await);
}

#[tokio::test]
async fn a_second_router_is_refused_and_changes_nothing() {
    let world = World::two().await;
    let first = world.router.as_ref().unwrap().addr();
    let error = Router::start(world.options.clone()).await.err().unwrap();
    assert!(
        matches!(&error, StartError::Running { pid, addr } if *pid == std::process::id() && *addr == first)
    );
    assert!(error.to_string().contains("runs already"), "{error}");
    assert!(world.options.state_dir.join("router.json").exists());
    world.woken("CC", 1).await;
}

#[tokio::test]
async fn a_busy_port_moves_unless_somebody_asked_for_it() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut world = World::down(&config(&["CC"], ""), |_| {}).await;
    world.options.listen = taken.local_addr().unwrap();
    world.options.port_may_move = false;
    let error = Router::start(world.options.clone()).await.err().unwrap();
    assert!(matches!(error, StartError::Listen { .. }), "{error:?}");
    assert!(!world.options.state_dir.join("router.json").exists(), "nothing is left behind");
    world.options.port_may_move = true;
    world.start().await;
    let addr = world.router.as_ref().unwrap().addr();
    assert_ne!(addr.port(), taken.local_addr().unwrap().port());
    let file = std::fs::read_to_string(world.options.state_dir.join("router.json")).unwrap();
    assert!(file.contains(&addr.to_string()), "{file}");
}

#[tokio::test]
async fn another_machine_s_address_is_refused_unless_asked_for() {
    let mut world = World::down(&config(&["CC"], ""), |_| {}).await;
    world.options.listen = ([0, 0, 0, 0], 0).into();
    let error = Router::start(world.options.clone()).await.err().unwrap();
    assert!(matches!(error, StartError::NotLoopback(_)), "{error:?}");
}

#[tokio::test]
async fn stopping_finishes_the_send_under_way_and_leaves_the_place() {
    let mut world = World::two().await;
    world.woken("CC", 1).await;
    let router = world.router.take().unwrap();
    router.stop().await;
    assert!(!world.options.state_dir.join("router.json").exists());
    assert_eq!(world.ledger().await, "0 CC 1 submitted");
    world.start().await;
    world.settle().await;
    assert_eq!(world.wakes("CC"), 1);
}

#[tokio::test]
async fn an_ended_loop_is_never_looked_at() {
    let world = World::two().await;
    world.woken("CC", 1).await;
    let path = format!("/api/loops/{ID}");
    let ended = reqwest::Client::new()
        .delete(world.url(&path))
        .bearer_auth(world.options.key.expose())
        .send()
        .await
        .unwrap();
    assert!(ended.status().is_success());
    world.turn("CC", "too late", "");
    world.settle().await;
    assert_eq!(world.fake.all(), 1);
    assert_eq!(world.store().await.turns(ID).await.unwrap().len(), 0);
}
