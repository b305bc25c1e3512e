//! SQLite stores: any table, and a writer that must not notice that it is watched.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use loop_core::profile::{Records, RecordsFormat, TimeUnit};
use loop_core::records::Recorded;
use loop_watch::Watcher;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Connection};

use crate::stage::{START, Stage, at, look, records, word};

/// A new database with a connection that writes to it and waits for no lock.
pub(crate) async fn create(path: &Path, journal: &str) -> SqliteConnection {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let options =
        SqliteConnectOptions::new().filename(path).create_if_missing(true).busy_timeout(Duration::ZERO);
    let mut writer = options.disable_statement_logging().connect().await.unwrap();
    run(&mut writer, &format!("pragma journal_mode = {journal}")).await;
    writer
}

pub(crate) async fn run(writer: &mut SqliteConnection, sql: &str) {
    let done = sqlx::raw_sql(sqlx::AssertSqlSafe(sql.to_owned())).execute(writer).await;
    done.unwrap_or_else(|error| panic!("{sql}: {error}"));
}

fn zcode() -> Records {
    Records {
        table: "session".to_owned(),
        id: "id".to_owned(),
        updated: "time_updated".to_owned(),
        not: BTreeMap::from([("task_type".to_owned(), "subagent_child".to_owned())]),
        ..records(RecordsFormat::Sqlite, "~/.zcode/cli/db/db.sqlite")
    }
}

fn path(stage: &Stage) -> PathBuf {
    stage.home().join(".zcode/cli/db/db.sqlite")
}

const TABLE: &str = "create table session (id text primary key, title text, project_id text, time_created integer, \
                     time_updated integer, task_type text)";

async fn zcode_store(stage: &Stage, journal: &str) -> SqliteConnection {
    let mut writer = create(&path(stage), journal).await;
    run(&mut writer, TABLE).await;
    for (id, seconds, kind) in [("old", 1, "'chat'"), ("main", 5, "null"), ("sub", 90, "'subagent_child'")] {
        let updated = (START + seconds) * 1000;
        let sql = format!("insert into session values ('{id}', 't', 'p', {updated}, {updated}, {kind})");
        run(&mut writer, &sql).await;
    }
    writer
}

/// The names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[tokio::test]
async fn the_row_that_changed_last_and_is_no_sub_agents() {
    for journal in ["wal", "delete", "truncate", "persist"] {
        let stage = Stage::new();
        let mut watcher = Watcher::new(&zcode(), stage.place());
        assert_eq!(word(&look(&mut watcher).await), "nothing", "there is no store yet");
        let mut writer = zcode_store(&stage, journal).await;
        let seen = |recorded: &Recorded| (word(recorded), recorded.conversation.clone(), recorded.changed);
        let still = |id: &str, seconds: f64| ("still".to_owned(), Some(id.to_owned()), Some(at(seconds)));
        assert_eq!(seen(&look(&mut watcher).await), still("main", 5.0), "{journal}");
        assert_eq!(seen(&watcher.look(Some("old"), Timestamp::now()).await), still("old", 1.0), "{journal}");
        assert_eq!(word(&watcher.look(Some("sub"), Timestamp::now()).await), "nothing", "{journal}");
        for seconds in [20, 30, 40] {
            let updated = (START + seconds) * 1000;
            run(&mut writer, &format!("update session set time_updated = {updated} where id = 'main'")).await;
            assert_eq!(seen(&look(&mut watcher).await), still("main", seconds as f64), "{journal}");
        }
        run(&mut writer, "delete from session").await;
        assert_eq!(word(&look(&mut watcher).await), "nothing", "{journal}");
    }
}

#[tokio::test]
async fn every_unit_and_condition() {
    let cases = [
        (TimeUnit::Ms, "1796085405250", Some(5.25)),
        (TimeUnit::Ms, "'1796085405250'", Some(5.25)),
        (TimeUnit::S, "1796085405", Some(5.0)),
        (TimeUnit::S, "1796085405.25", Some(5.25)),
        (TimeUnit::Iso, "'2026-12-01T00:36:45.250Z'", Some(5.25)),
        (TimeUnit::Iso, "'2026-12-01 00:36:45.250'", Some(5.25)),
        (TimeUnit::Iso, "'2026-12-01T02:36:45.250+02:00'", Some(5.25)),
        (TimeUnit::Iso, "'yesterday'", None),
        (TimeUnit::Ms, "'soon'", None),
        (TimeUnit::Ms, "x'00ff'", None),
        (TimeUnit::Ms, "9e99", None),
    ];
    for (unit, value, expected) in cases {
        let stage = Stage::new();
        let mut writer = create(&path(&stage), "wal").await;
        run(&mut writer, "create table \"select\" (\"group\" integer, \"order\", folder text, kind text)")
            .await;
        let repo = stage.repo.to_str().unwrap();
        run(&mut writer, &format!("insert into \"select\" values (7, {value}, '{repo}', 'it''s')")).await;
        run(&mut writer, &format!("insert into \"select\" values (8, {value}, '/elsewhere', 'it''s')")).await;
        run(&mut writer, &format!("insert into \"select\" values (9, {value}, '{repo}', 'other')")).await;
        let records = Records {
            table: "select".to_owned(),
            id: "group".to_owned(),
            updated: "order".to_owned(),
            unit,
            folder: Some("folder".to_owned()),
            only: BTreeMap::from([("kind".to_owned(), "it's".to_owned())]),
            ..records(RecordsFormat::Sqlite, "~/.zcode/cli/db/db.sqlite")
        };
        let recorded = look(&mut Watcher::new(&records, stage.place())).await;
        assert_eq!(recorded.changed, expected.map(at), "{unit:?} {value}");
        assert_eq!(recorded.conversation.as_deref(), Some("7"), "{unit:?} {value}");
        assert_eq!(word(&recorded).starts_with("unreadable"), expected.is_none(), "{unit:?} {value}");
    }
}

#[tokio::test]
async fn another_schema_is_unreadable_and_says_what_is_missing() {
    let stage = Stage::new();
    let mut writer = create(&path(&stage), "wal").await;
    run(&mut writer, "create table other (id text)").await;
    let mut watcher = Watcher::new(&zcode(), stage.place());
    let unreadable = word(&look(&mut watcher).await);
    assert!(unreadable.contains("no such table: session"), "{unreadable}");
    run(&mut writer, "create table session (id text, changed_at integer)").await;
    let unreadable = word(&look(&mut watcher).await);
    assert!(unreadable.contains("no such column: time_updated"), "{unreadable}");
    run(&mut writer, "alter table session add column time_updated integer").await;
    run(&mut writer, "alter table session add column task_type text").await;
    assert_eq!(word(&look(&mut watcher).await), "nothing", "it is well again");
}

#[tokio::test]
async fn a_writer_never_meets_a_lock() {
    for journal in ["wal", "delete"] {
        let stage = Stage::new();
        let mut writer = zcode_store(&stage, journal).await;
        let place = stage.place();
        let (stop, mut stopped) = tokio::sync::oneshot::channel::<()>();
        // The watcher looks as fast as it can; the writer waits for no lock at all, so any would be an error.
        let looking = tokio::spawn(async move {
            let mut watcher = Watcher::new(&zcode(), place);
            let mut looks = 0;
            while stopped.try_recv().is_err() {
                look(&mut watcher).await;
                looks += 1;
                tokio::task::yield_now().await;
            }
            looks
        });
        let until = Instant::now() + Duration::from_millis(600);
        let mut writes = 0;
        while Instant::now() < until {
            writes += 1;
            run(&mut writer, "begin immediate; update session set title = title || 'x'; commit").await;
        }
        stop.send(()).unwrap();
        let looks = looking.await.unwrap();
        assert!(writes > 5 && looks > 5, "{journal}: {writes} writes, {looks} looks");
    }
}

#[tokio::test]
async fn a_locked_store_is_unreadable_until_it_is_not() {
    let stage = Stage::new();
    let mut writer = zcode_store(&stage, "wal").await;
    // In this mode even readers are shut out.
    run(&mut writer, "pragma locking_mode = exclusive; begin exclusive; update session set title = 'y'")
        .await;
    let mut watcher = Watcher::new(&zcode(), stage.place());
    let started = Instant::now();
    let locked = look(&mut watcher).await;
    assert!(started.elapsed() < Duration::from_secs(2));
    let words = word(&locked);
    assert!(words.contains("database is locked"), "{words}");
    assert!(locked.changed.is_some(), "that it changes is known all the same");
    run(&mut writer, "commit; pragma locking_mode = normal; select count(*) from session").await;
    assert_eq!(word(&look(&mut watcher).await), "still");
}

#[tokio::test]
async fn a_transaction_hides_nothing_that_is_committed() {
    for journal in ["wal", "delete"] {
        let stage = Stage::new();
        let mut writer = zcode_store(&stage, journal).await;
        run(&mut writer, "begin exclusive; update session set time_updated = 0").await;
        let mut watcher = Watcher::new(&zcode(), stage.place());
        assert_eq!(look(&mut watcher).await.changed, Some(at(5.0)), "{journal}");
        // So many pages that they are written before the commit: then the old state is not to be had without a lock.
        run(&mut writer, "pragma cache_spill = 1; pragma cache_size = 1; create table big (x)").await;
        for _ in 0..50 {
            run(&mut writer, "insert into big values (zeroblob(20000))").await;
        }
        let words = word(&look(&mut watcher).await);
        assert!(words == "still" || words.contains("locked by a transaction"), "{journal}: {words}");
        run(&mut writer, "commit").await;
        assert_eq!(look(&mut watcher).await.changed, Some(Timestamp::UNIX_EPOCH), "{journal}");
    }
}

#[tokio::test]
async fn nothing_is_left_behind_or_changed() {
    for journal in ["wal", "delete"] {
        let stage = Stage::new();
        zcode_store(&stage, journal).await.close().await.unwrap();
        let file = path(&stage);
        let folder = file.parent().unwrap();
        let before =
            (names(folder), fs::read(&file).unwrap(), fs::metadata(&file).unwrap().modified().unwrap());
        let mut watcher = Watcher::new(&zcode(), stage.place());
        assert_eq!(word(&look(&mut watcher).await), "still", "{journal}");
        let after =
            (names(folder), fs::read(&file).unwrap(), fs::metadata(&file).unwrap().modified().unwrap());
        assert!(before == after, "{journal}: {:?} {:?}", before.0, after.0);
    }
}

#[tokio::test]
async fn the_writer_can_tidy_up_its_log_while_it_is_watched() {
    let stage = Stage::new();
    let writer = zcode_store(&stage, "wal").await;
    let mut watcher = Watcher::new(&zcode(), stage.place());
    assert_eq!(word(&look(&mut watcher).await), "still");
    writer.close().await.unwrap();
    assert_eq!(names(path(&stage).parent().unwrap()), ["db.sqlite"]);
    assert_eq!(word(&look(&mut watcher).await), "still");
}

#[tokio::test]
async fn what_is_no_database() {
    let stage = Stage::new();
    let file = path(&stage);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let mut watcher = Watcher::new(&zcode(), stage.place());
    for content in
        [&b"not a database at all, but long enough to have a header of that length"[..], &[0; 4096]]
    {
        fs::write(&file, content).unwrap();
        let words = word(&look(&mut watcher).await);
        assert!(words.starts_with("unreadable"), "{words}");
    }
    fs::write(&file, "").unwrap();
    assert!(word(&look(&mut watcher).await).contains("no such table"));
    fs::remove_file(&file).unwrap();
    assert_eq!(word(&look(&mut watcher).await), "nothing");
    fs::create_dir(&file).unwrap();
    assert!(word(&look(&mut watcher).await).contains("no regular file"));
}
