//! Claude Code's transcripts: `projects/<slug>/<session>.jsonl`, a line per message or event.
//!
//! A line is written late by parts of a second, so times decide, not the order. An assistant's line tells by its
//! `stop_reason` whether a tool is called or the turn ends; `turn_duration` follows the end. Lines of sub-agents carry
//! `isSidechain`. Commands of the CLI itself (`/model`) look like prompts, but their output follows at once.

use std::collections::BTreeMap;

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
    Reader::files::<_, Transcript>(move || ByFolder::new(site.clone(), ""))
}

/// Tools that wait for a person's answer.
const QUESTIONS: [(&str, &str); 2] =
    [("AskUserQuestion", "it asks a question"), ("ExitPlanMode", "it asks whether to carry out its plan")];

#[derive(Debug, Default)]
struct Transcript {
    story: Story,
    /// Background shells and agents that have not been seen to end, and when each was begun.
    running: BTreeMap<String, Option<Timestamp>>,
}

impl Lines for Transcript {
    fn take(&mut self, line: &Value) {
        if line["isSidechain"].as_bool() == Some(true) {
            return;
        }
        self.background_ended(line);
        let at = time(&line["timestamp"]);
        match line["type"].as_str() {
            Some("assistant") => self.assistant(at, line),
            Some("user") => self.user(at, line),
            Some("system") if line["subtype"].as_str() == Some("turn_duration") => {
                self.story.event(at, RecordState::Idle);
            }
            _ => {}
        }
    }

    fn story(&self) -> &Story {
        &self.story
    }

    fn background(&self, since: Option<Timestamp>) -> u32 {
        let runs = |begun: &&Option<Timestamp>| begun.is_none() || **begun >= since;
        u32::try_from(self.running.values().filter(runs).count()).unwrap_or(u32::MAX)
    }
}

impl Transcript {
    fn assistant(&mut self, at: Option<Timestamp>, line: &Value) {
        let message = &line["message"];
        let words = text(&message["content"]);
        if line["isApiErrorMessage"].as_bool() == Some(true) {
            let state = if is_limit(&words) { RecordState::Limited(said(&words)) } else { RecordState::Idle };
            return self.story.event(at, state);
        }
        let mut tools = blocks(&message["content"]).filter(|block| block["type"] == "tool_use").peekable();
        let calls_a_tool = tools.peek().is_some();
        for tool in tools {
            self.stopped_by(tool);
            if let Some((_, says)) = QUESTIONS.iter().find(|(name, _)| tool["name"] == **name) {
                let question = tool["input"]["questions"][0]["question"].as_str();
                self.story.event(at, RecordState::Asks(question.map_or((*says).to_owned(), said)));
                return;
            }
        }
        let state = match message["stop_reason"].as_str() {
            Some("end_turn" | "stop_sequence" | "max_tokens" | "refusal") if !calls_a_tool => {
                RecordState::Idle
            }
            // Older versions leave the reason out of every line.
            None if !calls_a_tool && !words.is_empty() => RecordState::Still,
            _ => RecordState::Working,
        };
        self.story.event(at, state);
    }

    fn user(&mut self, at: Option<Timestamp>, line: &Value) {
        let result = &line["toolUseResult"];
        // A shell, or an agent, that was sent to the background with this call.
        let agent =
            (result["status"] == "async_launched" || result["isAsync"] == true).then(|| &result["agentId"]);
        for id in [Some(&result["backgroundTaskId"]), agent].into_iter().flatten().filter_map(Value::as_str) {
            self.running.insert(id.to_owned(), at);
        }
        let content = &line["message"]["content"];
        if blocks(content).any(|block| block["type"] == "tool_result") {
            return self.story.event(at, RecordState::Working);
        }
        let words = text(content);
        if words.starts_with("[Request interrupted by user") || words.starts_with("<local-command-std") {
            return self.story.event(at, RecordState::Idle);
        }
        // A skill's body, a note of the CLI's, a summary: the turn goes on, or none begins.
        if line["isMeta"].as_bool() == Some(true) {
            return;
        }
        if line["isCompactSummary"].as_bool() == Some(true) {
            return self.story.event(at, RecordState::Working);
        }
        self.story.asked(at, &called(&words).unwrap_or(words));
    }

    /// Notes the background work whose end this line tells of, in whatever kind of line.
    fn background_ended(&mut self, line: &Value) {
        if self.running.is_empty() {
            return;
        }
        for words in texts(line) {
            for notice in words.split("<task-notification>").skip(1) {
                let over = tag(notice, "status").is_none_or(|status| status != "running");
                if let Some(id) = tag(notice, "task-id").filter(|_| over) {
                    self.running.remove(id.trim());
                }
            }
        }
    }

    fn stopped_by(&mut self, tool: &Value) {
        if matches!(tool["name"].as_str(), Some("KillShell" | "KillBash" | "TaskStop")) {
            for key in ["shell_id", "bash_id", "task_id"] {
                if let Some(id) = tool["input"][key].as_str() {
                    self.running.remove(id);
                }
            }
        }
    }
}

/// The text under every key of a line where a notice may stand.
fn texts(line: &Value) -> Vec<String> {
    let places = [&line["message"]["content"], &line["content"], &line["attachment"]["prompt"]];
    places.into_iter().map(text).collect()
}

/// The blocks of a message.
fn blocks(content: &Value) -> impl Iterator<Item = &Value> {
    content.as_array().into_iter().flatten()
}

/// The text of a message, whether it is written as one or in blocks.
fn text(content: &Value) -> String {
    match content.as_str() {
        Some(text) => text.to_owned(),
        None => blocks(content).filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n"),
    }
}

/// A slash command as it was typed.
fn called(words: &str) -> Option<String> {
    let name = tag(words, "command-name")?;
    let arguments = tag(words, "command-args").unwrap_or_default();
    Some(format!("{} {}", name.trim(), arguments.trim()))
}

/// What stands between `<name>` and `</name>`.
fn tag<'a>(words: &'a str, name: &str) -> Option<&'a str> {
    let (_, after) = words.split_once(&format!("<{name}>"))?;
    after.split_once(&format!("</{name}>")).map(|(inside, _)| inside)
}

fn said(words: &str) -> String {
    loop_core::plain::line(words, 200)
}
