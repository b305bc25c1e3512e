//! Anthropic's Messages, as Claude Code speaks them.

use loop_testkit::stub_model::ModelStep;
use serde_json::{Value, json};

use crate::conversation::{Answer, Conversation, Item};
use crate::http::Response;

/// Reads a request to `/v1/messages`.
pub(crate) fn read(request: &Value) -> Conversation {
    let mut items = Vec::new();
    for message in request["messages"].as_array().into_iter().flatten() {
        let from_model = message["role"] == "assistant";
        match &message["content"] {
            Value::String(_) if from_model => items.push(Item::Model),
            Value::String(text) => items.push(Item::User(text.clone())),
            blocks => {
                items.extend(blocks.as_array().into_iter().flatten().map(
                    |block| match block["type"].as_str() {
                        _ if from_model => Item::Model,
                        Some("tool_result") => Item::Result(text_of(&block["content"])),
                        _ => Item::User(text_of(block)),
                    },
                ))
            }
        }
    }
    let mut tools = request["tools"].as_array().into_iter().flatten();
    let shell = tools.any(|tool| tool["name"] == "Bash");
    Conversation { items, shell, stream: request["stream"].as_bool().unwrap_or(false) }
}

/// The text of a string, of a block, or of a list of blocks.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().map(text_of).collect::<Vec<_>>().join("\n"),
        block => block["text"].as_str().unwrap_or_default().to_owned(),
    }
}

/// Says `answer`; `number` makes the ids unique.
pub(crate) fn say(answer: &Answer, model: &str, stream: bool, number: usize) -> Response {
    let (block, reason) = match answer {
        Answer::Text(text) => (json!({"type": "text", "text": text}), "end_turn"),
        Answer::Step(step) => {
            let (name, input) = match step {
                ModelStep::Shell(command) => {
                    ("Bash", json!({"command": command, "description": "Take the turn"}))
                }
                ModelStep::Write { path, text } => ("Write", json!({"file_path": path, "content": text})),
            };
            let id = format!("toolu_stub{number:06}");
            (json!({"type": "tool_use", "id": id, "name": name, "input": input}), "tool_use")
        }
    };
    let usage = json!({"input_tokens": 10, "output_tokens": 10});
    let message = |content: Value, reason: Value| {
        json!({
            "id": format!("msg_stub{number:06}"), "type": "message", "role": "assistant", "model": model,
            "content": content, "stop_reason": reason, "stop_sequence": null, "usage": usage,
        })
    };
    if !stream {
        return Response::json(200, &message(json!([block]), json!(reason)));
    }
    let (empty, delta) = match answer {
        Answer::Text(text) => {
            (json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": text}))
        }
        Answer::Step(_) => {
            let mut empty = block.clone();
            empty["input"] = json!({});
            (empty, json!({"type": "input_json_delta", "partial_json": block["input"].to_string()}))
        }
    };
    Response::events(&[
        json!({"type": "message_start", "message": message(json!([]), Value::Null)}),
        json!({"type": "content_block_start", "index": 0, "content_block": empty}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({
            "type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null},
            "usage": {"output_tokens": 10},
        }),
        json!({"type": "message_stop"}),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_and_blocks_are_read() {
        let conversation = read(&json!({
            "stream": true,
            "tools": [{"name": "Read"}, {"name": "Bash"}],
            "messages": [
                {"role": "user", "content": "hello"},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "Bash", "input": {}}]},
                {"role": "user", "content": [
                    {"type": "tool_result", "content": [{"type": "text", "text": "out"}]},
                    {"type": "text", "text": "and"},
                ]},
            ],
        }));
        let user = |text: &str| Item::User(text.to_owned());
        assert_eq!(
            conversation.items,
            [user("hello"), Item::Model, Item::Result("out".to_owned()), user("and")]
        );
        assert_eq!((conversation.shell, conversation.stream), (true, true));
    }

    #[test]
    fn a_shell_call_is_said_in_both_ways() {
        let answer = Answer::Step(ModelStep::Shell("loop turn CC".to_owned()));
        let whole: Value = serde_json::from_str(&say(&answer, "m", false, 1).body).expect("JSON");
        assert_eq!(whole["content"][0]["input"]["command"], "loop turn CC");
        assert_eq!(whole["stop_reason"], "tool_use");
        let events = say(&answer, "m", true, 1);
        assert_eq!(events.content_type, "text/event-stream");
        assert!(events.body.contains("event: message_stop\n"));
        assert!(events.body.contains(r#"\"command\":\"loop turn CC\""#), "{}", events.body);
    }
}
