//! OpenAI's Responses, as Codex speaks them.

use loop_testkit::stub_model::ModelStep;
use serde_json::{Value, json};

use crate::conversation::{Answer, Conversation, Item};
use crate::http::Response;

/// The shell tool.
const SHELL: &str = "exec_command";

/// Reads a request to `/v1/responses`.
pub(crate) fn read(request: &Value) -> Conversation {
    let mut items = Vec::new();
    for item in request["input"].as_array().into_iter().flatten() {
        match (item["type"].as_str(), item["role"].as_str()) {
            (Some("function_call_output" | "custom_tool_call_output"), _) => {
                items.push(Item::Result(text_of(&item["output"])));
            }
            (Some("message") | None, Some("user")) => items.push(Item::User(text_of(&item["content"]))),
            // What the CLI itself tells the model.
            (Some("message") | None, Some("developer" | "system")) => {}
            _ => items.push(Item::Model),
        }
    }
    let mut tools = request["tools"].as_array().into_iter().flatten();
    let shell = tools.any(|tool| tool["name"] == SHELL);
    Conversation { items, shell, stream: request["stream"].as_bool().unwrap_or(false) }
}

/// The text of a string, of a part, or of a list of parts.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(text_of).collect::<Vec<_>>().join("\n"),
        part => part["text"].as_str().or(part["content"].as_str()).unwrap_or_default().to_owned(),
    }
}

/// A step as a command: files are written by the shell here.
fn command(step: &ModelStep) -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
    match step {
        ModelStep::Shell(command) => command.clone(),
        ModelStep::Write { path, text } => format!("printf %s {} > {}", quoted(text), quoted(path)),
    }
}

/// Says `answer`; `number` makes the ids unique.
pub(crate) fn say(answer: &Answer, model: &str, stream: bool, number: usize) -> Response {
    let item = match answer {
        Answer::Text(text) => json!({
            "type": "message", "id": format!("msg_stub{number:06}"), "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": text, "annotations": []}],
        }),
        Answer::Step(step) => json!({
            "type": "function_call", "id": format!("fc_stub{number:06}"), "status": "completed",
            "call_id": format!("call_stub{number:06}"), "name": SHELL,
            "arguments": json!({"cmd": command(step)}).to_string(),
        }),
    };
    let response = |status: &str, output: Value| {
        json!({
            "id": format!("resp_stub{number:06}"), "object": "response", "created_at": 0, "status": status,
            "model": model, "output": output,
            "usage": {
                "input_tokens": 10, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 10,
                "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 20,
            },
        })
    };
    if !stream {
        return Response::json(200, &response("completed", json!([item])));
    }
    Response::events(&[
        json!({"type": "response.created", "response": response("in_progress", json!([]))}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": item}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json!({"type": "response.completed", "response": response("completed", json!([item]))}),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_input_is_read() {
        let conversation = read(&json!({
            "stream": true,
            "tools": [{"type": "function", "name": "exec_command"}],
            "input": [
                {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "/agent-loop X"}]},
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "$agent-loop Codex"}]},
                {"type": "reasoning", "summary": []},
                {"type": "function_call", "name": "exec_command", "arguments": "{}", "call_id": "1"},
                {"type": "function_call_output", "call_id": "1", "output": "out"},
            ],
        }));
        assert_eq!(
            conversation.items,
            [
                Item::User("$agent-loop Codex".to_owned()),
                Item::Model,
                Item::Model,
                Item::Result("out".to_owned())
            ]
        );
        assert!(conversation.shell);
    }

    #[test]
    fn a_shell_call_is_said_in_both_ways() {
        let answer = Answer::Step(ModelStep::Shell("loop turn X".to_owned()));
        let whole: Value = serde_json::from_str(&say(&answer, "m", false, 1).body).expect("JSON");
        assert_eq!(whole["output"][0]["arguments"], r#"{"cmd":"loop turn X"}"#);
        assert!(say(&answer, "m", true, 1).body.contains("event: response.completed\n"));
    }
}
