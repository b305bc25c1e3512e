//! Claiming, moving along, putting off, and taking stock after a crash.

use loop_core::Delivery;
use loop_core::DeliveryState::{self, *};
use loop_store::{LoopPatch, Store, StoreError};

use crate::support::{Folder, LEASE, at, new_loop, outcome};

async fn queued(store: &Store) -> Delivery {
    store.record("L", &outcome(&["CC"], Some("Codex"), 1)).await.unwrap().delivery.unwrap()
}

async fn claimed(store: &Store, owner: &str, seconds: i64) -> String {
    let claimed = store.claim(owner, LEASE, at(seconds)).await.unwrap();
    claimed.into_iter().map(|delivery| delivery.id).collect::<Vec<_>>().join(" ")
}

async fn patch(store: &Store, patch: LoopPatch) {
    store.update_loop("L", patch).await.unwrap();
}

#[tokio::test]
async fn one_router_claims_until_the_lease_is_over() {
    let folder = Folder::new();
    let store = folder.open_with_loop().await;
    let id = queued(&store).await.id;
    assert_eq!(claimed(&store, "one", 2).await, id);
    assert!(claimed(&store, "two", 3).await.is_empty());
    assert!(claimed(&store, "one", 3).await.is_empty());
    assert_eq!(claimed(&store, "two", 62).await, id);
    store.release(&id).await.unwrap();
    assert_eq!(claimed(&store, "one", 63).await, id);
}

#[tokio::test]
async fn only_a_loop_that_is_up_is_delivered_to() {
    let folder = Folder::new();
    let store = folder.open_with_loop().await;
    let id = queued(&store).await.id;
    let closed = [
        (LoopPatch { up: Some(false), ..LoopPatch::default() }, "down"),
        (LoopPatch { paused: Some(Some("lunch".to_owned())), ..LoopPatch::default() }, "paused"),
        (LoopPatch { ended_at: Some(Some(at(1))), ..LoopPatch::default() }, "ended"),
    ];
    for (change, why) in closed {
        patch(&store, change).await;
        assert!(claimed(&store, "one", 2).await.is_empty(), "{why}");
        let open =
            LoopPatch { up: Some(true), paused: Some(None), ended_at: Some(None), ..LoopPatch::default() };
        patch(&store, open).await;
    }
    assert_eq!(claimed(&store, "one", 2).await, id);
}

#[tokio::test]
async fn nothing_is_claimed_before_its_time() {
    let folder = Folder::new();
    let store = folder.open_with_loop().await;
    let id = queued(&store).await.id;
    store.set_not_before(&id, at(10)).await.unwrap();
    assert!(claimed(&store, "one", 9).await.is_empty());
    assert_eq!(claimed(&store, "one", 10).await, id);
    let later = store.postpone(&id, Waiting, "busy", at(20), false, at(11)).await.unwrap();
    assert_eq!((later.state, later.tries, later.not_before), (Waiting, 0, at(20)));
    assert!(claimed(&store, "one", 19).await.is_empty());
    assert_eq!(claimed(&store, "one", 20).await, id);
}

#[tokio::test]
async fn a_clock_that_is_set_back_puts_nothing_off_for_hours() {
    let folder = Folder::new();
    let store = folder.open_with_loop().await;
    let id = queued(&store).await.id;
    // The clock was two hours ahead when it was put off, and when it was claimed.
    store.postpone(&id, Waiting, "busy", at(7260), false, at(7200)).await.unwrap();
    assert_eq!(claimed(&store, "one", 3).await, id);
    store.postpone(&id, Waiting, "busy", at(7200), false, at(7200)).await.unwrap();
    assert_eq!(claimed(&store, "one", 7200).await, id);
    assert_eq!(claimed(&store, "one", 3).await, id);
    assert!(claimed(&store, "one", 4).await.is_empty(), "this claim is of the clock as it is");
}

#[tokio::test]
async fn an_agent_has_one_wake_at_a_time_in_each_loop() {
    let folder = Folder::new();
    let store = folder.open_with_loop().await;
    store.add_loop(&new_loop("M")).await.unwrap();
    store.update_loop("M", LoopPatch { up: Some(true), ..LoopPatch::default() }).await.unwrap();
    let first = queued(&store).await;
    assert_eq!(claimed(&store, "one", 2).await, first.id);
    assert!(store.advance(&first.id, Queued, Typing, None, at(3)).await.unwrap());
    assert!(store.advance(&first.id, Typing, Submitted, None, at(4)).await.unwrap());

    let second = store.record("L", &outcome(&["CC", "Dana"], Some("codex"), 5)).await.unwrap();
    let second = second.delivery.unwrap();
    let elsewhere = store.record("M", &outcome(&["CC"], Some("Codex"), 5)).await.unwrap();
    assert_eq!(claimed(&store, "one", 6).await, elsewhere.delivery.unwrap().id);
    assert!(!store.advance(&second.id, Queued, Typing, None, at(6)).await.unwrap());

    assert!(store.advance(&first.id, Submitted, Unanswered, None, at(7)).await.unwrap());
    assert_eq!(claimed(&store, "one", 8).await, second.id);
    assert!(store.advance(&second.id, Queued, Typing, None, at(9)).await.unwrap());
}

#[tokio::test]
async fn every_step_is_stamped_and_written_down() {
    let folder = Folder::new();
    let store = folder.open_with_loop().await;
    let id = queued(&store).await.id;
    let steps = [Typing, Typed, Submitted, Started, Answered];
    let mut from = Queued;
    for (seconds, to) in (10..).zip(steps) {
        assert!(store.advance(&id, from, to, Some("because"), at(seconds)).await.unwrap());
        assert!(!store.advance(&id, from, to, None, at(99)).await.unwrap(), "{to:?} twice");
        from = to;
    }
    let done = store.delivery(&id).await.unwrap().unwrap();
    assert_eq!((done.state, done.reason.as_deref(), done.updated_at), (Answered, Some("because"), at(14)));
    assert_eq!(done.typed_at, Some(at(11)));
    assert_eq!(done.submitted_at, Some(at(12)));
    assert_eq!(done.started_at, Some(at(13)));
    assert_eq!(done.answered_at, Some(at(14)));
    let lines: Vec<_> =
        store.ledger("L").await.unwrap().into_iter().map(|line| (line.state, line.at)).collect();
    let expected =
        [(Queued, at(1)), (Typing, at(10)), (Typed, at(11)), (Submitted, at(12)), (Started, at(13))];
    assert_eq!(lines[..5], expected);
    assert_eq!(lines[5], (Answered, at(14)));
    assert_eq!(store.open_deliveries(None).await.unwrap(), []);
}

#[tokio::test]
async fn a_move_that_the_ledger_forbids_is_refused() {
    let folder = Folder::new();
    let store = folder.open_with_loop().await;
    let id = queued(&store).await.id;
    for (from, to) in [(Queued, Submitted), (Queued, Typed), (Submitted, Queued), (Dead, Queued)] {
        let error = store.advance(&id, from, to, None, at(2)).await.unwrap_err();
        assert!(matches!(error, StoreError::Refused { .. }), "{from:?} -> {to:?}: {error:?}");
    }
    let error = store.advance("nobody", Queued, Typing, None, at(2)).await.unwrap_err();
    assert!(matches!(error, StoreError::Missing { .. }), "{error:?}");
    assert_eq!(store.delivery(&id).await.unwrap().unwrap().state, Queued);

    assert!(store.advance(&id, Queued, Typing, None, at(3)).await.unwrap());
    let error = store.postpone(&id, Queued, "again", at(9), true, at(4)).await.unwrap_err();
    assert!(matches!(error, StoreError::Refused { from: Typing, to: Queued, .. }), "{error:?}");
    let error = store.postpone(&id, Dead, "again", at(9), true, at(4)).await.unwrap_err();
    assert!(matches!(error, StoreError::Refused { .. }), "{error:?}");
    let unchanged = store.delivery(&id).await.unwrap().unwrap();
    assert_eq!((unchanged.state, unchanged.tries), (Typing, 0));
}

#[tokio::test]
async fn waiting_for_the_same_thing_is_written_down_once() {
    let folder = Folder::new();
    let store = folder.open_with_loop().await;
    let id = queued(&store).await.id;
    for seconds in 10..20 {
        store.postpone(&id, Waiting, "CC is busy", at(seconds), false, at(seconds)).await.unwrap();
    }
    let waiting = store.delivery(&id).await.unwrap().unwrap();
    assert_eq!((waiting.updated_at, waiting.not_before, waiting.tries), (at(10), at(19), 0));
    assert_eq!(store.ledger("L").await.unwrap().len(), 2);

    let asks = store.postpone(&id, Waiting, "CC asks", at(30), false, at(30)).await.unwrap();
    assert_eq!(asks.updated_at, at(30));
    assert_eq!(store.ledger("L").await.unwrap().len(), 3);
}

#[tokio::test]
async fn failed_tries_are_counted_and_leave_a_line() {
    let folder = Folder::new();
    let store = folder.open_with_loop().await;
    let id = queued(&store).await.id;
    for tries in 1..=3 {
        let again = store.postpone(&id, Waiting, "no pane", at(10), true, at(tries)).await.unwrap();
        assert_eq!(i64::from(again.tries), tries);
    }
    assert!(store.advance(&id, Waiting, Typing, None, at(20)).await.unwrap());
    let again = store.postpone(&id, Waiting, "tmux is gone", at(30), true, at(21)).await.unwrap();
    assert_eq!((again.tries, again.state), (4, Waiting));
    assert_eq!(claimed(&store, "two", 30).await, id);
}

#[tokio::test]
async fn a_send_that_was_cut_off_is_unknown() {
    // How far the send had come, who had it, and what becomes of it.
    let cases: &[(&[DeliveryState], &str, DeliveryState)] = &[
        (&[], "gone", Queued),
        (&[Typing], "gone", Unknown),
        (&[Typing, Typed], "gone", Unknown),
        (&[Typing, Submitted], "gone", Submitted),
        (&[Typing, Typed, Submitted, Started], "gone", Started),
        (&[Typing], "alive", Typing),
        (&[Typing, Typed], "alive", Typed),
    ];
    for (states, owner, expected) in cases {
        let folder = Folder::new();
        let store = folder.open_with_loop().await;
        let id = queued(&store).await.id;
        assert_eq!(claimed(&store, owner, 2).await, id);
        let mut from = Queued;
        for &to in *states {
            assert!(store.advance(&id, from, to, None, at(3)).await.unwrap());
            from = to;
        }
        store.close().await;

        let store = folder.open().await;
        let unknown = store.recover(&|owner| owner == "alive", at(4)).await.unwrap();
        let after = store.delivery(&id).await.unwrap().unwrap();
        assert_eq!(after.state, *expected, "{states:?}");
        let expected_ids = if *expected == Unknown { vec![after.clone()] } else { vec![] };
        assert_eq!(unknown, expected_ids, "{states:?}");
        assert_eq!(store.recover(&|owner| owner == "alive", at(5)).await.unwrap(), []);
        if *expected == Queued {
            assert_eq!(claimed(&store, "next", 5).await, id);
        } else {
            assert!(claimed(&store, "next", 5).await.is_empty());
        }
    }
}

#[tokio::test]
async fn what_is_unknown_is_looked_at_and_then_queued_again() {
    let folder = Folder::new();
    let store = folder.open_with_loop().await;
    let id = queued(&store).await.id;
    assert!(store.advance(&id, Queued, Typing, None, at(2)).await.unwrap());
    store.recover(&|_| false, at(3)).await.unwrap();
    assert!(store.advance(&id, Unknown, Queued, Some("looked: nothing arrived"), at(4)).await.unwrap());
    assert_eq!(claimed(&store, "next", 5).await, id);
}

#[tokio::test]
async fn a_pause_takes_back_what_is_not_typed() {
    let folder = Folder::new();
    let store = folder.open_with_loop().await;
    let out = queued(&store).await.id;
    assert!(store.advance(&out, Queued, Typing, None, at(2)).await.unwrap());
    let other = store.record("L", &outcome(&["CC"], Some("Gemini"), 3)).await.unwrap().delivery.unwrap();
    assert_eq!(store.supersede_untyped("L", "paused: lunch", at(4)).await.unwrap().join(" "), other.id);
    assert_eq!(store.supersede_untyped("L", "paused: lunch", at(4)).await.unwrap(), Vec::<String>::new());
    let other = store.delivery(&other.id).await.unwrap().unwrap();
    assert_eq!((other.state, other.reason.as_deref()), (Superseded, Some("paused: lunch")));
    assert_eq!(store.delivery(&out).await.unwrap().unwrap().state, Typing);
}

#[tokio::test]
async fn the_newest_deliveries_come_first_and_no_more_than_asked_for() {
    let folder = Folder::new();
    let store = folder.open_with_loop().await;
    for agent in ["Codex", "Gemini", "OpenCode"] {
        store.record("L", &outcome(&["CC"], Some(agent), 1)).await.unwrap();
    }
    let names = |deliveries: Vec<Delivery>| -> Vec<String> {
        deliveries.into_iter().map(|one| one.agent.to_string()).collect()
    };
    assert_eq!(names(store.deliveries("L", 2).await.unwrap()), ["OpenCode", "Gemini"]);
    assert_eq!(names(store.open_deliveries(Some("L")).await.unwrap()), ["OpenCode"]);
    assert_eq!(store.open_deliveries(Some("M")).await.unwrap(), []);
}
