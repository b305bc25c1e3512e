//! Where nothing may be typed, nothing is.

use loop_testkit::eventually_async;
use loop_testkit::script::{Script, Step};
use loop_transport::tmux::{NotReady, OpenWindow, PaneId, Tags};
use loop_transport::{Presence, TransportError};

use crate::stage::{LONG, Stage, gated};

/// Wakes and expects the refusal, with nothing typed.
async fn refused(stage: &Stage, expected: Presence) {
    assert_eq!(stage.probe().await, expected, "{}", stage.picture());
    assert_eq!(stage.wake().await, Err(TransportError::NotNow(expected)));
}

#[tokio::test]
async fn a_dialog_is_never_answered() {
    let script = Script { ask_at_start: Some("trust this folder?".into()), ..Script::of([gated()]) };
    let Some(stage) = Stage::open(&script).await else { return };
    assert!(matches!(&stage.ready, Err(NotReady::Asks { says, .. }) if says.contains("trust this folder")));
    let presence = stage.probe().await;
    assert!(matches!(presence, Presence::Asks { .. }), "{presence:?}");
    refused(&stage, presence).await;
    let error = stage.transport.interrupt(&stage.session).await;
    assert!(matches!(error, Err(TransportError::NotNow(Presence::Asks { .. }))));
    assert_eq!(stage.count("key-at-dialog"), 0);
    // A person answers; now it may be woken.
    stage.keys(&["y"]);
    stage.until(Presence::Idle).await;
    stage.wake().await.unwrap();
    assert_eq!(stage.submitted(), ["/agent-loop CC"]);
}

#[tokio::test]
async fn a_dialog_in_the_middle_of_a_turn_is_reported() {
    let script = Script::of([vec![Step::Ask("allow git push?".into())]]);
    let Some(stage) = Stage::open(&script).await else { return };
    // The dialog may be up before the agent was seen working: then nobody can say what the Enter did.
    let woken = stage.wake().await;
    assert!(matches!(&woken, Ok(_) | Err(TransportError::Unknown(_))), "{woken:?}");
    let presence = stage.probe().await;
    assert!(
        matches!(&presence, Presence::Asks { says, .. } if says.contains("allow git push?")),
        "{presence:?}"
    );
    assert_eq!(stage.count("key-at-dialog"), 0);
    assert_eq!(stage.submitted(), ["/agent-loop CC"]);
}

#[tokio::test]
async fn a_usage_limit_is_waited_for() {
    let script = Script::of([vec![Step::Limit("17:00".into())]]);
    let Some(stage) = Stage::open(&script).await else { return };
    let _ = stage.wake().await;
    let presence = stage.probe().await;
    assert!(matches!(&presence, Presence::Limited(until) if until.contains("17:00")), "{presence:?}");
    refused(&stage, presence).await;
}

#[tokio::test]
async fn somebody_s_draft_stays_as_it_is() {
    let script = Script { draft_at_start: Some("please look at".into()), ..Script::of([gated()]) };
    let Some(stage) = Stage::open(&script).await else { return };
    refused(&stage, Presence::Draft("please look at".into())).await;
    assert!(stage.picture().contains("❯ please look at\n") || stage.picture().ends_with("❯ please look at"));
    assert!(stage.submitted().is_empty());
}

#[tokio::test]
async fn a_shell_runs_nothing_of_ours() {
    let script = Script::of([[gated(), vec![Step::Shell]].concat()]);
    let Some(stage) = Stage::open(&script).await else { return };
    stage.wake().await.unwrap();
    stage.open_gate();
    stage.until_logged("shell").await;
    stage.until(Presence::Shell("sh".into())).await;
    refused(&stage, Presence::Shell("sh".into())).await;
    assert_eq!(stage.submitted().len(), 1);
}

#[tokio::test]
async fn an_ended_program_and_a_closed_window_are_gone() {
    let script = Script::of([vec![Step::Exit(7)]]);
    let Some(stage) = Stage::open(&script).await else { return };
    let _ = stage.wake().await;
    let gone = eventually_async("the program's end", LONG, || async {
        match stage.probe().await {
            gone @ Presence::Gone(_) => Ok(gone),
            other => Err(format!("{other:?}")),
        }
    })
    .await;
    assert!(matches!(&gone, Presence::Gone(why) if why.contains("its program has ended")), "{gone:?}");
    assert!(matches!(stage.wake().await, Err(TransportError::NotNow(Presence::Gone(_)))));
    assert!(stage.transport.capture(&stage.session).await.unwrap().contains("loop-fake-agent plays CC"));
    stage.server.kill_window(&stage.pane).await.unwrap();
    let presence = stage.probe().await;
    assert!(matches!(&presence, Presence::Gone(why) if why.contains("is closed")), "{presence:?}");
    assert!(matches!(stage.wake().await, Err(TransportError::NotNow(Presence::Gone(_)))));
    // Also when it was the last window and the server went with it.
    assert_eq!(stage.server.panes().await.unwrap(), []);
}

#[tokio::test]
async fn another_s_window_is_not_ours() {
    let Some(mut stage) = Stage::open(&Script::of([gated()])).await else { return };
    let other = Tags { loop_id: "loop-2".into(), agent: stage.session.agent.clone() };
    stage.server.tag(&stage.pane, &other).await.unwrap();
    let presence = stage.probe().await;
    assert!(matches!(&presence, Presence::Gone(why) if why.contains("loop-2")), "{presence:?}");
    refused(&stage, presence).await;
    stage.server.untag(&stage.pane).await.unwrap();
    assert!(matches!(stage.probe().await, Presence::Gone(_)));
    // An id that is not there must not be answered for by another pane.
    stage.session.address = serde_json::json!("%99");
    assert!(matches!(stage.probe().await, Presence::Gone(why) if why.contains("%99")));
    assert!(stage.server.tag(&PaneId::new("%99").unwrap(), &other).await.is_err());
    assert!(stage.submitted().is_empty());
}

#[tokio::test]
async fn of_two_windows_with_its_tags_none_is_guessed() {
    let Some(mut stage) = Stage::open(&Script::of([gated()])).await else { return };
    let argv = stage.session.command.clone().unwrap();
    let window = OpenWindow {
        session: "loop-project".into(),
        name: "copy".into(),
        kind: "scripted".into(),
        argv,
        env: stage.sandbox.env_text(),
        cwd: stage.repo.path().to_owned(),
        tags: Tags { loop_id: "loop-1".into(), agent: stage.session.agent.clone() },
    };
    let copy = stage.server.open_window(&window).await.unwrap();
    // As long as the one that is registered stands, it is woken there.
    assert_eq!(stage.probe().await, Presence::Idle);
    stage.session.address = serde_json::json!("%99");
    let presence = stage.probe().await;
    let both = format!("{} and {copy} are its windows: close all but one", stage.pane);
    assert!(matches!(&presence, Presence::Unknown(why) if why.contains(&both)), "{presence:?}");
    assert!(matches!(stage.wake().await, Err(TransportError::NotNow(Presence::Unknown(_)))));
    assert!(stage.submitted().is_empty());
    stage.server.kill_window(&copy).await.unwrap();
    stage.wake().await.unwrap();
    assert_eq!(stage.submitted(), ["/agent-loop CC"]);
}

#[tokio::test]
async fn a_window_that_shows_nothing_is_starting() {
    let script = Script { slow_start_ms: 1500, ..Script::of([gated()]) };
    let Some(mut stage) = Stage::open(&script).await else { return };
    // `open` has waited until it was ready, so what it types is not lost.
    stage.ready.as_ref().unwrap();
    stage.wake().await.unwrap();
    assert_eq!(stage.submitted(), ["/agent-loop CC"]);
    stage.session.address = serde_json::json!({"pane": "%x"});
    let error = stage.transport.probe(&stage.session).await.unwrap_err();
    assert!(error.to_string().contains("loop agents register CC"), "{error}");
}
