//! Agents that cannot be spoken to, transports that fail, and what is told of it.

use std::time::Duration;

use loop_router::tell::Tell;
use loop_transport::{Finished, Presence};
use serde_json::json;

use crate::fake::{Act, Fake};
use crate::world::{ID, World, config};

#[tokio::test]
async fn a_transport_that_fails_is_tried_again_and_then_dead_and_resume_tries_anew() {
    let world = World::down(&config(&["CC", "Codex"], ""), |_| {}).await;
    for _ in 0..10 {
        world.fake.next(ID, "CC", Act::Fail("no route"));
    }
    let mut world = world;
    world.up(ID).await;
    world.start().await;
    let decision = world.state("held", "CC could not be woken: no route").await;
    assert!(decision.contains("10 tries"), "{decision}");
    assert_eq!(world.ledger().await, "0 CC 1 dead");
    world.settle().await;
    assert_eq!(world.events("told").await.len(), 1, "{:?}", world.events("told").await);
    world.steer("resume", json!({})).await;
    world.woken("CC", 1).await;
    assert_eq!(world.ledger().await, "0 CC 1 dead, 0 CC 2 submitted");
}

#[tokio::test]
async fn a_few_failures_cost_nothing_but_time() {
    let mut world = World::down(&config(&["CC", "Codex"], ""), |_| {}).await;
    for _ in 0..3 {
        world.fake.next(ID, "CC", Act::Fail("busy line"));
    }
    world.fake.next(ID, "CC", Act::NotNow(Presence::Busy));
    world.up(ID).await;
    world.start().await;
    world.woken("CC", 1).await;
    assert_eq!(world.ledger().await, "0 CC 1 submitted");
}

#[tokio::test]
async fn nothing_is_typed_into_what_is_not_the_agent_at_rest() {
    let mut world = World::down(&config(&["CC", "Codex"], ""), |_| {}).await;
    let asks = Presence::Asks { says: "trust this folder?".into(), press: "1".into() };
    world.fake.set(ID, "CC", asks);
    world.options.ask_patience = Duration::from_millis(100);
    world.options.wait_patience = Duration::from_secs(3600);
    world.up(ID).await;
    world.start().await;
    world
        .until("a person to be told of the question", || async {
            let told = world.events("told").await;
            if told.len() == 1 { Ok(()) } else { Err(format!("{told:?}")) }
        })
        .await;
    for presence in [
        Presence::Shell("bash".into()),
        Presence::Limited("until 3 pm".into()),
        Presence::Starting,
        Presence::Unknown("noise".into()),
        Presence::Gone("closed".into()),
        Presence::Busy,
    ] {
        world.fake.set(ID, "CC", presence.clone());
        world.settle().await;
        assert_eq!(world.wakes("CC"), 0, "{presence:?}");
    }
    assert_eq!(world.events("told").await.len(), 2, "of the question, and of the limit");
    let lines = world.store().await.ledger(ID).await.unwrap().len();
    assert!(lines < 8, "{lines} lines for a wait");
    world.idle("CC");
    world.woken("CC", 1).await;
}

#[tokio::test]
async fn a_long_wait_is_told_once_whatever_flickers() {
    let mut world = World::down(&config(&["CC", "Codex"], ""), |_| {}).await;
    world.options.wait_patience = Duration::from_millis(200);
    world.up(ID).await;
    world.start().await;
    for look in 0..30 {
        let what = if look % 2 == 0 { Presence::Busy } else { Presence::Unknown(format!("frame {look}")) };
        world.fake.set(ID, "CC", what);
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    let told = world.events("told").await;
    assert_eq!(told.len(), 1, "{told:?}");
    let lines = world.store().await.ledger(ID).await.unwrap().len();
    assert!(lines <= 4, "{lines} lines");
}

#[tokio::test]
async fn a_send_that_hangs_is_unknown_and_looked_at_before_anything_is_typed_again() {
    let mut world = World::down(&config(&["CC", "Codex"], ""), |_| {}).await;
    world.options.send_limit = Duration::from_millis(200);
    world.fake.next(ID, "CC", Act::Hang);
    world.up(ID).await;
    world.start().await;
    world.woken("CC", 1).await;
    let states = states(&world).await;
    assert!(states.contains("typing unknown queued typing"), "{states}");
}

#[tokio::test]
async fn a_send_that_hangs_after_it_arrived_is_not_repeated() {
    for act in [Act::HearAndHang, Act::UnknownButHeard] {
        let mut world = World::down(&config(&["CC", "Codex"], ""), |_| {}).await;
        world.options.send_limit = Duration::from_millis(200);
        world.fake.next(ID, "CC", act.clone());
        world.up(ID).await;
        world.start().await;
        world
            .until("it to be seen working", || async {
                let ledger = world.ledger().await;
                if ledger == "0 CC 1 submitted" { Ok(()) } else { Err(ledger) }
            })
            .await;
        world.settle().await;
        assert_eq!(world.wakes("CC"), 1, "{act:?}");
        world.turn("CC", "built it", "");
        world.woken("Codex", 1).await;
    }
}

#[tokio::test]
async fn what_got_lost_is_sent_again_after_a_look() {
    let mut world = World::down(&config(&["CC", "Codex"], ""), |_| {}).await;
    world.fake.next(ID, "CC", Act::UnknownAndLost);
    world.up(ID).await;
    world.start().await;
    world.woken("CC", 1).await;
    assert!(states(&world).await.contains("unknown queued"));
}

#[tokio::test]
async fn a_text_that_is_never_submitted_is_finished_by_the_transport() {
    let mut world = World::down(&config(&["CC", "Codex"], ""), |_| {}).await;
    world.fake.next(ID, "CC", Act::OnlyTyped);
    world.fake.set(ID, "CC", Presence::Idle);
    world.up(ID).await;
    world.start().await;
    world
        .until("it to be typed", || async {
            let states = states(&world).await;
            if states.contains("typed") { Ok(()) } else { Err(states) }
        })
        .await;
    world.fake.set(ID, "CC", Presence::Draft("/agent-loop CC".into()));
    world.woken("CC", 1).await;
    assert_eq!(world.ledger().await, "0 CC 1 submitted");
}

#[tokio::test]
async fn a_usage_limit_is_no_failure_of_the_agent() {
    let world = World::two().await;
    world.woken("CC", 1).await;
    for times in 2..=4 {
        world.fake.set(ID, "CC", Presence::Limited("until 3 pm".into()));
        tokio::time::sleep(Duration::from_millis(100)).await;
        world.idle("CC");
        world.woken("CC", times).await;
    }
    assert_eq!(world.row().await.state, "running");
}

#[tokio::test]
async fn where_nobody_can_tell_that_it_finished_it_is_not_woken_again() {
    let blind = Fake::blind();
    let world = World::with(&config(&["CC", "Codex"], "handover_grace: 1s"), |options| {
        options.transports = vec![("command".to_owned(), blind.clone())];
    })
    .await;
    world
        .until("CC to be woken", || async {
            if blind.wakes(ID, "CC").len() == 1 { Ok(()) } else { Err(String::new()) }
        })
        .await;
    blind.set(ID, "CC", Presence::Idle);
    world.settle().await;
    world.settle().await;
    assert_eq!(blind.wakes(ID, "CC").len(), 1, "{}", world.ledger().await);
    world.section("CC", "built it", "");
    world
        .until("Codex to be woken after the grace", || async {
            if blind.wakes(ID, "Codex").len() == 1 { Ok(()) } else { Err(world.ledger().await) }
        })
        .await;
}

#[tokio::test]
async fn the_conversation_of_a_run_goes_on_in_the_next_one() {
    let world = World::two().await;
    world.woken("CC", 1).await;
    let finished = Finished {
        delivery_id: world.deliveries().await[0].id.clone(),
        exit: Some("exit 0".into()),
        success: true,
        conversation: Some("c-42".into()),
        tail: String::new(),
        output: None,
    };
    world.fake.finish(ID, "CC", finished);
    world.turn("CC", "built it", "");
    world.woken("Codex", 1).await;
    world.turn("Codex", "look again", "");
    world.woken("CC", 2).await;
    assert_eq!(world.fake.conversations(ID, "CC"), [None, Some("c-42".to_owned())]);
}

#[tokio::test]
async fn an_answer_quicker_than_the_receipt_is_no_error() {
    let world = World::with(&config(&["CC", "Codex"], "limits: off"), |_| {}).await;
    world.woken("CC", 1).await;
    for turn in 0..6 {
        let (author, other) = if turn % 2 == 0 { ("CC", "Codex") } else { ("Codex", "CC") };
        let times = world.wakes(other);
        world.turn(author, "quick", "");
        world.ring_here(author).await;
        world.woken(other, times + 1).await;
    }
    let open = world.store().await.open_deliveries(Some(ID)).await.unwrap();
    assert_eq!(open.len(), 1, "{}", world.ledger().await);
}

/// The states of the newest delivery, in order.
async fn states(world: &World) -> String {
    let ledger = world.store().await.ledger(ID).await.unwrap();
    ledger.iter().map(|line| line.state.as_str()).collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn a_planner_that_cannot_be_woken_is_told_too() {
    let yaml = "agents:\n  CC: {kind: scripted, transport: command}\n  \
                Hermes: {kind: scripted, transport: command}\nrotation: [CC]\nplanner: Hermes\npass: any\n";
    let mut world = World::down(yaml, |_| {}).await;
    for _ in 0..10 {
        world.fake.next(ID, "Hermes", Act::Fail("no route"));
    }
    world.up(ID).await;
    world.start().await;
    world.woken("CC", 1).await;
    world.turn("CC", "done", "REVIEW-PASS");
    world
        .until("both to be told", || async {
            let told = world.events("told").await;
            if told.len() == 2 { Ok(()) } else { Err(format!("{told:?}; {}", world.ledger().await)) }
        })
        .await;
    world.settle().await;
    assert_eq!(world.row().await.state, "passed", "the end stands");
    assert_eq!(world.events("told").await.len(), 2);
}

/// A loop in which Dana, a person, answers CC.
const WITH_A_PERSON: &str = "agents:\n  CC: {kind: scripted, transport: command}\n  Dana: {kind: human}\n\
                             rotation: [CC, Dana]\npass: any\nlimits: {turn_minutes: 1}\n";

#[tokio::test]
async fn a_person_is_told_once_and_answers_with_a_section() {
    let mut world = World::down(WITH_A_PERSON, |_| {}).await;
    let told = world.sandbox.root().join("told");
    let script = format!("printf '%s|%s\\n' \"$1\" \"$2\" >> {}", told.display());
    let words = ["/bin/sh", "-c", &script, "tell", "{title}", "{text}"].map(String::from).to_vec();
    world.options.tell = Tell::command(words, world.options.agent_env.clone());
    world.up(ID).await;
    world.start().await;
    world.woken("CC", 1).await;
    world.turn("CC", "built it", "");
    world.ring_here("CC").await;
    world
        .until("Dana to be told", || async {
            let ledger = world.ledger().await;
            if ledger.ends_with("1 Dana 1 submitted") { Ok(()) } else { Err(ledger) }
        })
        .await;
    world.settle().await;
    let said = std::fs::read_to_string(&told).unwrap();
    assert_eq!(
        said,
        format!(
            "your turn in shop|It is your turn: run `loop turn Dana` and follow it, then `loop commit Dana -m …`\nin {}\n",
            world.repo.path().canonicalize().unwrap().display()
        )
    );
    // Standing still is no answer, and a person's time is their own.
    let open = world.deliveries().await;
    assert_eq!(open.last().unwrap().worked_ms, 0);
    let you = loop_router::for_a_person(&open).unwrap();
    assert_eq!(you, "it is Dana's turn: `loop turn Dana`, then `loop commit Dana -m …`");
    world.section("Dana", "looks right", "");
    let since = std::time::Instant::now();
    world.ring_here("Dana").await;
    world.woken("CC", 2).await;
    assert!(since.elapsed().as_secs() < 15, "their commit is the end of their turn");
}

#[tokio::test]
async fn where_nobody_can_be_told_the_wake_waits_and_says_whose_turn_it_is() {
    let world = World::with(WITH_A_PERSON, |options| options.tell = Tell::default()).await;
    world.woken("CC", 1).await;
    world.turn("CC", "built it", "");
    world.ring_here("CC").await;
    let you = world
        .until("a word for a person", || async {
            loop_router::for_a_person(&world.deliveries().await).ok_or(world.ledger().await)
        })
        .await;
    assert!(you.contains("nobody can be told: set `tell:"), "{you}");
    assert!(you.contains("it is Dana's turn: `loop turn Dana`"), "{you}");
    // Who looks by themselves answers all the same.
    world.section("Dana", "looks right", "REVIEW-PASS");
    world.ring_here("Dana").await;
    world.state("passed", "Dana").await;
}
