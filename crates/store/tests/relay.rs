//! Recording what the relay decided.

use loop_core::DeliveryState::{self, *};
use loop_store::{Store, StoreError};

use crate::support::{Folder, LEASE, at, name, outcome};

/// Every delivery of the loop, oldest first, as `turn agent/attempt state`.
async fn shown(store: &Store) -> Vec<String> {
    let mut deliveries = store.deliveries("L", 100).await.unwrap();
    deliveries.reverse();
    deliveries
        .iter()
        .map(|one| format!("{} {}/{} {}", one.turn, one.agent, one.attempt, one.state.as_str()))
        .collect()
}

/// Brings the open delivery of the loop to `state`, as a courier would.
async fn bring(store: &Store, agent: &str, states: &[DeliveryState]) {
    let open = store.open_deliveries(Some("L")).await.unwrap();
    let delivery = open.iter().find(|one| one.agent == name(agent)).unwrap();
    let mut from = delivery.state;
    for &to in states {
        assert!(store.advance(&delivery.id, from, to, None, at(50)).await.unwrap(), "{from:?} -> {to:?}");
        from = to;
    }
}

/// What happens in a loop, and which deliveries there are in the end.
struct Story {
    name: &'static str,
    steps: &'static [Step],
    expected: &'static [&'static str],
}

enum Step {
    /// The sections were written by these, and this one is to be woken.
    Record(&'static [&'static str], Option<&'static str>),
    /// The courier brings the open delivery of this agent through these states.
    Bring(&'static str, &'static [DeliveryState]),
}
use Step::{Bring, Record};

const STORIES: &[Story] = &[
    Story {
        name: "the same outcome twice queues once",
        steps: &[Record(&["CC"], Some("Codex")), Record(&["CC"], Some("Codex"))],
        expected: &["1 Codex/1 queued"],
    },
    Story {
        name: "another spelling is the same agent",
        steps: &[Record(&["CC"], Some("Codex")), Record(&["cc"], Some("CODEX"))],
        expected: &["1 Codex/1 queued"],
    },
    Story {
        name: "a turn answers the delivery that was out",
        steps: &[
            Record(&[], Some("CC")),
            Bring("CC", &[Typing, Typed, Submitted, Started]),
            Record(&["CC"], Some("Codex")),
        ],
        expected: &["0 CC/1 answered", "1 Codex/1 queued"],
    },
    Story {
        name: "a turn answers a delivery that was never typed, too",
        steps: &[Record(&[], Some("CC")), Record(&["CC"], Some("Codex"))],
        expected: &["0 CC/1 answered", "1 Codex/1 queued"],
    },
    Story {
        name: "a turn answers what nobody knew about",
        steps: &[Record(&[], Some("CC")), Bring("CC", &[Typing, Unknown]), Record(&["CC"], Some("Codex"))],
        expected: &["0 CC/1 answered", "1 Codex/1 queued"],
    },
    Story {
        name: "an earlier section of the agent answers nothing",
        steps: &[Record(&["Codex", "CC"], Some("Codex")), Record(&["Codex", "CC"], Some("Codex"))],
        expected: &["2 Codex/1 queued"],
    },
    Story {
        name: "several sections in a row make one hand-over",
        steps: &[
            Record(&[], Some("CC")),
            Bring("CC", &[Typing, Submitted]),
            Record(&["CC", "CC", "CC"], Some("Codex")),
        ],
        expected: &["0 CC/1 answered", "3 Codex/1 queued"],
    },
    Story {
        name: "an untyped wake that is no longer decided is superseded",
        steps: &[Record(&["CC"], Some("Codex")), Record(&["CC"], Some("Gemini"))],
        expected: &["1 Codex/1 superseded", "1 Gemini/1 queued"],
    },
    Story {
        name: "a hold supersedes",
        steps: &[Record(&["CC"], Some("Codex")), Record(&["CC"], None)],
        expected: &["1 Codex/1 superseded"],
    },
    Story {
        name: "what waits is superseded too",
        steps: &[Record(&["CC"], Some("Codex")), Bring("Codex", &[Waiting]), Record(&["CC"], None)],
        expected: &["1 Codex/1 superseded"],
    },
    Story {
        name: "what is out stays out",
        steps: &[
            Record(&["CC"], Some("Codex")),
            Bring("Codex", &[Typing, Submitted]),
            Record(&["CC"], Some("Gemini")),
            Record(&["CC"], None),
        ],
        expected: &["1 Codex/1 submitted", "1 Gemini/1 superseded"],
    },
    Story {
        name: "there and back before anything was typed is the next attempt",
        steps: &[
            Record(&["CC"], Some("Codex")),
            Record(&["CC"], Some("Gemini")),
            Record(&["CC"], Some("Codex")),
            Record(&["CC"], Some("Codex")),
        ],
        expected: &["1 Codex/1 superseded", "1 Gemini/1 superseded", "1 Codex/2 queued"],
    },
    Story {
        name: "there and back while the first is out makes no second",
        steps: &[
            Record(&["CC"], Some("Codex")),
            Bring("Codex", &[Typing, Typed]),
            Record(&["CC"], Some("Gemini")),
            Record(&["CC"], Some("Codex")),
        ],
        expected: &["1 Codex/1 typed", "1 Gemini/1 superseded"],
    },
    Story {
        name: "what was left unanswered is not repeated by itself",
        steps: &[
            Record(&["CC"], Some("Codex")),
            Bring("Codex", &[Typing, Submitted, Unanswered]),
            Record(&["CC"], Some("Codex")),
        ],
        expected: &["1 Codex/1 unanswered"],
    },
    Story {
        name: "what is dead is not repeated by itself",
        steps: &[
            Record(&["CC"], Some("Codex")),
            Bring("Codex", &[Waiting, Dead]),
            Record(&["CC"], Some("Codex")),
        ],
        expected: &["1 Codex/1 dead"],
    },
    Story {
        name: "a person's section in between wakes anew while the first is out",
        steps: &[
            Record(&["CC"], Some("Codex")),
            Bring("Codex", &[Typing, Submitted]),
            Record(&["CC", "Dana"], Some("Codex")),
            Record(&["CC", "Dana", "Codex"], Some("CC")),
        ],
        expected: &["1 Codex/1 answered", "2 Codex/1 answered", "3 CC/1 queued"],
    },
];

#[tokio::test]
async fn stories_end_as_told() {
    for story in STORIES {
        let folder = Folder::new();
        let store = folder.open_with_loop().await;
        for step in story.steps {
            match step {
                Record(authors, wake) => {
                    store.record("L", &outcome(authors, *wake, 10)).await.unwrap();
                }
                Bring(agent, states) => bring(&store, agent, states).await,
            }
        }
        assert_eq!(shown(&store).await, story.expected, "{}", story.name);
    }
}

#[tokio::test]
async fn recording_says_what_it_changed() {
    let folder = Folder::new();
    let store = folder.open_with_loop().await;
    let first = store.record("L", &outcome(&["CC"], Some("Codex"), 1)).await.unwrap();
    let codex = first.delivery.clone().unwrap();
    assert!(first.new && first.changed);
    assert_eq!((codex.state, codex.created_at, codex.not_before), (Queued, at(1), at(1)));

    let again = store.record("L", &outcome(&["CC"], Some("Codex"), 2)).await.unwrap();
    assert!(!again.new && !again.changed);
    assert_eq!(again.delivery, first.delivery);

    let other = store.record("L", &outcome(&["CC"], Some("Gemini"), 3)).await.unwrap();
    assert!(other.new && other.changed);
    assert_eq!(other.superseded.join(" "), codex.id);
    let codex = store.delivery(&codex.id).await.unwrap().unwrap();
    assert_eq!(codex.reason.as_deref(), Some("turn 1: wake Gemini"));

    let gemini = other.delivery.unwrap();
    let after = store.record("L", &outcome(&["CC", "Gemini"], None, 4)).await.unwrap();
    assert_eq!(after.answered.join(" "), gemini.id);
    assert_eq!((after.delivery, after.new, after.changed), (None, false, true));
    let gemini = store.delivery(&gemini.id).await.unwrap().unwrap();
    assert_eq!((gemini.answered_at, gemini.reason.as_deref()), (Some(at(4)), Some("turn 2")));

    let row = store.loop_row("L").await.unwrap().unwrap();
    assert_eq!((row.state.as_str(), row.tip.as_deref()), ("held", Some("tip2")));
    let lines = store.ledger("L").await.unwrap();
    let states: Vec<_> = lines.iter().map(|line| line.state).collect();
    assert_eq!(states, [Queued, Superseded, Queued, Answered]);
}

#[tokio::test]
async fn a_turn_on_record_changes_with_its_section_and_stays_when_it_vanishes() {
    let folder = Folder::new();
    let store = folder.open_with_loop().await;
    store.record("L", &outcome(&["CC", "Codex"], Some("CC"), 1)).await.unwrap();
    let mut edited = outcome(&["CC", "Codex"], Some("CC"), 2);
    edited.turns[1].fingerprint = "edited".to_owned();
    edited.turns[1].verdict = Some("pass".to_owned());
    edited.turns[1].woken = Some(true);
    edited.turns[0].to = Some(name("Codex"));
    store.record("L", &edited).await.unwrap();
    assert_eq!(store.turns("L").await.unwrap(), edited.turns);

    store.record("L", &outcome(&[], None, 3)).await.unwrap();
    assert_eq!(store.turns("L").await.unwrap(), edited.turns);
    assert_eq!(store.forget_turns("L").await.unwrap(), 2);
    assert_eq!(store.turns("L").await.unwrap(), []);
}

#[tokio::test]
async fn an_unknown_loop_and_an_unknown_state_change_nothing() {
    let folder = Folder::new();
    let store = folder.open_with_loop().await;
    let error = store.record("M", &outcome(&["CC"], Some("Codex"), 1)).await.unwrap_err();
    assert!(matches!(&error, StoreError::Missing { what: "loop", id } if id == "M"), "{error:?}");

    let mut nonsense = outcome(&["CC"], Some("Codex"), 1);
    nonsense.state = "nonsense".to_owned();
    let error = store.record("L", &nonsense).await.unwrap_err();
    assert!(matches!(error, StoreError::Sql { .. }), "{error:?}");
    assert_eq!(store.turns("L").await.unwrap(), []);
    assert_eq!(shown(&store).await, Vec::<String>::new());
}

#[tokio::test]
async fn the_next_attempt_is_queued_once() {
    let folder = Folder::new();
    let store = folder.open_with_loop().await;
    let first = store.record("L", &outcome(&["CC"], Some("Codex"), 1)).await.unwrap().delivery.unwrap();
    assert_eq!(store.next_attempt(&first.id, "again", at(2)).await.unwrap(), None, "still open");
    bring(&store, "Codex", &[Typing, Submitted, Unanswered]).await;

    let second = store.next_attempt(&first.id, "woken once more", at(3)).await.unwrap().unwrap();
    assert_eq!((second.attempt, second.state), (2, Queued));
    assert_eq!(second.reason.as_deref(), Some("woken once more"));
    assert_eq!(store.next_attempt(&first.id, "again", at(4)).await.unwrap(), None);
    bring(&store, "Codex", &[Typing, Submitted, Unanswered]).await;
    assert_eq!(store.next_attempt(&first.id, "again", at(5)).await.unwrap(), None, "not the newest");

    let third = store.resume_dead("L", 1, at(6)).await.unwrap().unwrap();
    assert_eq!(third.attempt, 3);
    assert_eq!(store.resume_dead("L", 1, at(7)).await.unwrap(), None);
    assert_eq!(store.resume_dead("L", 0, at(7)).await.unwrap(), None);

    let again = store.record("L", &outcome(&["CC"], Some("Codex"), 8)).await.unwrap();
    assert_eq!((again.delivery.map(|one| one.id), again.new), (Some(third.id), false));
    let error = store.next_attempt("nobody", "again", at(9)).await.unwrap_err();
    assert!(matches!(error, StoreError::Missing { what: "delivery", .. }), "{error:?}");
}

#[tokio::test]
async fn a_dead_wake_goes_on_after_a_pause_took_its_repetition_back() {
    let folder = Folder::new();
    let store = folder.open_with_loop().await;
    store.record("L", &outcome(&["CC"], Some("Codex"), 1)).await.unwrap();
    bring(&store, "Codex", &[Dead]).await;
    store.resume_dead("L", 1, at(2)).await.unwrap().unwrap();
    assert_eq!(store.supersede_untyped("L", "paused", at(3)).await.unwrap().len(), 1);
    let third = store.resume_dead("L", 1, at(4)).await.unwrap().unwrap();
    assert_eq!(third.attempt, 3);
}

#[tokio::test]
async fn an_agent_that_is_woken_for_something_newer_is_not_woken_again_for_the_older() {
    let folder = Folder::new();
    let store = folder.open_with_loop().await;
    let first = store.record("L", &outcome(&["CC"], Some("Codex"), 1)).await.unwrap().delivery.unwrap();
    bring(&store, "Codex", &[Typing, Submitted, Unanswered]).await;
    store.record("L", &outcome(&["CC", "Dana"], Some("Codex"), 2)).await.unwrap();
    assert_eq!(store.next_attempt(&first.id, "again", at(3)).await.unwrap(), None);
}

#[tokio::test]
async fn a_claimed_delivery_can_still_be_superseded() {
    let folder = Folder::new();
    let store = folder.open_with_loop().await;
    store.record("L", &outcome(&["CC"], Some("Codex"), 1)).await.unwrap();
    let claimed = store.claim("router", LEASE, at(2)).await.unwrap();
    store.record("L", &outcome(&["CC"], None, 3)).await.unwrap();
    assert!(!store.advance(&claimed[0].id, Queued, Typing, None, at(4)).await.unwrap());
    let left = store.postpone(&claimed[0].id, Waiting, "busy", at(9), false, at(4)).await.unwrap();
    assert_eq!((left.state, left.not_before), (Superseded, at(1)));
}
