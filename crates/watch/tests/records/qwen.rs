//! Qwen Code's chats, of 0.15.

use loop_core::profile::RecordsFormat;
use serde_json::{Value, json};

use crate::stage::{Stage, iso, look, word};

fn line(kind: &str, seconds: f64, rest: &Value) -> String {
    let mut line = json!({"type": kind, "timestamp": iso(seconds), "cwd": "{repo}", "sessionId": "q1", "version": "0.15.10"});
    line.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    line.to_string()
}

fn user(seconds: f64, text: &str) -> String {
    line("user", seconds, &json!({"message": {"role": "user", "parts": [{"text": text}]}}))
}

fn model(seconds: f64, parts: &Value) -> String {
    line("assistant", seconds, &json!({"message": {"role": "model", "parts": parts}}))
}

fn telemetry(seconds: f64, event: &Value) -> String {
    line("system", seconds, &json!({"subtype": "ui_telemetry", "systemPayload": {"uiEvent": event}}))
}

#[tokio::test]
async fn the_newest_message_tells_how_the_turn_stands() {
    let call = json!([{"text": "I will"}, {"functionCall": {"name": "run_shell_command"}}]);
    let result =
        line("tool_result", 3.0, &json!({"message": {"role": "user", "parts": [{"functionResponse": {}}]}}));
    let answered = telemetry(4.1, &json!({"event.name": "qwen-code.api_response", "status_code": 200}));
    let refused = telemetry(
        4.0,
        &json!({"event.name": "qwen-code.api_error", "error_message": "429 Too Many Requests"}),
    );
    let broken =
        telemetry(4.0, &json!({"event.name": "qwen-code.api_error", "error_message": "socket hang up"}));
    let done = json!([{"thought": true, "text": "hm"}, {"text": "done"}]);
    let notice =
        line("user", 5.0, &json!({"subtype": "notification", "message": {"parts": [{"text": "it ended"}]}}));
    let body = format!("# agent-loop: one turn\n{}\n/agent-loop Q", "step\n".repeat(300));
    let begun = || vec![user(1.0, &body)];
    let cases = [
        ("asked", begun(), "working"),
        ("a call", [begun(), vec![model(2.0, &call)]].concat(), "working"),
        ("its result", [begun(), vec![model(2.0, &call), result]].concat(), "working"),
        (
            "thoughts alone",
            [begun(), vec![model(2.0, &json!([{"thought": true, "text": "hm"}]))]].concat(),
            "working",
        ),
        ("the end", [begun(), vec![answered, model(4.0, &done)]].concat(), "idle"),
        (
            "what ran in the background has ended",
            [begun(), vec![model(4.0, &done), notice]].concat(),
            "working",
        ),
        ("a limit", [begun(), vec![refused]].concat(), "limited: 429 Too Many Requests"),
        ("another error", [begun(), vec![broken]].concat(), "working"),
    ];
    for (name, lines, expected) in cases {
        let stage = Stage::new();
        stage.write(&format!(".qwen/projects/{}/chats/q1.jsonl", stage.slug()), &lines);
        let recorded = look(&mut stage.watcher(RecordsFormat::Qwen, "~/.qwen/projects")).await;
        assert_eq!(word(&recorded), expected, "{name}");
        assert_eq!(recorded.conversation.as_deref(), Some("q1"), "{name}");
        let prompt = recorded.prompt.unwrap().text;
        assert!(prompt.starts_with("# agent-loop") && prompt.ends_with("/agent-loop Q"), "{prompt}");
    }
}
