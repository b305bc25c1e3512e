//! Sessions, incidents, events and the writes that can be taken back.

use std::path::{Path, PathBuf};

use loop_core::settle::{Event, Signal};
use loop_store::{Incident, Limited, SessionRow, Severity, StoreError, Witnessed, Write, WriteKind};

use crate::support::{Folder, at, name};

fn session(agent: &str) -> SessionRow {
    SessionRow {
        loop_id: "L".to_owned(),
        agent: name(agent),
        transport: "tmux".to_owned(),
        address: r#"{"pane":"%3"}"#.to_owned(),
        conversation: None,
        pid: Some(4711),
        started_by_loop: true,
        registered_at: at(1),
    }
}

#[tokio::test]
async fn a_session_is_replaced_by_a_later_one_of_the_agent() {
    let folder = Folder::new();
    let store = folder.open_with_loop().await;
    store.put_session(&session("CC")).await.unwrap();
    let later = SessionRow { conversation: Some("c-1".to_owned()), ..session("cc") };
    store.put_session(&later).await.unwrap();
    store.put_session(&session("Codex")).await.unwrap();
    assert_eq!(store.session("L", &name("CC")).await.unwrap(), Some(later.clone()));
    assert_eq!(store.sessions(Some("L")).await.unwrap(), [later.clone(), session("Codex")]);
    assert_eq!(store.sessions(Some("M")).await.unwrap(), []);
    assert!(store.forget_session("L", &name("CC")).await.unwrap());
    assert!(!store.forget_session("L", &name("CC")).await.unwrap());
    assert_eq!(store.sessions(None).await.unwrap(), [session("Codex")]);

    let orphan = SessionRow { loop_id: "M".to_owned(), ..session("CC") };
    let error = store.put_session(&orphan).await.unwrap_err();
    assert!(matches!(error, StoreError::Missing { what: "loop", .. }), "{error:?}");
    let json = serde_json::to_string(&later).unwrap();
    assert_eq!(serde_json::from_str::<SessionRow>(&json).unwrap(), later);
}

#[tokio::test]
async fn incidents_come_newest_first_and_once() {
    let folder = Folder::new();
    let store = folder.open().await;
    let old = Incident::new(at(1), Severity::Low, None, "slow", "took 3 s");
    let new = Incident::new(at(2), Severity::High, Some("gone"), "delivery dead", "no pane");
    for incident in [&old, &new, &old] {
        store.incident(incident).await.unwrap();
    }
    assert_eq!(store.incidents(10).await.unwrap(), [new.clone(), old]);
    assert_eq!(store.incidents(1).await.unwrap(), [new]);
}

#[tokio::test]
async fn events_are_read_on_from_the_last_one_seen() {
    let folder = Folder::new();
    let store = folder.open_with_loop().await;
    let mut ids = Vec::new();
    for (number, kind) in (0..).zip(["turn", "decision", "turn", "told"]) {
        ids.push(store.event("L", at(number), kind, &format!("event {number}")).await.unwrap());
    }
    assert!(ids.is_sorted());
    let text = |events: Vec<loop_store::Event>| -> Vec<String> {
        events.into_iter().map(|event| event.text).collect()
    };
    assert_eq!(text(store.events("L", 0, 2).await.unwrap()), ["event 0", "event 1"]);
    assert_eq!(text(store.events("L", ids[1], 10).await.unwrap()), ["event 2", "event 3"]);
    assert_eq!(text(store.last_events("L", 2).await.unwrap()), ["event 2", "event 3"]);
    assert_eq!(text(store.events_of_kind("L", "turn").await.unwrap()), ["event 0", "event 2"]);
    let error = store.event("M", at(1), "turn", "lost").await.unwrap_err();
    assert!(matches!(error, StoreError::Missing { what: "loop", .. }), "{error:?}");
}

#[tokio::test]
async fn writes_are_listed_in_the_order_of_taking_them_back() {
    let folder = Folder::new();
    let store = folder.open().await;
    let write = |repo: Option<&str>, path: &str, kind: WriteKind| Write {
        at: at(1),
        repo: repo.map(PathBuf::from),
        path: PathBuf::from(path),
        kind,
        before: Some(b"#!/bin/sh\xff\n".to_vec()),
        added: None,
        after_hash: Some("hash".to_owned()),
    };
    let writes = [
        write(Some("/a"), "/a/hooks", WriteKind::MadeDir),
        write(Some("/a"), "/a/hooks/post-commit", WriteKind::Created),
        write(Some("/b"), "/b/.git/info/exclude", WriteKind::Appended),
        write(None, "/home/me/skill", WriteKind::Linked),
        write(None, "/home/me/settings", WriteKind::Replaced),
    ];
    for write in &writes {
        store.add_write(write).await.unwrap();
    }
    let of_a = store.list_writes(Some(Path::new("/a"))).await.unwrap();
    assert_eq!(of_a.iter().map(|row| &row.write).collect::<Vec<_>>(), [&writes[1], &writes[0]]);
    assert_eq!(store.list_writes(None).await.unwrap().len(), 5);
    assert!(store.remove_write(of_a[0].id).await.unwrap());
    assert!(!store.remove_write(of_a[0].id).await.unwrap());
    assert_eq!(store.list_writes(Some(Path::new("/a"))).await.unwrap().len(), 1);

    let json = serde_json::to_value(&of_a[0]).unwrap();
    assert_eq!((&json["kind"], &json["path"]), (&"created".into(), &"/a/hooks/post-commit".into()));
}

fn signal(event: Event, second: i64) -> Signal {
    Signal {
        event,
        at: at(second),
        conversation: Some("c-1".to_owned()),
        background: 0,
        prompt: None,
        says: None,
    }
}

#[tokio::test]
async fn what_was_learnt_of_an_agent_outlives_its_session() {
    let folder = Folder::new();
    let store = folder.open_with_loop().await;
    assert_eq!(store.witnessed("L", &name("CC")).await.unwrap(), Witnessed::default());
    let known = SessionRow { conversation: Some("c-1".to_owned()), ..session("CC") };
    store.put_session(&known).await.unwrap();
    store.put_session(&session("cc")).await.unwrap();
    store.forget_session("L", &name("CC")).await.unwrap();
    for (event, second) in [(Event::Started, 5), (Event::Finished, 9), (Event::Finished, 7)] {
        store.keep_signal("L", &name("CC"), &signal(event, second)).await.unwrap();
    }
    let limited = Limited { words: "resets 3pm".to_owned(), since: at(1), until: Some(at(2)), skipped: true };
    store.keep_limit("L", &name("CC"), Some(&limited)).await.unwrap();
    let learnt = store.witnessed("L", &name("cc")).await.unwrap();
    assert_eq!(learnt.conversation.as_deref(), Some("c-1"));
    assert_eq!(learnt.started.as_ref().map(|signal| signal.at), Some(at(5)));
    assert_eq!(learnt.signal().map(|signal| signal.at), Some(at(9)), "the newest signal stays");
    assert_eq!(learnt.limited, Some(limited));
    store.keep_limit("L", &name("CC"), None).await.unwrap();
    assert_eq!(store.witnessed("L", &name("CC")).await.unwrap().limited, None);
    let error = store.keep_conversation("M", &name("CC"), "c").await.unwrap_err();
    assert!(matches!(error, StoreError::Missing { what: "loop", .. }), "{error:?}");
}
