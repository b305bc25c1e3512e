//! Qwen Code's chats: `projects/<slug>/chats/<id>.jsonl`, a line per message or event.
//!
//! A model's message is written when it is complete. With a call in it the turn goes on, without one it has ended. Its
//! own commands and telemetry are `system` lines and say nothing of a turn, but for an error of the model's provider.

use jiff::Timestamp;
use loop_core::profile::Records;
use loop_core::records::RecordState;
use serde_json::Value;

use crate::by_folder::ByFolder;
use crate::chats::Lines;
use crate::formats::Reader;
use crate::limit::is_limit;
use crate::place::Site;
use crate::story::{Story, time};

pub(super) fn open(_records: &Records, site: Site) -> Reader {
    Reader::files::<_, Chat>(move || ByFolder::new(site.clone(), "chats"))
}

#[derive(Debug, Default)]
struct Chat {
    story: Story,
}

impl Lines for Chat {
    fn take(&mut self, line: &Value) {
        if line["isSidechain"].as_bool() == Some(true) {
            return;
        }
        let at = time(&line["timestamp"]);
        match line["type"].as_str() {
            Some("user") if line["subtype"].is_null() => self.story.asked(at, &text(line)),
            // Told by the CLI itself: a schedule, the end of background work.
            Some("user" | "tool_result") => self.story.event(at, RecordState::Working),
            Some("assistant") => self.assistant(at, line),
            Some("system") => self.system(at, line),
            _ => {}
        }
    }

    fn story(&self) -> &Story {
        &self.story
    }
}

impl Chat {
    fn assistant(&mut self, at: Option<Timestamp>, line: &Value) {
        let calls = parts(line).any(|part| part.get("functionCall").is_some());
        let says = parts(line).any(|part| part["thought"] != true && part["text"].is_string());
        let state = if says && !calls { RecordState::Idle } else { RecordState::Working };
        self.story.event(at, state);
    }

    fn system(&mut self, at: Option<Timestamp>, line: &Value) {
        let event = &line["systemPayload"]["uiEvent"];
        if event["event.name"].as_str().is_none_or(|name| !name.ends_with("api_error")) {
            return;
        }
        let words = ["error_message", "error.message", "error"].iter().find_map(|key| event[*key].as_str());
        if let Some(words) = words.filter(|words| is_limit(words)) {
            self.story.event(at, RecordState::Limited(loop_core::plain::line(words, 200)));
        }
    }
}

fn parts(line: &Value) -> impl Iterator<Item = &Value> {
    line["message"]["parts"].as_array().into_iter().flatten()
}

fn text(line: &Value) -> String {
    parts(line).filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
}
