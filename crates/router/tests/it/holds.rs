//! What holds a loop, and what a person does about it.

use std::collections::BTreeMap;
use std::time::Duration;

use loop_router::tell::Tell;
use loop_transport::Presence;
use serde_json::json;

use crate::world::{ID, World, config};

#[tokio::test]
async fn a_block_is_told_once_and_answered_by_resume() {
    let world = World::two().await;
    world.woken("CC", 1).await;
    world.turn("CC", "stuck", "REVIEW-BLOCKED: no key");
    world.state("blocked", "no key").await;
    world.settle().await;
    let told = world.events("told").await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with("blocked: "), "{told:?}");
    world.steer("resume", json!({})).await;
    world.woken("CC", 2).await;
}

#[tokio::test]
async fn pause_takes_back_what_was_not_typed_and_resume_goes_on() {
    let world = World::two().await;
    world.woken("CC", 1).await;
    world.fake.set(ID, "Codex", Presence::Busy);
    world.turn("CC", "built it", "");
    world
        .until("Codex's wake to wait", || async {
            let ledger = world.ledger().await;
            if ledger.contains("1 Codex 1 waiting") { Ok(()) } else { Err(ledger) }
        })
        .await;
    world.steer("pause", json!({"why": "lunch"})).await;
    world.idle("Codex");
    world.state("held", "lunch").await;
    world.settle().await;
    assert_eq!(world.wakes("Codex"), 0);
    assert!(world.events("told").await.is_empty(), "who paused knows");
    world.steer("resume", json!({})).await;
    world.woken("Codex", 1).await;
    assert!(world.ledger().await.ends_with("1 Codex 1 superseded, 1 Codex 2 submitted"));
}

#[tokio::test]
async fn stop_interrupts_and_the_agent_is_woken_again_later() {
    let world = World::two().await;
    world.woken("CC", 1).await;
    world.steer("stop", json!({})).await;
    assert_eq!(world.fake.interrupts(ID, "CC"), 1);
    world.state("held", "paused").await;
    world.settle().await;
    assert_eq!(world.wakes("CC"), 1);
    world.steer("resume", json!({})).await;
    world.woken("CC", 2).await;
    // That it was interrupted is not its failure: it may stop without a section once more before the loop is held.
    world.idle("CC");
    world.woken("CC", 3).await;
    world.idle("CC");
    world.state("held", "stopped without committing").await;
}

#[tokio::test]
async fn down_wakes_nobody_and_up_goes_on() {
    let world = World::two().await;
    world.woken("CC", 1).await;
    world.steer("down", json!({})).await;
    world.idle("CC");
    world.settle().await;
    assert_eq!(world.wakes("CC"), 1);
    world.steer("up", json!({})).await;
    world.woken("CC", 2).await;
}

#[tokio::test]
async fn a_skipped_agent_is_passed_over() {
    let world = World::with(&config(&["CC", "Codex", "OpenCode"], ""), |_| {}).await;
    world.woken("CC", 1).await;
    world.fake.set(ID, "Codex", Presence::Busy);
    world.turn("CC", "built it", "");
    world
        .until("Codex's wake", || async {
            let ledger = world.ledger().await;
            if ledger.contains("1 Codex 1") { Ok(()) } else { Err(ledger) }
        })
        .await;
    world.steer("skip", json!({"name": "codex"})).await;
    world.woken("OpenCode", 1).await;
    world.idle("Codex");
    world.settle().await;
    assert_eq!(world.wakes("Codex"), 0);
}

#[tokio::test]
async fn accepting_ends_the_loop() {
    let world = World::two().await;
    world.woken("CC", 1).await;
    world.turn("CC", "built it", "");
    world.woken("Codex", 1).await;
    world.steer("accept", json!({"by": "Dana"})).await;
    world.state("passed", "Dana").await;
    world.turn("Codex", "but wait", "");
    world.woken("CC", 2).await;
}

#[tokio::test]
async fn the_round_limit_is_told_at_half_for_the_log_and_holds_at_the_end() {
    let world = World::with(&config(&["CC", "Codex"], "limits: {rounds: 2, no_progress: off}"), |_| {}).await;
    for round in 1..=2 {
        for name in ["CC", "Codex"] {
            world.woken(name, round).await;
            world.turn(name, "again", "");
        }
        if round == 1 {
            world
                .until("the notice", || async {
                    let notices = world.events("notice").await;
                    if notices.len() == 1 { Ok(()) } else { Err(format!("{notices:?}")) }
                })
                .await;
            assert!(world.events("told").await.is_empty(), "half is no reason to call anybody");
        }
    }
    world.state("held", "2 of 2 rounds").await;
    world.settle().await;
    assert_eq!(world.events("notice").await.len(), 1);
    world.steer("resume", json!({"rounds": 1})).await;
    world.woken("CC", 3).await;
}

#[tokio::test]
async fn turn_minutes_hold_and_resume_starts_them_afresh() {
    let world = World::with(&config(&["CC", "Codex"], "limits: {turn_minutes: 0.005}"), |options| {
        options.sweep = Duration::from_millis(50);
    })
    .await;
    world.woken("CC", 1).await;
    world.state("held", "minutes on its turn").await;
    world.steer("resume", json!({})).await;
    // It is still at it: nothing is typed again, and its section is taken.
    world.state("running", "CC").await;
    world.turn("CC", "at last", "");
    world.woken("Codex", 1).await;
    assert_eq!(world.wakes("CC"), 1);
}

#[tokio::test]
async fn an_agent_that_settles_without_a_section_is_woken_once_more_then_the_loop_is_held() {
    let world = World::two().await;
    world.woken("CC", 1).await;
    world.repo.write("half.rs", "fn");
    world.fake.screen(ID, "CC", "compiling\nerror: no space left\n\n");
    world.idle("CC");
    world.woken("CC", 2).await;
    assert_eq!(world.fake.wakes(ID, "CC")[0], world.fake.wakes(ID, "CC")[1]);
    world.idle("CC");
    let decision = world.state("held", "CC stopped without committing (1 file changed)").await;
    assert!(decision.contains("compiling / error: no space left"), "{decision}");
    world.settle().await;
    assert_eq!(world.wakes("CC"), 2);
    assert_eq!(world.events("told").await.len(), 1);
    world.steer("resume", json!({})).await;
    world.woken("CC", 3).await;
    world.turn("CC", "now", "");
    world.woken("Codex", 1).await;
}

#[tokio::test]
async fn after_two_failures_another_can_take_the_turn() {
    let world = World::with(&config(&["CC", "Codex", "OpenCode"], ""), |_| {}).await;
    for times in 1..=2 {
        world.woken("CC", times).await;
        world.idle("CC");
    }
    world.state("held", "stopped without committing").await;
    world.steer("resume", json!({"to": "OpenCode"})).await;
    world.woken("OpenCode", 1).await;
    assert_eq!(world.wakes("CC"), 2);
}

#[tokio::test]
async fn a_person_is_asked_for_where_a_section_names_them() {
    let world = World::with(&config(&["CC", "Codex"], "people: [Dana]"), |_| {}).await;
    world.woken("CC", 1).await;
    world.turn("CC -> Dana", "blue or red?", "");
    world.idle("CC");
    world.state("held", "hands the turn to Dana").await;
    world.section("Dana", "blue", "");
    world.woken("CC", 2).await;
}

#[tokio::test]
async fn figures_and_names_that_make_no_sense_are_refused() {
    let world = World::two().await;
    for (command, body) in [
        ("resume", json!({"rounds": 0})),
        ("resume", json!({"hours": -1})),
        ("resume", json!({"to": "Nobody"})),
        ("skip", json!({"name": "Nobody"})),
        ("skip", json!({"name": "a b"})),
        ("trust", json!({"text": "agents: {}"})),
    ] {
        let path = format!("/api/loops/{ID}/{command}");
        let answer = world.post(&path).json(&body).send().await.unwrap();
        assert_eq!(answer.status(), 422, "{command} {body}");
        let problem: serde_json::Value = answer.json().await.unwrap();
        assert!(!problem["title"].as_str().unwrap().is_empty());
    }
}

#[tokio::test]
async fn a_run_that_failed_says_how_and_where_its_words_are() {
    let yaml = "agents:\n  CC: {kind: generic, transport: exec, command: [sh, -c, 'echo no such model >&2; exit 7']}\n\
                rotation: [CC]\npass: any\n";
    let world = World::with(yaml, |_| {}).await;
    let decision = world.state("held", "CC stopped without committing").await;
    for words in ["ended with exit 7", "no such model", "look at /", ".err, then `loop resume`"] {
        assert!(decision.contains(words), "{words}: {decision}");
    }
    assert!(!decision.contains("loop attach"), "{decision}");
}

#[tokio::test]
async fn a_window_that_was_closed_is_said_soon() {
    let world =
        World::with(&config(&["CC", "Codex"], ""), |options| options.quiet = Duration::from_secs(600)).await;
    world.woken("CC", 1).await;
    world.fake.set(ID, "CC", Presence::Gone("pane %3 is closed".to_owned()));
    let you = world
        .until("a word for a person", || async {
            loop_router::for_a_person(&world.deliveries().await).ok_or(world.ledger().await)
        })
        .await;
    assert_eq!(you, "CC has no window (pane %3 is closed); `loop up` opens it");
}

#[tokio::test]
async fn a_router_that_nothing_could_find_stops() {
    let mut world = World::down(&config(&["CC", "Codex"], ""), |options| {
        options.sweep = Duration::from_millis(50);
    })
    .await;
    world.start().await;
    let state = world.options.state_dir.clone();
    let router = world.router.take().unwrap();
    let running = tokio::spawn(router.run(std::future::pending()));
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!running.is_finished(), "as long as it is found it runs");
    std::fs::rename(&state, state.with_extension("away")).unwrap();
    tokio::time::timeout(Duration::from_secs(20), running).await.expect("it stops").unwrap();
    // The place is free for the next one.
    world.start().await;
    assert!(state.join("router.json").exists());
}

#[tokio::test]
async fn where_nobody_can_be_told_nobody_is_said_to_have_been() {
    let world =
        World::with(&config(&["CC", "Codex"], "pass: any"), |options| options.tell = Tell::default()).await;
    world.woken("CC", 1).await;
    world.turn("CC", "stuck", "REVIEW-BLOCKED: no key");
    world.state("blocked", "no key").await;
    world.steer("resume", json!({})).await;
    world.woken("CC", 2).await;
    world.turn("CC", "done", "REVIEW-PASS");
    world.state("passed", "").await;
    world.settle().await;
    assert!(world.events("told").await.is_empty());
    let untold = world.events("untold").await;
    assert_eq!(untold.len(), 1, "{untold:?}");
    assert!(untold[0].starts_with("nobody was told: no `tell:` is configured"), "{untold:?}");
    // And what ended it is said once.
    let decision = world.events("decision").await.pop().unwrap();
    assert_eq!(decision.matches("passed").count(), 1, "{decision}");
    assert_eq!(decision.matches("unverified").count(), 1, "{decision}");
}

#[tokio::test]
async fn what_an_agent_asks_in_the_middle_of_its_turn_is_for_a_person_as_long_as_it_asks() {
    let world = World::two().await;
    world.woken("CC", 1).await;
    let asks = Presence::Asks { says: "may I?".to_owned(), press: String::new() };
    world.fake.set(ID, "CC", asks);
    let you = world
        .until("a word for a person", || async {
            loop_router::for_a_person(&world.deliveries().await).ok_or(world.ledger().await)
        })
        .await;
    assert_eq!(you, "CC asks: may I?");
    world.fake.set(ID, "CC", Presence::Busy);
    world
        .until("nothing for a person", || async {
            loop_router::for_a_person(&world.deliveries().await).map_or(Ok(()), Err)
        })
        .await;
}

#[tokio::test]
async fn a_way_to_a_person_that_fails_is_an_incident_and_holds_up_no_other() {
    let mut world = World::down(&config(&["CC", "Codex"], "pass: any"), |_| {}).await;
    let told = world.sandbox.root().join("told");
    let script = format!("printf '%s\\n' \"$LOOP_KIND\" \"$LOOP_TEXT\" > {}", told.display());
    let works = ["/bin/sh", "-c", &script].map(String::from).to_vec();
    let mut tell = Tell::command(vec!["/bin/false".to_owned()], BTreeMap::new()).with_pauses(Vec::new());
    let other = Tell::command(works, world.options.agent_env.clone());
    tell.add("other", other.configured()[0].channel());
    world.options.tell = tell;
    world.up(ID).await;
    world.start().await;
    world.woken("CC", 1).await;
    world.turn("CC", "stuck", "REVIEW-BLOCKED: no key");
    world.state("blocked", "no key").await;
    let incident = world
        .until("the incident", || async {
            let incidents = world.store().await.incidents(10).await.unwrap();
            let found = incidents.iter().find(|incident| incident.what == "a person could not be told");
            found.cloned().ok_or(format!("{incidents:?}"))
        })
        .await;
    assert!(
        incident.detail.starts_with("command: /bin/false ended with exit status: 1; try "),
        "{incident:?}"
    );
    let said = world
        .until("the other to be told", || async {
            std::fs::read_to_string(&told).map_err(|error| error.to_string())
        })
        .await;
    assert!(said.starts_with("blocked\nheld: ") && said.contains("no key"), "{said}");
    assert!(said.trim_end().ends_with("/shop") && said.contains("`loop "), "{said}");
}
