//! Gemini CLI's chats: `tmp/<project>/chats/session-<time>-<id>.jsonl` (older: `.json`, written anew each time).
//!
//! The project's folder is a short name from the registry `projects.json` beside `tmp`, and holds the path it stands
//! for in `.project_root`; in older versions it is the SHA-256 of the path. A message is written when it is complete
//! and again when something is added. Calls are added to it only when they are done, so a message that says something
//! may be the end of a turn or the beginning of a long call: it stands [`RecordState::Still`].

use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use loop_core::profile::Records;
use loop_core::records::RecordState;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::chats::{Chat, Heads, Lines, Shelf};
use crate::formats::Reader;
use crate::limit::is_limit;
use crate::place::Site;
use crate::story::{Story, time};
use crate::tail::{self, Stamp};

pub(super) fn open(_records: &Records, site: Site) -> Reader {
    Reader::files::<_, Session>(move || Projects { site: site.clone(), heads: Heads::default() })
}

/// How much of a registry, a marker or a chat's beginning is read.
const HEAD: u64 = 1 << 20;

struct Projects {
    site: Site,
    heads: Heads<Head>,
}

#[derive(Debug, Clone)]
struct Head {
    id: String,
    main: bool,
}

impl Projects {
    /// The folders of this working tree's project.
    fn places(&self) -> Vec<PathBuf> {
        let registry = self.site.at.parent().map(|above| above.join("projects.json"));
        let registry = registry.and_then(|file| read_some(&file).ok()).unwrap_or_default();
        let registry: Value = serde_json::from_slice(&registry).unwrap_or_default();
        let mut places = Vec::new();
        for folder in &self.site.folders {
            let path = folder.to_string_lossy();
            let name = registry["projects"][&*path].as_str().filter(|name| crate::chats::is_file_name(name));
            // A name that was given to another project since.
            let name = name
                .map(|name| self.site.at.join(name))
                .filter(|place| owner(place).is_none_or(|of| of == path));
            places.extend(name);
            places.push(self.site.at.join(hex(&Sha256::digest(path.as_bytes()))));
        }
        if !places.iter().any(|place| place.is_dir()) {
            let entries = std::fs::read_dir(&self.site.at).into_iter().flatten().flatten();
            let ours = |place: &PathBuf| owner(place).is_some_and(|of| self.site.is_ours(&of));
            places.extend(entries.map(|entry| entry.path()).filter(ours));
        }
        places
    }
}

impl Shelf for Projects {
    fn find(&mut self, asked: Option<&str>, _now: Timestamp) -> io::Result<Vec<Chat>> {
        let mut chats = Vec::new();
        for place in self.places() {
            let entries = match std::fs::read_dir(place.join("chats")) {
                Ok(entries) => entries,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            for entry in entries {
                let path = entry?.path();
                let is_chat =
                    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("session-"))
                        && path.extension().is_some_and(|end| end == "jsonl" || end == "json");
                let Some(stamp) = Stamp::at(&path).ok().filter(|_| is_chat) else { continue };
                let Some(head) = self.heads.of(&path, stamp, read_head) else { continue };
                if head.main && asked.is_none_or(|id| id == head.id) {
                    chats.push(Chat { id: head.id, path, stamp });
                }
            }
        }
        Ok(chats)
    }
}

fn read_some(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    tail::open(path)?.take(HEAD).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The path for which a project's folder stands.
fn owner(place: &Path) -> Option<String> {
    let bytes = read_some(&place.join(".project_root")).ok()?;
    String::from_utf8(bytes).ok().map(|path| path.trim().to_owned())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The metadata in the first line, or at the beginning of an older file.
fn read_head(path: &Path) -> io::Result<Option<Head>> {
    let mut line = Vec::new();
    if path.extension().is_some_and(|end| end == "json") {
        line = read_some(path)?;
    } else {
        BufReader::new(tail::open(path)?.take(HEAD)).read_until(b'\n', &mut line)?;
    }
    let Ok(meta) = serde_json::from_slice::<Value>(&line) else { return Ok(None) };
    let main = meta["kind"].as_str().is_none_or(|kind| kind == "main");
    Ok(meta["sessionId"].as_str().map(|id| Head { id: id.to_owned(), main }))
}

#[derive(Debug, Default)]
struct Session {
    story: Story,
}

impl Lines for Session {
    fn take(&mut self, line: &Value) {
        // An older file is one object with every message in it.
        if let Some(messages) = line["messages"].as_array() {
            for message in messages {
                self.message(message);
            }
        } else {
            self.message(line);
        }
    }

    fn story(&self) -> &Story {
        &self.story
    }
}

impl Session {
    fn message(&mut self, line: &Value) {
        let at = time(&line["timestamp"]);
        let words = text(&line["content"]);
        match line["type"].as_str() {
            // The results of calls are handed to the model as a user's message.
            Some("user") if words.is_empty() => self.story.event(at, RecordState::Working),
            Some("user") if words.starts_with("<session_context>") => {}
            Some("user") => self.story.asked(at, &words),
            Some("gemini") => {
                let calls = line["toolCalls"].as_array().is_some_and(|calls| !calls.is_empty());
                let state = if calls || words.is_empty() { RecordState::Working } else { RecordState::Still };
                self.story.event(at, state);
            }
            Some("error") if is_limit(&words) => {
                self.story.event(at, RecordState::Limited(loop_core::plain::line(&words, 200)));
            }
            Some("error") => self.story.event(at, RecordState::Still),
            _ => {}
        }
    }
}

/// A message's text: one text, or parts.
fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| part["text"].as_str().or(part.as_str()))
            .collect::<Vec<_>>()
            .join("\n"),
        other => other["text"].as_str().unwrap_or_default().to_owned(),
    }
}
