//! OpenCode's database, of 1.18.

use jiff::Timestamp;
use loop_core::profile::RecordsFormat;
use loop_watch::Watcher;
use serde_json::{Value, json};
use sqlx::sqlite::SqliteConnection;

use crate::sqlite::{create, run};
use crate::stage::{START, Stage, at, look, word};

const AT: &str = "~/.local/share/opencode/opencode.db";

const TABLES: &[&str] = &[
    "create table session (id text primary key, project_id text not null, parent_id text, directory text not null, \
     title text not null, time_created integer not null, time_updated integer not null, time_archived integer)",
    "create table message (id text primary key, session_id text not null, time_created integer not null, \
     time_updated integer not null, data text not null)",
    "create table part (id text primary key, message_id text not null, session_id text not null, \
     time_created integer not null, time_updated integer not null, data text not null)",
];

pub(crate) async fn store(stage: &Stage) -> SqliteConnection {
    let mut writer = create(&stage.home().join(".local/share/opencode/opencode.db"), "wal").await;
    for table in TABLES {
        run(&mut writer, table).await;
    }
    writer
}

fn ms(seconds: i64) -> i64 {
    (START + seconds) * 1000
}

pub(crate) async fn session(
    writer: &mut SqliteConnection,
    id: &str,
    parent: Option<&str>,
    folder: &str,
    seconds: i64,
) {
    let parent = parent.map_or("null".to_owned(), |parent| format!("'{parent}'"));
    let sql = format!(
        "insert into session values ('{id}', 'p', {parent}, '{folder}', 't', {0}, {0}, null)",
        ms(seconds)
    );
    run(writer, &sql).await;
}

pub(crate) async fn message(
    writer: &mut SqliteConnection,
    id: &str,
    session: &str,
    seconds: i64,
    data: &str,
) {
    let data = data.replace('\'', "''");
    run(
        writer,
        &format!("insert into message values ('{id}', '{session}', {0}, {0}, '{data}')", ms(seconds)),
    )
    .await;
}

async fn part(writer: &mut SqliteConnection, id: &str, message: &str, data: &Value) {
    let data = data.to_string().replace('\'', "''");
    run(writer, &format!("insert into part values ('{id}', '{message}', 'ses_1', 0, 0, '{data}')")).await;
}

pub(crate) fn assistant(finish: Option<&str>, completed: Option<i64>) -> String {
    let mut message = json!({"role": "assistant", "time": {"created": 1}, "finish": finish});
    if let Some(completed) = completed {
        message["time"]["completed"] = json!(completed);
    }
    message.to_string()
}

fn watcher(stage: &Stage) -> Watcher {
    stage.watcher(RecordsFormat::OpenCode, AT)
}

#[tokio::test]
async fn the_newest_message_tells_how_the_turn_stands() {
    let user = json!({"role": "user"}).to_string();
    let failed =
        |error: Value| json!({"role": "assistant", "time": {"completed": 5}, "error": error}).to_string();
    let limit =
        failed(json!({"name": "APIError", "data": {"message": "Rate limit exceeded", "statusCode": 429}}));
    let stopped = failed(json!({"name": "MessageAbortedError", "data": {"message": "Aborted"}}));
    let cases = [
        (user, "working"),
        (assistant(None, None), "working"),
        (assistant(Some("tool-calls"), Some(5)), "working"),
        (assistant(Some("stop"), None), "working"),
        (assistant(Some("stop"), Some(5)), "idle"),
        (assistant(Some("length"), Some(5)), "idle"),
        (assistant(Some("unknown"), Some(5)), "still"),
        (stopped, "idle"),
        (limit, "limited: Rate limit exceeded"),
        ("half of {".to_owned(), "working"),
    ];
    for (data, expected) in cases {
        let stage = Stage::new();
        let mut writer = store(&stage).await;
        session(&mut writer, "ses_1", None, stage.repo.to_str().unwrap(), 1).await;
        message(&mut writer, "msg_1", "ses_1", 2, &json!({"role": "user"}).to_string()).await;
        part(&mut writer, "prt_1", "msg_1", &json!({"type": "text", "text": "# agent-loop\n\nO"})).await;
        message(&mut writer, "msg_2", "ses_1", 3, &data).await;
        let recorded = look(&mut watcher(&stage)).await;
        assert_eq!(word(&recorded), expected, "{data}");
        assert_eq!(recorded.conversation.as_deref(), Some("ses_1"));
        assert_eq!(recorded.changed, Some(at(3.0)));
        if !data.contains("user") {
            let prompt = recorded.prompt.unwrap();
            assert_eq!((prompt.text.as_str(), prompt.at), ("# agent-loop O", at(2.0)));
        }
    }
}

#[tokio::test]
async fn a_question_waits_for_its_answer() {
    let stage = Stage::new();
    let mut writer = store(&stage).await;
    session(&mut writer, "ses_1", None, stage.repo.to_str().unwrap(), 1).await;
    message(&mut writer, "msg_2", "ses_1", 3, &assistant(None, None)).await;
    part(
        &mut writer,
        "prt_2",
        "msg_2",
        &json!({"type": "tool", "tool": "question", "state": {"status": "running"}}),
    )
    .await;
    let mut watcher = watcher(&stage);
    assert_eq!(word(&look(&mut watcher).await), "asks: it asks a question");
    part(
        &mut writer,
        "prt_3",
        "msg_2",
        &json!({"type": "tool", "tool": "bash", "state": {"status": "running"}}),
    )
    .await;
    assert_eq!(word(&look(&mut watcher).await), "working");
}

#[tokio::test]
async fn sub_agents_other_folders_and_other_sessions() {
    let stage = Stage::new();
    let mut writer = store(&stage).await;
    let repo = stage.repo.to_str().unwrap();
    session(&mut writer, "ses_1", None, repo, 1).await;
    message(&mut writer, "m1", "ses_1", 1, &assistant(Some("stop"), Some(5))).await;
    // A sub-agent whose last event is stuck.
    session(&mut writer, "ses_2", Some("ses_1"), repo, 50).await;
    message(&mut writer, "m2", "ses_2", 50, &assistant(None, None)).await;
    session(&mut writer, "ses_3", None, "/elsewhere", 60).await;
    message(&mut writer, "m3", "ses_3", 60, &assistant(None, None)).await;
    let mut watcher = watcher(&stage);
    let now = at(100.0);
    let newest = watcher.look(None, now).await;
    assert_eq!(
        (word(&newest).as_str(), newest.conversation.as_deref(), newest.note.as_str()),
        ("idle", Some("ses_1"), "")
    );
    session(&mut writer, "ses_4", None, repo, 70).await;
    message(&mut writer, "m4", "ses_4", 70, &assistant(None, None)).await;
    let newest = watcher.look(None, now).await;
    assert_eq!((word(&newest).as_str(), newest.conversation.as_deref()), ("working", Some("ses_4")));
    assert_eq!(newest.note, "2 conversations in this folder are in use; the newest is read");
    assert_eq!(word(&watcher.look(Some("ses_1"), now).await), "idle");
    assert_eq!(word(&watcher.look(Some("' or 1=1 --"), Timestamp::now()).await), "nothing");
}
