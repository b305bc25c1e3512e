//! Gemini CLI's chats, of 0.61 and older.

use jiff::Timestamp;
use loop_core::profile::RecordsFormat;
use serde_json::{Value, json};

use crate::stage::{Stage, at, iso, look, word};

const ID: &str = "52bc40db-5102-4b2b-85ac-a70f2dd86a09";
const AT: &str = "~/.gemini/tmp";

fn meta(kind: &str) -> String {
    json!({"sessionId": ID, "projectHash": "a81a", "startTime": iso(0.0), "kind": kind}).to_string()
}

fn message(seconds: f64, kind: &str, content: &Value) -> Value {
    json!({"id": "m1", "timestamp": iso(seconds), "type": kind, "content": content})
}

fn says(seconds: f64, text: &str) -> Value {
    message(seconds, "gemini", &json!(text))
}

fn called(seconds: f64, text: &str) -> Value {
    let mut message = says(seconds, text);
    message["toolCalls"] = json!([{"name": "run_shell_command", "status": "success"}]);
    message
}

fn asked(seconds: f64, text: &str) -> Value {
    message(seconds, "user", &json!([{"text": text}]))
}

fn result(seconds: f64) -> Value {
    message(seconds, "user", &json!([{"functionResponse": {"name": "run_shell_command"}}]))
}

fn files(stage: &Stage, name: &str, lines: &[String]) {
    stage.write(&format!(".gemini/tmp/{name}/chats/session-2026-12-01T00-36-52bc40db.jsonl"), lines);
    stage.write(&format!(".gemini/tmp/{name}/.project_root"), &["{repo}".to_owned()]);
}

#[tokio::test]
async fn the_newest_message_tells_how_the_turn_stands() {
    let context = json!({"$set": {"messages": [asked(0.5, "<session_context>\nThis is the Gemini CLI.")]}});
    let stamp = json!({"$set": {"lastUpdated": iso(3.0)}});
    let cases = [
        ("only the context", vec![context.clone()], "nothing"),
        ("asked", vec![context, asked(1.0, "/agent-loop G"), stamp.clone()], "working"),
        ("a call runs", vec![asked(1.0, "G"), says(2.0, "")], "working"),
        ("a call is done", vec![asked(1.0, "G"), says(2.0, ""), called(2.0, ""), result(3.0)], "working"),
        ("words before a call look like an end", vec![asked(1.0, "G"), says(2.0, "I will run it.")], "still"),
        ("until it is done", vec![asked(1.0, "G"), says(2.0, "I will."), called(2.0, "I will.")], "working"),
        ("the end", vec![asked(1.0, "G"), called(2.0, ""), result(3.0), says(4.0, "done"), stamp], "still"),
        (
            "a limit",
            vec![asked(1.0, "G"), message(2.0, "error", &json!("You exceeded your current quota"))],
            "limited: You exceeded your current quota",
        ),
    ];
    for (name, lines, expected) in cases {
        let stage = Stage::new();
        let lines: Vec<String> =
            [meta("main")].into_iter().chain(lines.iter().map(Value::to_string)).collect();
        files(&stage, "my-repo-1", &lines);
        let recorded = look(&mut stage.watcher(RecordsFormat::Gemini, AT)).await;
        assert_eq!(word(&recorded), expected, "{name}");
        assert_eq!(recorded.conversation.as_deref(), Some(ID), "{name}");
        if expected == "still" {
            assert_eq!(recorded.prompt.unwrap().at, at(1.0), "{name}");
        }
    }
}

#[tokio::test]
async fn the_project_is_found_by_registry_marker_or_hash() {
    let lines = [meta("main"), asked(1.0, "G").to_string()];
    let by_marker = Stage::new();
    files(&by_marker, "some-name", &lines);
    let by_registry = Stage::new();
    by_registry.write(".gemini/tmp/named/chats/session-x.jsonl", &lines);
    by_registry.write(".gemini/projects.json", &["{\"projects\": {\"{repo}\": \"named\"}}".to_owned()]);
    let by_hash = Stage::new();
    let hash = {
        use sha2::{Digest, Sha256};
        let digest = Sha256::digest(by_hash.repo.to_str().unwrap().as_bytes());
        digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>()
    };
    by_hash.write(
        &format!(".gemini/tmp/{hash}/chats/session-x.json"),
        &[json!({"sessionId": ID, "messages": [asked(1.0, "G"), says(2.0, "done")]}).to_string()],
    );
    for (stage, expected) in [(&by_marker, "working"), (&by_registry, "working"), (&by_hash, "still")] {
        assert_eq!(word(&look(&mut stage.watcher(RecordsFormat::Gemini, AT)).await), expected);
    }
    // A name that has passed to another project, and one that would lead elsewhere.
    by_registry.write(".gemini/tmp/named/.project_root", &["/elsewhere".to_owned()]);
    assert_eq!(word(&look(&mut by_registry.watcher(RecordsFormat::Gemini, AT)).await), "nothing");
    by_registry.write(".gemini/projects.json", &["{\"projects\": {\"{repo}\": \"../../x\"}}".to_owned()]);
    assert_eq!(word(&look(&mut by_registry.watcher(RecordsFormat::Gemini, AT)).await), "nothing");
}

#[tokio::test]
async fn sub_agents_and_other_sessions_do_not_count() {
    let stage = Stage::new();
    files(&stage, "my-repo-1", &[meta("subagent"), asked(1.0, "G").to_string()]);
    stage.write(&format!(".gemini/tmp/my-repo-1/chats/{ID}/sub.jsonl"), &[meta("subagent")]);
    let mut watcher = stage.watcher(RecordsFormat::Gemini, AT);
    assert_eq!(word(&look(&mut watcher).await), "nothing");
    let lines = [meta("main"), asked(1.0, "G").to_string()];
    stage.write(".gemini/tmp/my-repo-1/chats/session-2026-12-01T00-40-52bc40db.jsonl", &lines);
    assert_eq!(word(&watcher.look(Some(ID), Timestamp::now()).await), "working");
    assert_eq!(word(&watcher.look(Some("other"), Timestamp::now()).await), "nothing");
}
