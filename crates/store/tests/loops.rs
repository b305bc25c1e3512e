//! The loops on record.

use std::path::PathBuf;

use loop_core::DeliveryState::*;
use loop_core::decide::{Accept, Resume};
use loop_store::{LoopPatch, LoopRow, NewLoop, StoreError};

use crate::support::{Folder, at, name, new_loop, outcome};

#[tokio::test]
async fn a_loop_is_made_known_once() {
    let folder = Folder::new();
    let store = folder.open().await;
    let first = store.add_loop(&new_loop("L")).await.unwrap();
    assert_eq!((first.state.as_str(), first.up, first.worked_ms), ("running", false, 0));
    store.update_loop("L", LoopPatch { up: Some(true), ..LoopPatch::default() }).await.unwrap();
    let again = store.add_loop(&NewLoop { slug: "other".to_owned(), ..new_loop("L") }).await.unwrap();
    assert_eq!((again.slug.as_str(), again.up), ("task", true));
    assert_eq!(store.loops(false).await.unwrap().len(), 1);
    assert_eq!(store.loop_row("M").await.unwrap(), None);
}

#[tokio::test]
async fn a_patch_changes_what_it_names_and_nothing_else() {
    let folder = Folder::new();
    let store = folder.open_with_loop().await;
    let before = store.loop_row("L").await.unwrap().unwrap();
    let resumed = Resume { after_turn: 4, to: Some(name("Codex")), rounds: Some(3), hours: Some(1.5) };
    let accepted = Accept { after_turn: 5, by: "Dana".to_owned(), why: None, commit: Some("abc".to_owned()) };
    let patch = LoopPatch {
        paused: Some(Some("lunch".to_owned())),
        skipped: Some(vec![name("Gemini"), name("小明")]),
        resumed: Some(Some(resumed.clone())),
        accepted: Some(Some(accepted.clone())),
        approved: Some(Some("hash".to_owned())),
        approved_text: Some(Some("agents: {}\n".to_owned())),
        started_at: Some(Some(at(7))),
        worked_ms: Some(12),
        ..LoopPatch::default()
    };
    let after = store.update_loop("L", patch).await.unwrap();
    let expected = LoopRow {
        paused: Some("lunch".to_owned()),
        skipped: vec![name("Gemini"), name("小明")],
        resumed: Some(resumed),
        accepted: Some(accepted),
        approved: Some("hash".to_owned()),
        approved_text: Some("agents: {}\n".to_owned()),
        started_at: Some(at(7)),
        worked_ms: 12,
        ..before.clone()
    };
    assert_eq!(after, expected);
    assert_eq!(store.loop_row("L").await.unwrap(), Some(expected.clone()));

    let json = serde_json::to_string(&expected).unwrap();
    assert_eq!(serde_json::from_str::<LoopRow>(&json).unwrap(), expected, "{json}");

    let empty = LoopPatch {
        paused: Some(None),
        resumed: Some(None),
        accepted: Some(None),
        approved: Some(None),
        approved_text: Some(None),
        started_at: Some(None),
        skipped: Some(Vec::new()),
        worked_ms: Some(0),
        ..LoopPatch::default()
    };
    assert_eq!(store.update_loop("L", empty).await.unwrap(), before);
}

#[tokio::test]
async fn a_row_reads_well_as_json() {
    let folder = Folder::new();
    let row = folder.open_with_loop().await.loop_row("L").await.unwrap().unwrap();
    let json = serde_json::to_value(row).unwrap();
    assert_eq!(json["worktree"], "/repo");
    assert_eq!(json["created_at"], "2027-01-15T08:00:00Z");
    assert_eq!(json["resumed"], serde_json::Value::Null);
    assert_eq!(json["skipped"], serde_json::json!([]));
}

#[cfg(unix)]
#[tokio::test]
async fn a_path_that_is_no_text_comes_back_as_it_was() {
    use std::os::unix::ffi::OsStringExt;
    let folder = Folder::new();
    let store = folder.open().await;
    let worktree = PathBuf::from(std::ffi::OsString::from_vec(b"/repo/\xff\xfe caf\xe9".to_vec()));
    let row = store.add_loop(&NewLoop { worktree: worktree.clone(), ..new_loop("L") }).await.unwrap();
    assert_eq!(row.worktree, worktree);
    let moved = PathBuf::from("/elsewhere/ü");
    let patch = LoopPatch { worktree: Some(moved.clone()), ..LoopPatch::default() };
    assert_eq!(store.update_loop("L", patch).await.unwrap().worktree, moved);
    assert!(serde_json::to_string(&row).is_ok());
}

#[tokio::test]
async fn working_time_adds_up() {
    let folder = Folder::new();
    let store = folder.open_with_loop().await;
    let recorded = store.record("L", &outcome(&[], Some("CC"), 1)).await.unwrap();
    let delivery = recorded.delivery.unwrap().id;
    store.add_work(&delivery, 700).await.unwrap();
    store.add_work(&delivery, 400).await.unwrap();
    let clocks = async || {
        let row = store.loop_row("L").await.unwrap().unwrap();
        (row.worked_ms, store.delivery(&delivery).await.unwrap().unwrap().worked_ms)
    };
    assert_eq!(clocks().await, (1100, 1100));
    store.restart_clocks("L").await.unwrap();
    assert_eq!(clocks().await, (0, 0));
    let error = store.add_work("nobody", 1).await.unwrap_err();
    assert!(matches!(error, StoreError::Missing { .. }), "{error:?}");
}

#[tokio::test]
async fn an_ended_loop_waits_for_nobody() {
    let folder = Folder::new();
    let store = folder.open_with_loop().await;
    let codex = store.record("L", &outcome(&["CC"], Some("Codex"), 1)).await.unwrap().delivery.unwrap();
    store.advance(&codex.id, Queued, Typing, None, at(2)).await.unwrap();
    let gemini = store.record("L", &outcome(&["CC"], Some("Gemini"), 3)).await.unwrap().delivery.unwrap();
    store.end_loop("L", at(4)).await.unwrap();
    store.end_loop("L", at(5)).await.unwrap();

    assert_eq!(store.loops(false).await.unwrap(), []);
    let row = store.loops(true).await.unwrap().remove(0);
    assert_eq!((row.ended_at, row.up), (Some(at(4)), false));
    assert_eq!(store.open_deliveries(None).await.unwrap(), []);
    assert_eq!(store.delivery(&codex.id).await.unwrap().unwrap().state, Unanswered);
    assert_eq!(store.delivery(&gemini.id).await.unwrap().unwrap().state, Superseded);
    let error = store.end_loop("M", at(6)).await.unwrap_err();
    assert!(matches!(error, StoreError::Missing { .. }), "{error:?}");
}
