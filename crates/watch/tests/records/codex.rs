//! Codex' rollouts, of 0.171 and older.

use jiff::{SignedDuration, Timestamp};
use loop_core::profile::RecordsFormat;
use serde_json::{Value, json};

use crate::stage::{Stage, at, iso, look, word};

const THREAD: &str = "01a22f08-4d07-7032-9fe4-a30455560acd";

fn line(seconds: f64, kind: &str, payload: &Value) -> String {
    json!({"timestamp": iso(seconds), "ordinal": 0, "type": kind, "payload": payload}).to_string()
}

fn meta(extra: &Value) -> String {
    let mut meta = json!({
        "id": THREAD, "cwd": "{repo}", "originator": "codex-tui", "cli_version": "0.171.0", "source": "cli",
        "thread_source": "user", "base_instructions": {"text": "You are a coding agent.".repeat(2000)}
    });
    meta.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    line(0.0, "session_meta", &meta)
}

fn event(seconds: f64, kind: &str, extra: &Value) -> String {
    let mut payload = json!({"type": kind});
    payload.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    line(seconds, "event_msg", &payload)
}

fn item(seconds: f64, item: &Value) -> String {
    event(seconds, "item_completed", &json!({"thread_id": THREAD, "item": item}))
}

fn prompt(seconds: f64, text: &str) -> String {
    item(seconds, &json!({"type": "UserMessage", "content": [{"type": "text", "text": text}]}))
}

fn ended(seconds: f64, says: Option<&str>) -> String {
    event(seconds, "task_complete", &json!({"turn_id": "u1", "last_agent_message": says}))
}

fn path(day: &str, thread: &str) -> String {
    format!(".codex/sessions/2026/{day}/rollout-2026-12-01T00-36-42-{thread}.jsonl")
}

#[tokio::test]
async fn the_newest_event_tells_how_the_turn_stands() {
    let begun = || {
        vec![
            meta(&json!({})),
            event(1.0, "task_started", &json!({"turn_id": "u1"})),
            prompt(1.1, "$agent-loop Codex"),
        ]
    };
    let with = |more: Vec<String>| [begun(), more].concat();
    let command = item(3.0, &json!({"type": "CommandExecution", "status": "completed", "exit_code": 0}));
    let full = json!({"rate_limits": {"primary": {"used_percent": 100.0, "resets_at": 1_796_089_000}, "rate_limit_reached_type": "workspace_member_usage_limit_reached"}});
    let part = json!({"rate_limits": {"primary": {"used_percent": 40.0}, "rate_limit_reached_type": null}});
    let call = line(2.0, "response_item", &json!({"type": "function_call", "name": "request_user_input"}));
    let answer = line(3.0, "response_item", &json!({"type": "function_call_output", "call_id": "c"}));
    let cases = [
        ("begun", begun(), "working"),
        ("only the head", vec![meta(&json!({}))], "nothing"),
        (
            "older form",
            vec![meta(&json!({})), event(1.0, "user_message", &json!({"message": "hi"}))],
            "working",
        ),
        ("a tool ran", with(vec![command.clone()]), "working"),
        ("the end", with(vec![command.clone(), ended(4.0, Some("done"))]), "idle"),
        ("a command that ends later changes nothing", with(vec![ended(2.0, Some("done")), command]), "idle"),
        ("stopped", with(vec![event(4.0, "turn_aborted", &json!({"reason": "interrupted"}))]), "idle"),
        ("the next turn", with(vec![ended(4.0, None), event(5.0, "task_started", &json!({}))]), "working"),
        ("usage below the limit", with(vec![event(2.0, "token_count", &part), ended(4.0, None)]), "idle"),
        (
            "the limit",
            with(vec![event(2.0, "token_count", &full), ended(4.0, None)]),
            "limited: workspace member usage limit reached, until 2026-12-01T01:36:40Z",
        ),
        (
            "the limit, but it answered",
            with(vec![event(2.0, "token_count", &full), ended(4.0, Some("done"))]),
            "idle",
        ),
        (
            "the limit as an error",
            with(vec![
                event(
                    2.0,
                    "error",
                    &json!({"message": "You've hit your usage limit.", "codex_error_info": "usage_limit_exceeded"}),
                ),
                ended(4.0, None),
            ]),
            "limited: You've hit your usage limit.",
        ),
        ("a question", with(vec![call.clone()]), "asks: it asks a question"),
        ("answered", with(vec![call, answer]), "working"),
        (
            "a permission",
            with(vec![event(2.0, "exec_approval_request", &json!({}))]),
            "asks: it asks for permission",
        ),
    ];
    for (name, lines, expected) in cases {
        let stage = Stage::new();
        stage.write(&path("12/01", THREAD), &lines);
        let mut watcher = stage.watcher(RecordsFormat::Codex, "~/.codex/sessions");
        let recorded = look(&mut watcher).await;
        assert_eq!(word(&recorded), expected, "{name}");
        assert_eq!(recorded.conversation.as_deref(), Some(THREAD), "{name}");
        assert_eq!(word(&watcher.look(Some(THREAD), Timestamp::now()).await), expected, "asked: {name}");
    }
}

#[tokio::test]
async fn the_wake_is_found() {
    let stage = Stage::new();
    let lines = [meta(&json!({})), event(1.0, "task_started", &json!({})), prompt(1.25, "$agent-loop Codex")];
    stage.write(&path("12/01", THREAD), &lines);
    let prompt = look(&mut stage.watcher(RecordsFormat::Codex, "~/.codex/sessions")).await.prompt.unwrap();
    assert_eq!((prompt.at, prompt.text.as_str()), (at(1.25), "$agent-loop Codex"));
}

#[tokio::test]
async fn threads_of_others_do_not_count() {
    let other = |number: u32| format!("01a22f08-4d07-7032-9fe4-{number:012}");
    let heads = [
        json!({"source": {"subagent": {"thread_spawn": {"parent_thread_id": THREAD}}}}),
        json!({"source": "internal"}),
        json!({"thread_source": "subagent"}),
        json!({"parent_thread_id": THREAD}),
        json!({"cwd": "/elsewhere"}),
    ];
    let stage = Stage::new();
    stage.write(&path("11/29", THREAD), &[meta(&json!({})), ended(4.0, Some("done"))]);
    std::thread::sleep(std::time::Duration::from_millis(20));
    for (number, head) in (0..).zip(&heads) {
        stage.write(&path("12/01", &other(number)), &[meta(head), event(9.0, "task_started", &json!({}))]);
    }
    let mut watcher = stage.watcher(RecordsFormat::Codex, "~/.codex/sessions");
    let now = Timestamp::now();
    let first = watcher.look(None, now).await;
    assert_eq!((word(&first).as_str(), first.conversation.as_deref()), ("idle", Some(THREAD)));
    // A thread of an older day goes on where it began; a newer one of this folder is found in the newest days at once.
    std::thread::sleep(std::time::Duration::from_millis(20));
    stage.write(&path("12/01", &other(77)), &[meta(&json!({})), event(9.0, "task_started", &json!({}))]);
    let next = watcher.look(None, now + SignedDuration::from_secs(3)).await;
    assert_eq!((word(&next).as_str(), next.conversation), ("working", Some(other(77))));
    assert_eq!(word(&watcher.look(Some(THREAD), now).await), "idle");
    assert_eq!(word(&watcher.look(Some(&other(99)), now).await), "nothing");
}
