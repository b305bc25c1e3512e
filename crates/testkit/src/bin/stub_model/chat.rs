//! OpenAI's chat completions, as OpenCode and Qwen Code speak them, each with tools of its own.

use loop_testkit::stub_model::ModelStep;
use serde_json::{Value, json};

use crate::conversation::{Answer, Conversation, Item};
use crate::http::Response;

/// What a CLI calls its tools.
struct Tools {
    shell: &'static str,
    write: &'static str,
    /// The parameter of `write` with the file's path.
    path: &'static str,
}

const OPENCODE: Tools = Tools { shell: "bash", write: "write", path: "filePath" };
const QWEN: Tools = Tools { shell: "run_shell_command", write: "write_file", path: "file_path" };

/// Reads a request to `/v1/chat/completions`.
pub(crate) fn read(request: &Value) -> Conversation {
    let mut items = Vec::new();
    for message in request["messages"].as_array().into_iter().flatten() {
        match message["role"].as_str() {
            Some("user") => items.push(Item::User(text_of(&message["content"]))),
            Some("tool") => items.push(Item::Result(text_of(&message["content"]))),
            // What the CLI itself tells the model.
            Some("system" | "developer") => {}
            _ => items.push(Item::Model),
        }
    }
    let shell = offers(request, OPENCODE.shell) || offers(request, QWEN.shell);
    Conversation { items, shell, stream: request["stream"].as_bool().unwrap_or(false) }
}

fn offers(request: &Value, name: &str) -> bool {
    let mut tools = request["tools"].as_array().into_iter().flatten();
    tools.any(|tool| tool["function"]["name"] == name)
}

/// The text of a string, of a part, or of a list of parts.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(text_of).collect::<Vec<_>>().join("\n"),
        part => part["text"].as_str().unwrap_or_default().to_owned(),
    }
}

/// Says an answer to whoever sent a request: text, model, whether as events, and a number for the ids.
type Say = fn(&Answer, &str, bool, usize) -> Response;

/// Returns how to answer `request` with the tools that it offers.
pub(crate) fn speaker(request: &Value) -> Say {
    if offers(request, QWEN.shell) {
        |answer, model, stream, number| say(&QWEN, answer, model, stream, number)
    } else {
        |answer, model, stream, number| say(&OPENCODE, answer, model, stream, number)
    }
}

fn say(tools: &Tools, answer: &Answer, model: &str, stream: bool, number: usize) -> Response {
    let (mut message, reason) = match answer {
        Answer::Text(text) => (json!({"role": "assistant", "content": text}), "stop"),
        Answer::Step(step) => {
            let (name, arguments) = match step {
                ModelStep::Shell(command) => (
                    tools.shell,
                    json!({"command": command, "description": "Take the turn", "is_background": false}),
                ),
                ModelStep::Write { path, text } => (tools.write, json!({tools.path: path, "content": text})),
            };
            let call = json!({
                "id": format!("call_stub{number:06}"), "type": "function",
                "function": {"name": name, "arguments": arguments.to_string()},
            });
            (json!({"role": "assistant", "content": null, "tool_calls": [call]}), "tool_calls")
        }
    };
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20});
    let document = |object: &str, choices: Value, usage: &Value| {
        json!({
            "id": format!("chatcmpl-stub{number:06}"), "object": object, "created": 0, "model": model,
            "choices": choices, "usage": usage,
        })
    };
    if !stream {
        let choices = json!([{"index": 0, "message": message, "finish_reason": reason}]);
        return Response::json(200, &document("chat.completion", choices, &usage));
    }
    if message["tool_calls"].is_array() {
        message["tool_calls"][0]["index"] = json!(0);
    }
    let chunk = |delta: &Value, reason: Value, usage: &Value| {
        let choices = json!([{"index": 0, "delta": delta, "finish_reason": reason}]);
        document("chat.completion.chunk", choices, usage)
    };
    Response::chunks(&[chunk(&message, Value::Null, &Value::Null), chunk(&json!({}), json!(reason), &usage)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(shell: &str) -> Value {
        json!({
            "stream": true,
            "tools": [
                {"type": "function", "function": {"name": "read"}},
                {"type": "function", "function": {"name": shell}},
            ],
            "messages": [
                {"role": "system", "content": "You may be told /agent-loop X"},
                {"role": "user", "content": [{"type": "text", "text": "hello"}]},
                {"role": "assistant", "content": "", "tool_calls": [
                    {"id": "1", "type": "function", "function": {"name": shell, "arguments": "{}"}},
                ]},
                {"role": "tool", "tool_call_id": "1", "content": "out"},
            ],
        })
    }

    #[test]
    fn the_messages_are_read() {
        for shell in ["bash", "run_shell_command"] {
            let conversation = read(&request(shell));
            assert_eq!(
                conversation.items,
                [Item::User("hello".to_owned()), Item::Model, Item::Result("out".to_owned())]
            );
            assert_eq!((conversation.shell, conversation.stream), (true, true));
        }
        assert!(!read(&request("grep")).shell);
    }

    #[test]
    fn each_cli_is_told_to_use_its_own_tools() {
        let shell = Answer::Step(ModelStep::Shell("loop turn X".to_owned()));
        let write = Answer::Step(ModelStep::Write { path: "/a".to_owned(), text: "b".to_owned() });
        for (asks, name, writes, path) in [
            ("bash", "bash", "write", "filePath"),
            ("run_shell_command", "run_shell_command", "write_file", "file_path"),
        ] {
            let say = speaker(&request(asks));
            let called = |answer: &Answer| {
                let whole: Value = serde_json::from_str(&say(answer, "m", false, 1).body).expect("JSON");
                assert_eq!(whole["choices"][0]["finish_reason"], "tool_calls");
                let call = whole["choices"][0]["message"]["tool_calls"][0]["function"].clone();
                let arguments: Value =
                    serde_json::from_str(call["arguments"].as_str().unwrap_or_default()).expect("JSON");
                (call["name"].as_str().unwrap_or_default().to_owned(), arguments)
            };
            assert_eq!(
                (called(&shell).0.as_str(), &called(&shell).1["command"]),
                (name, &json!("loop turn X"))
            );
            assert_eq!((called(&write).0.as_str(), &called(&write).1[path]), (writes, &json!("/a")));
        }
    }

    #[test]
    fn an_answer_is_said_in_both_ways() {
        let answer = Answer::Text("hello".to_owned());
        let say = speaker(&request("bash"));
        let whole: Value = serde_json::from_str(&say(&answer, "m", false, 1).body).expect("JSON");
        assert_eq!(whole["choices"][0]["message"]["content"], "hello");
        let events = say(&answer, "m", true, 1);
        assert_eq!(events.content_type, "text/event-stream");
        let chunks: Vec<&str> = events.body.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
        let delta: Value = serde_json::from_str(chunks[0]).expect("JSON");
        assert_eq!(delta["choices"][0]["delta"]["content"], "hello");
        let last: Value = serde_json::from_str(chunks[1]).expect("JSON");
        assert_eq!(
            (&last["choices"][0]["finish_reason"], &last["usage"]["total_tokens"]),
            (&json!("stop"), &json!(20))
        );
        assert_eq!(chunks[2..], ["[DONE]"]);
    }
}
