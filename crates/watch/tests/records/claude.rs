//! Claude Code's transcripts.

use std::fs;
use std::os::unix::fs::symlink;

use jiff::Timestamp;
use loop_core::profile::RecordsFormat;
use loop_watch::Watcher;
use serde_json::{Value, json};

use crate::stage::{Stage, append, at, iso, look, word};

const AT: &str = "~/.claude/projects";

fn line(kind: &str, seconds: f64, rest: &Value) -> String {
    let mut line = json!({
        "type": kind, "timestamp": iso(seconds), "isSidechain": false, "cwd": "{repo}", "sessionId": "s1",
        "userType": "external", "version": "2.1.197", "gitBranch": "main"
    });
    line.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    line.to_string()
}

fn user(seconds: f64, text: &str) -> String {
    line("user", seconds, &json!({"message": {"role": "user", "content": text}}))
}

fn result(seconds: f64, result: &Value) -> String {
    let content = json!([{"type": "tool_result", "tool_use_id": "t1", "content": "hi"}]);
    line("user", seconds, &json!({"message": {"role": "user", "content": content}, "toolUseResult": result}))
}

fn says(seconds: f64, reason: &str) -> String {
    let content = json!([{"type": "text", "text": "done"}]);
    line(
        "assistant",
        seconds,
        &json!({"message": {"role": "assistant", "content": content, "stop_reason": reason}}),
    )
}

fn calls(seconds: f64, tool: &str, input: &Value) -> String {
    let content = json!([{"type": "tool_use", "id": "t1", "name": tool, "input": input}]);
    let message = json!({"role": "assistant", "content": content, "stop_reason": "tool_use"});
    line("assistant", seconds, &json!({"message": message}))
}

fn call(seconds: f64) -> String {
    calls(seconds, "Bash", &json!({"command": "make"}))
}

fn over(seconds: f64) -> String {
    line("system", seconds, &json!({"subtype": "turn_duration", "durationMs": 900}))
}

fn failed(seconds: f64, text: &str) -> String {
    let content = json!([{"type": "text", "text": text}]);
    let message = json!({"role": "assistant", "content": content, "stop_reason": "stop_sequence"});
    line("assistant", seconds, &json!({"isApiErrorMessage": true, "message": message}))
}

const WAKE: &str = "<command-message>agent-loop</command-message>\n<command-name>/agent-loop</command-name>\n\
                    <command-args>CC</command-args>";

fn side(line: &str) -> String {
    line.replace("\"isSidechain\":false", "\"isSidechain\":true")
}

fn notice(seconds: f64, id: &str) -> String {
    let text = format!(
        "<task-notification>\n<task-id>{id}</task-id>\n<status>completed</status>\n</task-notification>"
    );
    json!({"type": "queue-operation", "operation": "enqueue", "timestamp": iso(seconds), "content": text})
        .to_string()
}

fn watcher(stage: &Stage) -> Watcher {
    stage.watcher(RecordsFormat::Claude, AT)
}

#[tokio::test]
async fn the_newest_event_tells_how_the_turn_stands() {
    let shell = json!({"backgroundTaskId": "b1", "stdout": ""});
    let agent = json!({"status": "async_launched", "isAsync": true, "agentId": "a1"});
    let question = json!({"questions": [{"question": "Which one?"}]});
    let meta = line(
        "user",
        1.1,
        &json!({"isMeta": true, "message": {"content": [{"type": "text", "text": "body"}]}}),
    );
    let cases: Vec<(&str, Vec<String>, &str)> = vec![
        ("asked", vec![user(1.0, WAKE), meta], "working"),
        ("a tool runs", vec![user(1.0, WAKE), call(2.0)], "working"),
        ("a tool is done", vec![user(1.0, WAKE), call(2.0), result(3.0, &json!({}))], "working"),
        ("the end", vec![user(1.0, WAKE), call(2.0), result(3.0, &json!({})), says(4.0, "end_turn")], "idle"),
        ("the end, told twice", vec![user(1.0, WAKE), says(4.0, "end_turn"), over(4.1)], "idle"),
        ("lines out of order", vec![says(4.0, "end_turn"), user(3.9, "hi"), call(3.5)], "idle"),
        ("a further turn", vec![says(4.0, "end_turn"), over(4.1), user(5.0, "hi")], "working"),
        ("a sub-agent works on", vec![user(1.0, "hi"), says(4.0, "end_turn"), side(&call(9.0))], "idle"),
        ("a sub-agent has ended", vec![user(1.0, "hi"), call(2.0), side(&says(9.0, "end_turn"))], "working"),
        (
            "stopped by a person",
            vec![call(2.0), user(3.0, "[Request interrupted by user for tool use]")],
            "idle",
        ),
        (
            "a command of the CLI's",
            vec![says(1.0, "end_turn"), user(2.0, "<local-command-stdout>set</local-command-stdout>")],
            "idle",
        ),
        (
            "no reason, as older versions write",
            vec![user(1.0, "hi"), says(2.0, "x").replace("\"x\"", "null")],
            "still",
        ),
        ("a question", vec![user(1.0, "hi"), calls(2.0, "AskUserQuestion", &question)], "asks: Which one?"),
        (
            "a plan",
            vec![user(1.0, "hi"), calls(2.0, "ExitPlanMode", &json!({}))],
            "asks: it asks whether to carry out its plan",
        ),
        (
            "a limit",
            vec![user(1.0, "hi"), failed(2.0, "You've hit your session limit · resets 3pm (UTC)")],
            "limited: You've hit your session limit · resets 3pm (UTC)",
        ),
        ("another error", vec![user(1.0, "hi"), failed(2.0, "API Error: 500 internal server error")], "idle"),
        (
            "a reply that talks of limits",
            vec![user(1.0, "hi"), says(2.0, "end_turn").replace("done", "usage limit")],
            "idle",
        ),
        ("a shell in the background", vec![result(3.0, &shell), says(4.0, "end_turn")], "background 1"),
        (
            "two in the background",
            vec![result(3.0, &shell), result(3.1, &agent), says(4.0, "end_turn"), over(4.1)],
            "background 2",
        ),
        (
            "one has ended",
            vec![result(3.0, &shell), result(3.1, &agent), says(4.0, "end_turn"), notice(5.0, "a1")],
            "background 1",
        ),
        (
            "both have",
            vec![
                result(3.0, &shell),
                result(3.1, &agent),
                says(4.0, "end_turn"),
                notice(5.0, "a1"),
                notice(6.0, "b1"),
            ],
            "idle",
        ),
        (
            "it was stopped",
            vec![
                result(3.0, &shell),
                calls(3.5, "KillShell", &json!({"shell_id": "b1"})),
                says(4.0, "end_turn"),
            ],
            "idle",
        ),
        ("a clock that was set back", vec![says(9000.0, "end_turn"), user(1.0, "hi"), call(2.0)], "working"),
        (
            "nothing but a title",
            vec![json!({"type": "summary", "summary": "x", "cwd": "{repo}"}).to_string()],
            "nothing",
        ),
    ];
    for (name, lines, expected) in cases {
        let stage = Stage::new();
        stage.write(&format!(".claude/projects/{}/s1.jsonl", stage.slug()), &lines);
        let recorded = look(&mut watcher(&stage)).await;
        assert_eq!(word(&recorded), expected, "{name}");
        assert_eq!(recorded.conversation.as_deref(), Some("s1"), "{name}");
    }
}

#[tokio::test]
async fn what_ran_in_the_background_of_a_process_that_has_ended_has_ended_too() {
    let shell = |id: &str| json!({"backgroundTaskId": id, "stdout": ""});
    let stage = Stage::new();
    let lines =
        [result(3.0, &shell("b1")), says(4.0, "end_turn"), user(60.0, "again"), says(61.0, "end_turn")];
    let file = stage.write(&format!(".claude/projects/{}/s1.jsonl", stage.slug()), &lines);
    let place = loop_watch::Place { since: Some(at(50.0)), ..stage.place() };
    let mut watcher = Watcher::new(&crate::stage::records(RecordsFormat::Claude, AT), place);
    assert_eq!(word(&look(&mut watcher).await), "idle", "the process of before took it along");
    let ours = [result(70.0, &shell("b2")), says(71.0, "end_turn")].join("\n") + "\n";
    append(&file, &ours.replace("{repo}", stage.repo.to_str().unwrap()));
    assert_eq!(word(&look(&mut watcher).await), "background 1");
}

#[tokio::test]
async fn the_wake_is_found_as_it_was_typed() {
    let stage = Stage::new();
    let lines = [user(1.0, "earlier"), says(2.0, "end_turn"), user(5.5, WAKE), call(6.0)];
    stage.write(&format!(".claude/projects/{}/s1.jsonl", stage.slug()), &lines);
    let recorded = look(&mut watcher(&stage)).await;
    let prompt = recorded.prompt.unwrap();
    assert_eq!((prompt.at, prompt.text.as_str()), (at(5.5), "/agent-loop CC"));
}

#[tokio::test]
async fn only_what_is_new_is_read_and_half_a_line_is_kept() {
    let stage = Stage::new();
    let file = stage.write(
        &format!(".claude/projects/{}/s1.jsonl", stage.slug()),
        &[user(1.0, "hi").replace("{repo}", stage.repo.to_str().unwrap())],
    );
    let mut watcher = watcher(&stage);
    assert_eq!(word(&look(&mut watcher).await), "working");
    let end = says(3.0, "end_turn");
    let (first, second) = end.split_at(40);
    append(&file, first);
    assert_eq!(word(&look(&mut watcher).await), "working");
    append(&file, second);
    assert_eq!(word(&look(&mut watcher).await), "working", "the line has no end yet");
    append(&file, "\n");
    let idle = look(&mut watcher).await;
    assert_eq!((word(&idle).as_str(), idle.changed), ("idle", Some(at(3.0))));
}

#[tokio::test]
async fn conversations_are_not_confused() {
    let stage = Stage::new();
    let folder = format!(".claude/projects/{}", stage.slug());
    stage.write(&format!("{folder}/old.jsonl"), &[user(1.0, "old"), call(2.0)]);
    stage.write(&format!("{folder}/agent-77.jsonl"), &[side(&user(1.0, "sub")), side(&call(2.0))]);
    stage.write(&format!("{folder}/side.jsonl"), &[side(&user(1.0, "sub")), side(&call(2.0))]);
    // Another tree of the same slug.
    stage.write(
        &format!("{folder}/other.jsonl"),
        &[call(2.0).replace("my.repo_1", "my-repo-1").replace("{repo}", "/elsewhere/my-repo-1")],
    );
    // A command's `cd` does not move the conversation to another tree.
    stage.write(
        &format!("{folder}/new.jsonl"),
        &[user(3.0, "new"), says(4.0, "end_turn").replace("{repo}", "/tmp")],
    );
    let file = stage.home().join(&folder).join("new.jsonl");
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(5);
    fs::File::options().append(true).open(&file).unwrap().set_modified(later).unwrap();
    let mut watcher = watcher(&stage);
    let newest = look(&mut watcher).await;
    assert_eq!((newest.conversation.as_deref(), word(&newest).as_str()), (Some("new"), "idle"));
    assert_eq!(newest.note, "2 conversations in this folder are in use; the newest is read");
    let asked = watcher.look(Some("old"), Timestamp::now()).await;
    assert_eq!((asked.conversation.as_deref(), word(&asked).as_str()), (Some("old"), "working"));
    assert_eq!(asked.note, "");
    assert_eq!(word(&watcher.look(Some("gone"), Timestamp::now()).await), "nothing");
    for id in ["../x", "", ".", "a/b", "x\0y"] {
        let word = word(&watcher.look(Some(id), Timestamp::now()).await);
        assert!(word.starts_with("unreadable"), "{id:?}: {word}");
    }
}

#[tokio::test]
async fn two_trees_with_one_store() {
    let (stage, other) = (Stage::new(), Stage::new());
    let place = loop_watch::Place { home: stage.home(), ..other.place() };
    let records = crate::stage::records(RecordsFormat::Claude, AT);
    stage.write(
        &format!(".claude/projects/{}/a.jsonl", stage.slug()),
        &[user(1.0, "a"), says(2.0, "end_turn")],
    );
    let theirs = [user(1.0, "b").replace("{repo}", other.repo.to_str().unwrap()), call(2.0)];
    stage.write(&format!(".claude/projects/{}/b.jsonl", other.slug()), &theirs);
    assert_eq!(word(&look(&mut watcher(&stage)).await), "idle");
    assert_eq!(word(&look(&mut Watcher::new(&records, place)).await), "working");
}

#[tokio::test]
async fn a_tree_behind_a_symlink_is_found_by_its_real_name() {
    let stage = Stage::new();
    stage.write(
        &format!(".claude/projects/{}/s1.jsonl", stage.slug()),
        &[user(1.0, "a"), says(2.0, "end_turn")],
    );
    let link = stage.repo.parent().unwrap().join("link");
    symlink(&stage.repo, &link).unwrap();
    let place = loop_watch::Place { folder: link, ..stage.place() };
    let records = crate::stage::records(RecordsFormat::Claude, AT);
    assert_eq!(word(&look(&mut Watcher::new(&records, place)).await), "idle");
}

#[tokio::test]
async fn a_tree_with_a_very_long_path_is_found_by_the_cut_slug() {
    let stage = Stage::new();
    let deep = stage.repo.join("d".repeat(150)).join("e".repeat(150));
    fs::create_dir_all(&deep).unwrap();
    let slug = deep.to_str().unwrap().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    let lines =
        [user(1.0, "a"), says(2.0, "end_turn")].map(|line| line.replace("{repo}", deep.to_str().unwrap()));
    stage.write(&format!(".claude/projects/{}-1x2y3z/s1.jsonl", &slug[..200]), &lines);
    let place = loop_watch::Place { folder: deep, ..stage.place() };
    let records = crate::stage::records(RecordsFormat::Claude, AT);
    assert_eq!(word(&look(&mut Watcher::new(&records, place)).await), "idle");
}
