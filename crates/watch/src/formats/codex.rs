//! Codex' rollouts: `sessions/Y/M/D/rollout-<time>-<thread>.jsonl`, a line per event.
//!
//! The file appears with the first prompt and opens with `session_meta`, which names the folder and who asked for the
//! thread. Threads of sub-agents and those that the CLI starts for itself (titles) have a source that is no plain word,
//! or name a parent. A resumed thread goes on in its old file, so folders of every day count.

use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use loop_core::profile::Records;
use loop_core::records::RecordState;
use serde_json::Value;

use crate::chats::{Chat, Heads, Lines, Shelf, is_file_name};
use crate::formats::Reader;
use crate::limit::is_limit;
use crate::place::Site;
use crate::story::{Story, time};
use crate::tail::{self, Stamp};

pub(super) fn open(_records: &Records, site: Site) -> Reader {
    Reader::files::<_, Rollout>(move || Sessions::new(site.clone()))
}

/// How often every day's folder is looked through; between, only what was last found and the newest days are.
const SWEEP: SignedDuration = SignedDuration::from_secs(30);

/// The most rollouts that are asked for their folder in one look.
const MOST_HEADS: usize = 400;

/// `session_meta` holds the instructions too.
const HEAD: u64 = 1 << 20;

struct Sessions {
    site: Site,
    heads: Heads<Head>,
    swept: Option<Timestamp>,
    /// The rollouts that belong to this agent's folder, or to the asked conversation.
    found: Vec<PathBuf>,
    asked: Option<String>,
}

#[derive(Debug, Clone)]
struct Head {
    folder: String,
    main: bool,
}

impl Sessions {
    fn new(site: Site) -> Self {
        Self { site, heads: Heads::default(), swept: None, found: Vec::new(), asked: None }
    }

    /// Every rollout of the newest `days`, of newer days first.
    fn rollouts(&self, days: usize) -> io::Result<Vec<PathBuf>> {
        let mut rollouts = Vec::new();
        let mut left = days;
        for year in newest_first(&self.site.at)? {
            for month in newest_first(&year).unwrap_or_default() {
                for day in newest_first(&month).unwrap_or_default() {
                    if left == 0 {
                        return Ok(rollouts);
                    }
                    left -= 1;
                    rollouts.extend(newest_first(&day).unwrap_or_default().into_iter().filter(|file| {
                        file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("rollout-"))
                            && file.extension().is_some_and(|extension| extension == "jsonl")
                    }));
                }
            }
        }
        Ok(rollouts)
    }

    fn belongs(&mut self, path: &Path, stamp: Stamp) -> bool {
        let head = self.heads.of(path, stamp, read_head);
        head.is_some_and(|head| head.main && self.site.is_ours(&head.folder))
    }
}

impl Shelf for Sessions {
    fn find(&mut self, asked: Option<&str>, now: Timestamp) -> io::Result<Vec<Chat>> {
        if asked.is_some_and(|id| !is_file_name(id)) {
            return Err(io::Error::other("the asked conversation has no possible id"));
        }
        if self.asked.as_deref() != asked {
            self.asked = asked.map(str::to_owned);
            self.found.clear();
            self.swept = None;
        }
        let sweep = self.swept.is_none_or(|swept| now < swept || now.duration_since(swept) >= SWEEP);
        let known = asked.is_some() && self.found.first().is_some_and(|path| path.exists());
        if !known {
            let rollouts = self.rollouts(if sweep { usize::MAX } else { 2 })?;
            if let Some(id) = asked {
                let end = format!("-{id}.jsonl");
                let file = rollouts.into_iter().find(|path| path.to_string_lossy().ends_with(&end));
                self.found = file.into_iter().collect();
            } else {
                let mut stamped: Vec<(Stamp, PathBuf)> =
                    rollouts.into_iter().filter_map(|path| Some((Stamp::at(&path).ok()?, path))).collect();
                stamped.sort_by_key(|(stamp, _)| std::cmp::Reverse(stamp.modified));
                for (stamp, path) in stamped.into_iter().take(MOST_HEADS) {
                    if !self.found.contains(&path) && self.belongs(&path, stamp) {
                        self.found.push(path);
                    }
                }
            }
            if sweep {
                self.swept = Some(now);
            }
        }
        let stamped = self.found.iter().filter_map(|path| {
            let id = thread(path)?;
            Some(Chat { id, path: path.clone(), stamp: Stamp::at(path).ok()? })
        });
        Ok(stamped.collect())
    }
}

/// What is in a folder, by name, the last first.
fn newest_first(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths =
        std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<PathBuf>>>()?;
    paths.sort_by(|a, b| b.cmp(a));
    Ok(paths)
}

/// The thread in `rollout-2026-11-30T10-00-00-<thread>.jsonl`; it is a UUID.
fn thread(path: &Path) -> Option<String> {
    let name = path.file_stem()?.to_str()?;
    let start = name.len().checked_sub(36)?;
    name.get(start..).map(str::to_owned)
}

fn read_head(path: &Path) -> io::Result<Option<Head>> {
    let mut line = Vec::new();
    BufReader::new(tail::open(path)?.take(HEAD)).read_until(b'\n', &mut line)?;
    let Ok(value) = serde_json::from_slice::<Value>(&line) else { return Ok(None) };
    let meta = &value["payload"];
    let Some(folder) = meta["cwd"].as_str() else { return Ok(None) };
    let asked_by_a_person = match &meta["source"] {
        Value::String(source) => !source.contains("subagent") && !source.contains("internal"),
        Value::Null => true,
        _ => false,
    };
    let of_a_user = meta["thread_source"].as_str().is_none_or(|source| source == "user");
    let main = asked_by_a_person && of_a_user && meta["parent_thread_id"].is_null();
    Ok(Some(Head { folder: folder.to_owned(), main }))
}

#[derive(Debug, Default)]
struct Rollout {
    story: Story,
    /// The newest words of a limit, until a turn begins.
    limit: Option<String>,
}

impl Lines for Rollout {
    fn take(&mut self, line: &Value) {
        let at = time(&line["timestamp"]);
        let payload = &line["payload"];
        match (line["type"].as_str(), payload["type"].as_str()) {
            (Some("event_msg"), Some(event)) => self.event(at, event, payload),
            (Some("response_item"), Some("function_call")) if payload["name"] == "request_user_input" => {
                self.story.event(at, RecordState::Asks("it asks a question".to_owned()));
            }
            (Some("response_item"), Some("function_call_output" | "custom_tool_call_output"))
                if matches!(self.story.state(), Some(RecordState::Asks(_))) =>
            {
                self.story.event(at, RecordState::Working);
            }
            _ => {}
        }
    }

    fn story(&self) -> &Story {
        &self.story
    }
}

impl Rollout {
    fn event(&mut self, at: Option<Timestamp>, event: &str, payload: &Value) {
        match event {
            "task_started" | "turn_started" => {
                self.limit = None;
                self.story.event(at, RecordState::Working);
            }
            // As older versions write it, and newer ones.
            "user_message" => self.asked(at, payload["message"].as_str().unwrap_or_default()),
            "item_completed" => match payload["item"]["type"].as_str() {
                Some("UserMessage") => self.asked(at, &text(&payload["item"]["content"])),
                _ if self.story.is_over() => {}
                _ => self.story.event(at, RecordState::Working),
            },
            "task_complete" | "turn_complete" | "turn_aborted" => {
                let state = match self.limit.take() {
                    // A turn that brought an answer was not stopped by the limit.
                    Some(words) if payload["last_agent_message"].is_null() => RecordState::Limited(words),
                    _ => RecordState::Idle,
                };
                self.story.event(at, state);
            }
            "error" | "stream_error" => {
                let words = payload["message"].as_str().unwrap_or_default();
                let code = payload["codex_error_info"].as_str().unwrap_or_default();
                if code.contains("limit") || is_limit(words) {
                    self.limit = Some(loop_core::plain::line(words, 200));
                }
            }
            "token_count" => {
                if let Some(words) = reached(&payload["rate_limits"]) {
                    self.limit = Some(words);
                }
            }
            "exec_approval_request" | "apply_patch_approval_request" => {
                self.story.event(at, RecordState::Asks("it asks for permission".to_owned()));
            }
            "request_user_input" | "elicitation_request" => {
                self.story.event(at, RecordState::Asks("it asks a question".to_owned()));
            }
            "exec_command_begin" | "exec_command_end" | "patch_apply_begin" | "patch_apply_end" => {
                self.story.event(at, RecordState::Working);
            }
            _ => {}
        }
    }

    fn asked(&mut self, at: Option<Timestamp>, text: &str) {
        if self.story.is_over() {
            self.limit = None;
        }
        self.story.asked(at, text);
    }
}

/// The text of a message in parts.
fn text(content: &Value) -> String {
    let parts = content.as_array().into_iter().flatten();
    parts.filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
}

/// The words for a limit that has been reached.
fn reached(limits: &Value) -> Option<String> {
    let kind = limits["rate_limit_reached_type"].as_str();
    let full = ["primary", "secondary"]
        .into_iter()
        .find(|window| limits[*window]["used_percent"].as_f64().is_some_and(|percent| percent >= 100.0));
    let resets = full.and_then(|window| limits[window]["resets_at"].as_i64());
    let until = resets.and_then(|at| Timestamp::from_second(at).ok());
    let words = kind.map_or("usage limit reached".to_owned(), |kind| kind.replace('_', " "));
    (kind.is_some() || full.is_some()).then(|| match until {
        Some(until) => format!("{words}, until {until}"),
        None => words,
    })
}
