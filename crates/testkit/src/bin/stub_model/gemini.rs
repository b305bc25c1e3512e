//! Google's `generateContent`, as Gemini CLI speaks it.

use loop_testkit::stub_model::ModelStep;
use serde_json::{Value, json};

use crate::conversation::{Answer, Conversation, Item};
use crate::http::Response;

/// What comes before the model's name in a path.
const MODELS: &str = "/v1beta/models/";

/// The shell tool.
const SHELL: &str = "run_shell_command";

/// The tool that Gemini CLI makes the model call, so to speak, when a person calls a skill.
const SKILL: &str = "activate_skill";

/// Returns what reads a request to this path, if it asks a model for content: the path says whether as events.
pub(crate) fn reader(path: &str) -> Option<fn(&Value) -> Conversation> {
    let (_, method) = path.strip_prefix(MODELS)?.split_once(':')?;
    match method {
        "generateContent" => Some(read),
        "streamGenerateContent" => Some(|request| Conversation { stream: true, ..read(request) }),
        _ => None,
    }
}

/// Reads a request for the whole answer.
fn read(request: &Value) -> Conversation {
    let mut reader = Reader::default();
    for content in request["contents"].as_array().into_iter().flatten() {
        for part in content["parts"].as_array().into_iter().flatten() {
            reader.part(content["role"] == "model", part);
        }
    }
    let tools = request["tools"].as_array().into_iter().flatten();
    let mut declared = tools.flat_map(|tool| tool["functionDeclarations"].as_array().into_iter().flatten());
    let shell = declared.any(|tool| tool["name"] == SHELL);
    Conversation { items: reader.items, shell, stream: false }
}

/// What was read, and the skill whose arguments are still to come.
#[derive(Default)]
struct Reader {
    items: Vec<Item>,
    skill: Option<Skill>,
}

/// A skill that a person called.
struct Skill {
    name: String,
    body: String,
}

impl Reader {
    /// A called skill comes as a made-up tool call, its result with the body, and the bare arguments as text. Here
    /// these are one text of the user's: the body and the call.
    fn part(&mut self, from_model: bool, part: &Value) {
        let (call, result) = (&part["functionCall"], &part["functionResponse"]);
        if call["name"] == SKILL {
            let name = call["args"]["name"].as_str().unwrap_or_default().to_owned();
            self.skill = Some(Skill { name, body: String::new() });
        } else if from_model {
            self.items.push(Item::Model);
        } else if let (Some(skill), true) = (&mut self.skill, result["name"] == SKILL) {
            skill.body = output(result);
        } else if result.is_object() {
            self.items.push(Item::Result(output(result)));
        } else if let Some(text) = part["text"].as_str() {
            self.items.push(Item::User(match self.skill.take() {
                Some(skill) => format!("{}\n\n/{} {text}", skill.body, skill.name),
                None => text.to_owned(),
            }));
        }
    }
}

/// A tool's output.
fn output(result: &Value) -> String {
    match &result["response"]["output"] {
        Value::String(text) => text.clone(),
        _ => result["response"].to_string(),
    }
}

/// Says `answer`; the dialect has no ids, so `number` is that of the response.
pub(crate) fn say(answer: &Answer, model: &str, stream: bool, number: usize) -> Response {
    let part = match answer {
        Answer::Text(text) => json!({"text": text}),
        Answer::Step(step) => {
            let (name, arguments) = match step {
                ModelStep::Shell(command) => {
                    (SHELL, json!({"command": command, "description": "Take the turn"}))
                }
                ModelStep::Write { path, text } => {
                    ("write_file", json!({"file_path": path, "content": text}))
                }
            };
            json!({"functionCall": {"name": name, "args": arguments}})
        }
    };
    let response = json!({
        "candidates": [
            {"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"},
        ],
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20},
        "modelVersion": model, "responseId": format!("stub{number:06}"),
    });
    if stream { Response::unnamed_events(&[response]) } else { Response::json(200, &response) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn the_path_says_whether_events_are_wanted() {
        for (path, expected) in [
            ("/v1beta/models/gemini-2.5-flash:generateContent", Some(false)),
            ("/v1beta/models/gemini-2.5-flash:streamGenerateContent", Some(true)),
            ("/v1beta/models/gemini-2.5-flash:countTokens", None),
            ("/v1beta/models", None),
            ("/v1/messages", None),
        ] {
            assert_eq!(reader(path).map(|read| read(&Value::Null).stream), expected, "{path}");
        }
    }

    #[test]
    fn contents_are_read() {
        let conversation = read(&json!({
            "tools": [{"functionDeclarations": [{"name": "read_file"}, {"name": "run_shell_command"}]}],
            "contents": [
                {"role": "user", "parts": [{"text": "context"}, {"text": "hello"}]},
                {"role": "model", "parts": [{"text": "I look"}, {"functionCall": {"name": "run_shell_command"}}]},
                {"role": "user", "parts": [
                    {"functionResponse": {"name": "run_shell_command", "response": {"output": "out"}}},
                ]},
            ],
        }));
        let user = |text: &str| Item::User(text.to_owned());
        assert_eq!(
            conversation.items,
            [user("context"), user("hello"), Item::Model, Item::Model, Item::Result("out".to_owned())]
        );
        assert!(conversation.shell);
        assert!(!read(&json!({"contents": []})).shell);
    }

    #[test]
    fn a_called_skill_is_the_users() {
        let conversation = read(&json!({"contents": [
            {"role": "model", "parts": [{"functionCall": {"name": "activate_skill", "args": {"name": "agent-loop"}}}]},
            {"role": "user", "parts": [
                {"functionResponse": {"name": "activate_skill", "response": {"output": "the body"}}},
            ]},
            {"role": "user", "parts": [{"text": "CC"}]},
            {"role": "user", "parts": [{"text": "and more"}]},
        ]}));
        let user = |text: &str| Item::User(text.to_owned());
        assert_eq!(conversation.items, [user("the body\n\n/agent-loop CC"), user("and more")]);
    }

    #[test]
    fn a_shell_call_is_said_in_both_ways() {
        let answer = Answer::Step(ModelStep::Shell("loop turn CC".to_owned()));
        let whole = say(&answer, "m", false, 1);
        let events = say(&answer, "m", true, 1);
        let streamed = events.body.strip_prefix("data: ").unwrap().strip_suffix("\n\n").unwrap();
        for body in [whole.body.as_str(), streamed] {
            let response: Value = serde_json::from_str(body).unwrap();
            let call = &response["candidates"][0]["content"]["parts"][0]["functionCall"];
            assert_eq!(call["args"]["command"], "loop turn CC");
        }
        assert_eq!(events.content_type, "text/event-stream");
    }
}
