//! Databases as they are found: damaged, replaced, of another schema, huge.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use loop_core::profile::{Records, RecordsFormat};
use loop_core::records::RecordState;
use loop_watch::Watcher;
use sqlx::Connection;
use sqlx::sqlite::SqliteConnection;

use crate::opencode::{assistant, message, session, store};
use crate::sqlite::{create, run};
use crate::stage::{START, Stage, at, look, records, word};

fn zcode() -> Records {
    Records {
        table: "session".to_owned(),
        id: "id".to_owned(),
        updated: "time_updated".to_owned(),
        not: BTreeMap::from([("task_type".to_owned(), "subagent_child".to_owned())]),
        ..records(RecordsFormat::Sqlite, "~/db.sqlite")
    }
}

/// A store of several pages; the newest main conversation is `last`, of second 400.
async fn grown(path: &Path, journal: &str) -> SqliteConnection {
    let mut writer = create(path, journal).await;
    run(
        &mut writer,
        "create table session (id text primary key, title text, time_updated integer, task_type text)",
    )
    .await;
    for index in 0..400 {
        let id = if index == 399 { "last".to_owned() } else { format!("s{index}") };
        let updated = (START + index + 1) * 1000;
        let title = "t".repeat(100);
        run(&mut writer, &format!("insert into session values ('{id}', '{title}', {updated}, 'chat')")).await;
    }
    writer
}

fn path(stage: &Stage) -> PathBuf {
    stage.home().join("db.sqlite")
}

/// A store in one file.
async fn whole(stage: &Stage) -> Vec<u8> {
    grown(&path(stage), "delete").await.close().await.unwrap();
    fs::read(path(stage)).unwrap()
}

#[tokio::test]
async fn damage_is_unreadable_and_never_another_answer() {
    let stage = Stage::new();
    let whole = whole(&stage).await;
    let mut watcher = Watcher::new(&zcode(), stage.place());
    let overwritten = |at: usize, bytes: &[u8]| {
        let mut copy = whole.clone();
        copy[at..at + bytes.len()].copy_from_slice(bytes);
        copy
    };
    let cases = [
        ("half of the last page is missing", whole[..whole.len() - 2048].to_vec()),
        ("half of the file is missing", whole[..whole.len() / 2].to_vec()),
        ("within the header", whole[..50].to_vec()),
        ("garbage for a header", overwritten(0, &[0xa5; 100])),
        ("a page size that there is not", overwritten(16, &[0, 3])),
        ("a file format of the future", overwritten(18, &[9, 9])),
        ("garbage for the schema", overwritten(100, &[0xff; 60])),
        ("garbage for the table's root", overwritten(4096, &[0xff; 4096])),
    ];
    for (what, damaged) in cases {
        fs::write(path(&stage), damaged).unwrap();
        let recorded = look(&mut watcher).await;
        let said = word(&recorded);
        let unreadable = said.starts_with(&format!("unreadable: cannot read {}", path(&stage).display()));
        assert!(unreadable, "{what}: {said}");
        assert_eq!(recorded.conversation, None, "{what}");
        fs::write(path(&stage), &whole).unwrap();
        let recorded = look(&mut watcher).await;
        assert_eq!(recorded.conversation.as_deref(), Some("last"), "{what}, mended: {}", word(&recorded));
    }
}

#[tokio::test]
async fn a_store_that_is_deleted_and_made_anew_is_the_new_one() {
    for journal in ["wal", "delete"] {
        let stage = Stage::new();
        let writer = grown(&path(&stage), journal).await;
        let mut watcher = Watcher::new(&zcode(), stage.place());
        assert_eq!(look(&mut watcher).await.conversation.as_deref(), Some("last"), "{journal}");
        fs::remove_file(path(&stage)).unwrap();
        assert_eq!(word(&look(&mut watcher).await), "nothing", "{journal}");
        drop(writer);
        for end in ["-wal", "-shm"] {
            fs::remove_file(PathBuf::from(format!("{}{end}", path(&stage).display()))).ok();
        }
        let mut writer = create(&path(&stage), "delete").await;
        run(&mut writer, "create table session (id text, time_updated integer, task_type text)").await;
        run(&mut writer, &format!("insert into session values ('new', {}, null)", START * 1000)).await;
        drop(writer);
        let recorded = look(&mut watcher).await;
        assert_eq!(recorded.conversation.as_deref(), Some("new"), "{journal}: {}", word(&recorded));
    }
}

#[tokio::test]
async fn a_store_that_answers_without_end_is_given_up_and_costs_nothing_more() {
    let stage = Stage::new();
    let mut writer = create(&path(&stage), "wal").await;
    let endless = "create view session as with recursive n(i) as (select 1 union all select i + 1 from n) \
                   select i as id, i as time_updated, 'chat' as task_type from n";
    run(&mut writer, endless).await;
    let mut watcher = Watcher::new(&zcode(), stage.place());
    let threads = || fs::read_dir("/proc/self/task").map_or(0, Iterator::count);
    let before = threads();
    for _ in 0..2 {
        let said = word(&look(&mut watcher).await);
        assert!(said.contains("it took too long"), "{said}");
    }
    // What was asked has really ended; else each look would leave a thread that computes for ever.
    for _ in 0..400 {
        if threads() <= before {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert!(threads() <= before, "{} threads, {before} before", threads());
    // And the writer has its store to itself.
    run(&mut writer, "pragma wal_checkpoint(truncate)").await;
    run(
        &mut writer,
        "drop view session; create table session (id text, time_updated integer, task_type text)",
    )
    .await;
    assert_eq!(word(&look(&mut watcher).await), "nothing");
}

#[tokio::test]
async fn a_huge_store_costs_no_more_than_a_small_one() {
    let stage = Stage::new();
    grown(&path(&stage), "delete").await.close().await.unwrap();
    let cpu = || rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let took = |from: rustix::time::Timespec, to: rustix::time::Timespec| {
        (to.tv_sec - from.tv_sec) * 1_000_000_000 + to.tv_nsec - from.tv_nsec
    };
    let best_of_five = async |stage: &Stage| {
        let mut best = i64::MAX;
        for _ in 0..5 {
            let from = cpu();
            let recorded = look(&mut Watcher::new(&zcode(), stage.place())).await;
            best = best.min(took(from, cpu()));
            assert_eq!(recorded.conversation.as_deref(), Some("last"));
        }
        best
    };
    let small = best_of_five(&stage).await;
    // Two gigabytes more, as a store has that was tidied up long ago.
    let mut file = fs::OpenOptions::new().write(true).open(path(&stage)).unwrap();
    file.seek(SeekFrom::Start((2 << 30) - 1)).unwrap();
    file.write_all(&[0]).unwrap();
    drop(file);
    tokio::time::sleep(std::time::Duration::from_millis(30)).await;
    let huge = best_of_five(&stage).await;
    assert!(huge < small * 10, "{huge} ns for the huge one, {small} ns for the small one");
}

#[tokio::test]
async fn a_newer_opencode_keeps_what_is_read_or_is_unreadable() {
    let stage = Stage::new();
    let mut writer = store(&stage).await;
    let repo = stage.repo.to_str().unwrap().to_owned();
    session(&mut writer, "ses_1", None, &repo, 1).await;
    message(&mut writer, "m1", "ses_1", 1, &assistant(Some("stop"), Some(5))).await;
    let mut watcher = stage.watcher(RecordsFormat::OpenCode, "~/.local/share/opencode/opencode.db");
    for added in [
        "alter table session add column workspace_id text not null default ''",
        "alter table message add column agent text",
        "create table event (id text primary key, data text)",
        "create trigger t after insert on event begin select 1; end",
    ] {
        run(&mut writer, added).await;
        assert_eq!(word(&look(&mut watcher).await), "idle", "{added}");
    }
    for (changed, back, says) in [
        (
            "alter table session rename column parent_id to parent",
            "alter table session rename column parent to parent_id",
            "no such column: parent_id",
        ),
        (
            "alter table session rename column directory to path",
            "alter table session rename column path to directory",
            "no such column: directory",
        ),
        (
            "alter table message rename to messages",
            "alter table messages rename to message",
            "no such table: message",
        ),
        (
            "alter table message rename column data to body",
            "alter table message rename column body to data",
            "no such column: data",
        ),
    ] {
        run(&mut writer, changed).await;
        let said = word(&look(&mut watcher).await);
        assert!(said.starts_with("unreadable") && said.contains(says), "{changed}: {said}");
        run(&mut writer, back).await;
        assert_eq!(word(&look(&mut watcher).await), "idle", "{back}");
    }
}

#[tokio::test]
async fn times_of_no_kind_that_was_meant_settle_nothing() {
    let stage = Stage::new();
    let mut writer = store(&stage).await;
    let repo = stage.repo.to_str().unwrap().to_owned();
    session(&mut writer, "ses_1", None, &repo, 1).await;
    for (data, expected) in [
        (r#"{"role": "assistant", "time": 7, "finish": "stop"}"#, "working"),
        (r#"{"role": "assistant", "time": {"completed": 5}, "finish": 9}"#, "still"),
        (r#"{"role": ["assistant"], "time": {"completed": 5}, "finish": "stop"}"#, "working"),
        (r#""assistant""#, "working"),
        ("", "working"),
    ] {
        run(&mut writer, "delete from message").await;
        message(&mut writer, "m1", "ses_1", 1, data).await;
        let recorded =
            look(&mut stage.watcher(RecordsFormat::OpenCode, "~/.local/share/opencode/opencode.db")).await;
        assert_eq!(word(&recorded), expected, "{data}");
    }
    // Text and blobs where a time or a text should be.
    run(&mut writer, "update message set time_created = 'soon', data = x'00ff'").await;
    let recorded =
        look(&mut stage.watcher(RecordsFormat::OpenCode, "~/.local/share/opencode/opencode.db")).await;
    assert!(matches!(recorded.state, RecordState::Unreadable(_) | RecordState::Working), "{recorded:?}");
}

#[tokio::test]
async fn another_trees_sessions_never_count() {
    let stage = Stage::new();
    let mut writer = store(&stage).await;
    let repo = stage.repo.to_str().unwrap().to_owned();
    for (id, folder) in [
        ("a", format!("{repo}/")),
        ("b", format!("{repo}2")),
        ("c", format!("{repo}/sub")),
        ("d", repo.to_uppercase()),
    ] {
        session(&mut writer, id, None, &folder, 90).await;
        message(&mut writer, &format!("m{id}"), id, 90, &assistant(Some("stop"), Some(5))).await;
    }
    let mut watcher = stage.watcher(RecordsFormat::OpenCode, "~/.local/share/opencode/opencode.db");
    let recorded = watcher.look(None, at(100.0)).await;
    // A final slash is the same folder.
    assert!(matches!(recorded.conversation.as_deref(), None | Some("a")), "{recorded:?}");
}
