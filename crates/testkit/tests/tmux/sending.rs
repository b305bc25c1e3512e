//! A wake is submitted once, whatever the window does.

use std::sync::Mutex;
use std::time::Duration;

use loop_core::DeliveryState;
use loop_core::profile::TextMethod;
use loop_testkit::script::{Script, Step};
use loop_transport::{Presence, Progress, TransportError, Wake};

use crate::stage::{Stage, gated};

#[tokio::test]
async fn a_wake_is_typed_submitted_and_answered() {
    let Some(stage) = Stage::open(&Script::of([gated()])).await else { return };
    stage.ready.as_ref().unwrap();
    assert_eq!(stage.probe().await, Presence::Idle);
    let receipt = stage.wake().await.unwrap();
    assert_eq!(receipt.state, DeliveryState::Submitted, "{}", receipt.note);
    assert_eq!(stage.submitted(), ["/agent-loop CC"]);
    assert_eq!(stage.probe().await, Presence::Busy);
    assert_eq!(stage.wake().await, Err(TransportError::NotNow(Presence::Busy)));
    stage.open_gate();
    stage.until(Presence::Idle).await;
    assert_eq!(stage.submitted().len(), 1);
    assert!(stage.transport.capture(&stage.session).await.unwrap().contains("> /agent-loop CC"));
}

#[tokio::test]
async fn a_short_turn_is_seen_by_its_empty_composer() {
    let Some(stage) = Stage::open(&Script::of([vec![]])).await else { return };
    let receipt = stage.wake().await.unwrap();
    assert_eq!(receipt.state, DeliveryState::Submitted, "{}", receipt.note);
    assert_eq!(stage.submitted(), ["/agent-loop CC"]);
}

async fn enters_dropped(drop_enters: u32) {
    let script = Script { drop_enters, ..Script::of([gated()]) };
    let Some(stage) = Stage::open(&script).await else { return };
    let receipt = stage.wake().await.unwrap();
    assert_eq!(receipt.state, DeliveryState::Submitted, "{}", receipt.note);
    assert_eq!(stage.count("enter-dropped"), drop_enters as usize);
    assert_eq!(stage.submitted(), ["/agent-loop CC"]);
}

#[tokio::test]
async fn a_lost_enter_is_pressed_again() {
    enters_dropped(1).await;
}

#[tokio::test]
async fn two_lost_enters_are_followed_by_a_bare_return() {
    enters_dropped(2).await;
}

#[tokio::test]
async fn text_left_standing_is_unknown_and_taken_up_by_the_next_wake() {
    let script = Script { drop_enters: 4, ..Script::of([gated()]) };
    let Some(stage) = Stage::open(&script).await else { return };
    let error = stage.wake().await.unwrap_err();
    assert!(matches!(error, TransportError::Unknown(_)), "{error:?}");
    assert_eq!(stage.probe().await, Presence::Draft("/agent-loop CC".into()));
    stage.wake().await.unwrap();
    assert_eq!(stage.submitted(), ["/agent-loop CC"], "not typed a second time");
}

#[tokio::test]
async fn an_enter_taken_for_a_line_break_is_pressed_again() {
    let script = Script { burst_ms: 400, ..Script::of([gated()]) };
    let Some(mut stage) = Stage::open(&script).await else { return };
    stage.session.profile.settle_ms = 0;
    stage.wake().await.unwrap();
    assert_eq!(stage.submitted(), ["/agent-loop CC"]);
}

#[tokio::test]
async fn copy_mode_is_left_first() {
    let Some(stage) = Stage::open(&Script::of([gated()])).await else { return };
    stage.sandbox.tmux(&["copy-mode", "-t", stage.pane.as_str()]);
    stage.wake().await.unwrap();
    assert_eq!(stage.submitted(), ["/agent-loop CC"]);
}

#[tokio::test]
async fn twenty_columns_are_enough() {
    for (name, method) in [("LongestNameOfAll-1", TextMethod::Paste), ("小明小明小明小明", TextMethod::Keys)]
    {
        let Some(mut stage) = Stage::open_as(name, &Script::of([gated()]), |_| {}).await else { return };
        stage.session.profile.text = method;
        let pane = stage.pane.clone();
        stage.sandbox.tmux(&["resize-window", "-t", pane.as_str(), "-x", "20", "-y", "12"]);
        stage.until(Presence::Idle).await;
        stage.wake().await.unwrap();
        assert_eq!(stage.submitted(), [format!("/agent-loop {name}")]);
        assert_eq!(stage.probe().await, Presence::Busy, "the title still tells");
    }
}

#[tokio::test]
async fn keys_carry_letters_of_every_script_and_a_last_semicolon() {
    let Some(mut stage) = Stage::open_as("小明", &Script::of([gated()]), |_| {}).await else { return };
    stage.session.profile.text = TextMethod::Keys;
    stage.wake_with("/agent-loop 小明 -n 'x' \\;").await.unwrap();
    assert_eq!(stage.submitted(), ["/agent-loop 小明 -n 'x' \\;"]);
}

#[tokio::test]
async fn two_senders_make_one_turn() {
    let Some(stage) = Stage::open(&Script::of([gated()])).await else { return };
    let (one, two) = tokio::join!(stage.wake(), stage.wake());
    let refused = [one, two].into_iter().filter(Result::is_err).count();
    assert_eq!(refused, 1);
    assert_eq!(stage.submitted(), ["/agent-loop CC"]);
}

/// Types into the window as soon as our text stands there.
struct Person<'a>(&'a Stage, Mutex<u32>);

#[async_trait::async_trait]
impl Progress for Person<'_> {
    async fn typed(&self) {
        self.0.keys(&["-l", " wait"]);
        *self.1.lock().unwrap() += 1;
    }
}

#[tokio::test]
async fn a_person_typing_in_between_is_not_submitted() {
    let Some(mut stage) = Stage::open(&Script::of([gated()])).await else { return };
    stage.session.profile.settle_ms = 500;
    let wake = Wake { delivery_id: "d-1".to_owned(), attempt: 1, text: stage.text() };
    let person = Person(&stage, Mutex::new(0));
    let error = stage.transport.wake(&stage.session, &wake, &person).await.unwrap_err();
    assert!(matches!(&error, TransportError::Unknown(why) if why.contains("/agent-loop CC wait")), "{error}");
    assert_eq!(*person.1.lock().unwrap(), 1);
    assert!(stage.submitted().is_empty());
    assert_eq!(stage.probe().await, Presence::Draft("/agent-loop CC wait".into()));
}

#[tokio::test]
async fn without_a_composer_only_working_is_proof() {
    let script = Script::of([gated(), vec![]]);
    let Some(mut stage) = Stage::open(&script).await else { return };
    stage.session.profile.signs.composer = None;
    let receipt = stage.wake().await.unwrap();
    assert_eq!(receipt.state, DeliveryState::Submitted, "{}", receipt.note);
    stage.open_gate();
    stage.until(Presence::Idle).await;
    // A turn that is over before it was seen: honest is "unknown".
    let error = stage.wake().await;
    match error {
        Err(TransportError::Unknown(_)) => {}
        Ok(receipt) => assert_eq!(receipt.state, DeliveryState::Submitted),
        Err(other) => panic!("{other:?}"),
    }
    assert_eq!(stage.submitted().len(), 2);
}

#[tokio::test]
async fn a_working_agent_is_interrupted_and_an_idle_one_left_alone() {
    let Some(stage) = Stage::open(&Script::of([vec![Step::Sleep(600_000)]])).await else { return };
    stage.transport.interrupt(&stage.session).await.unwrap();
    stage.wake().await.unwrap();
    stage.transport.interrupt(&stage.session).await.unwrap();
    stage.until(Presence::Idle).await;
    assert_eq!(stage.count("interrupted"), 1);
}

#[tokio::test]
async fn text_of_two_lines_is_refused() {
    let Some(stage) = Stage::open(&Script::default()).await else { return };
    let error = stage.wake_with("one\ntwo").await.unwrap_err();
    assert!(matches!(error, TransportError::Failed(_)));
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert!(stage.submitted().is_empty());
}

#[tokio::test]
async fn a_line_that_stays_where_it_was_typed_is_no_draft() {
    // The worked example of the documentation, for real.
    let page = include_str!("../../../../docs/loop-yaml.md");
    let example = page.split("```yaml\n").find(|part| part.contains("  Asker:\n")).unwrap();
    let Some(stage) = Stage::open_prompt(example.split("```").next().unwrap()).await else { return };
    stage.ready.as_ref().unwrap();
    assert_eq!(stage.probe().await, Presence::Idle);
    let receipt = stage.wake().await.unwrap();
    assert_eq!(receipt.state, DeliveryState::Submitted, "{}", receipt.note);
    assert_eq!(stage.probe().await, Presence::Busy);
    assert_eq!(stage.repo.read("heard").lines().count(), 1, "pressed once");
    stage.open_gate();
    stage.until(Presence::Idle).await;
    stage.wake().await.unwrap();
    let heard = "Run `loop turn Asker` and follow it\n";
    assert_eq!(stage.repo.read("heard"), heard.repeat(2));
}
