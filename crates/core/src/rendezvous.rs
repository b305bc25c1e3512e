//! How the notifier and the router find and answer each other: `router.json` and the answer to a ring.
//!
//! The router writes a [`RouterFile`] when it listens and removes it when it ends. Whoever rings reads it, posts a
//! [`Ring`] to [`RING_PATH`], and is answered with an [`Answer`].

use std::net::SocketAddr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::settle::Event;

/// Where a ring is posted.
pub const RING_PATH: &str = "/webhook/agent-loop";

/// Where a turn hook tells what an agent does.
pub const TURN_HOOK_PATH: &str = "/api/turn-hook";

/// The running router, as `router.json` in the state folder tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouterFile {
    /// Its process.
    pub pid: u32,
    /// Where it listens.
    pub addr: SocketAddr,
    /// Its version.
    pub version: String,
    /// When it began to listen.
    pub started_at: Timestamp,
}

/// What is posted when a commit was made. `author` is checked against the names and decides nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ring {
    /// Who acted, as far as the notifier can tell.
    #[serde(default)]
    pub author: String,
    /// The commit's subject.
    #[serde(default)]
    pub message: String,
    /// The worktree; without it a ring is accepted only while exactly one loop is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repo: Option<String>,
    /// The full id of the commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

/// What an agent's own CLI tells through a turn hook. Every field is on the wire, null where it is not known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnHook {
    /// Whose form the hook has (`claude-code`).
    pub kind: String,
    /// What happened.
    pub event: Event,
    /// The loop's id, where `loop` started the agent.
    #[serde(default, rename = "loop")]
    pub loop_id: Option<String>,
    /// The agent's name, where `loop` started it.
    #[serde(default)]
    pub agent: Option<String>,
    /// The conversation, by the CLI's own id.
    #[serde(default)]
    pub conversation: Option<String>,
    /// Where the agent works.
    #[serde(default)]
    pub cwd: String,
    /// What it was asked, at the beginning of a turn: an [excerpt](crate::records::excerpt).
    #[serde(default)]
    pub prompt: Option<String>,
    /// How much background work goes on after the turn.
    #[serde(default)]
    pub background: u32,
    /// What it asks a person, or how its turn failed, in the CLI's own words.
    #[serde(default)]
    pub says: Option<String>,
}

/// What the router answers. `target`, `turn` and `delivery` are always on the wire, null when nobody is to be woken.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// `ok`.
    pub status: String,
    /// Whom the newest turn is handed to.
    #[serde(default)]
    pub target: Option<String>,
    /// The turn that caused it: the newest one that the router knows.
    #[serde(default)]
    pub turn: Option<usize>,
    /// The delivery's id.
    #[serde(default)]
    pub delivery: Option<String>,
    /// `running`, `passed`, `blocked`, `held` or `idle`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Why the loop passed or is held, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Further lines for the one who committed (`the loop lives on branch loop/login`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<String>,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_wire_format_of_the_old_flow_stays() {
        let answer = Answer {
            status: "ok".to_owned(),
            target: Some("Codex".to_owned()),
            turn: Some(3),
            delivery: Some("d1".to_owned()),
            ..Answer::default()
        };
        let wire = serde_json::to_string(&answer).unwrap();
        assert_eq!(wire, r#"{"status":"ok","target":"Codex","turn":3,"delivery":"d1"}"#);
        let nobody = Answer { status: "ok".to_owned(), ..Answer::default() };
        let wire = serde_json::to_string(&nobody).unwrap();
        assert_eq!(wire, r#"{"status":"ok","target":null,"turn":null,"delivery":null}"#);
        let old: Ring = serde_json::from_str(r#"{"author":"CC","message":"x"}"#).unwrap();
        assert_eq!(old.repo, None);
        let short: Answer = serde_json::from_str(r#"{"status":"ok","future":1}"#).unwrap();
        assert_eq!(short.turn, None);
    }

    #[test]
    fn a_router_file_reads_back() {
        let file = RouterFile {
            pid: 7,
            addr: "[::1]:5679".parse().unwrap(),
            version: "0.1.0".to_owned(),
            started_at: Timestamp::UNIX_EPOCH,
        };
        let wire = serde_json::to_string(&file).unwrap();
        assert_eq!(
            wire,
            r#"{"pid":7,"addr":"[::1]:5679","version":"0.1.0","started_at":"1970-01-01T00:00:00Z"}"#
        );
        assert_eq!(serde_json::from_str::<RouterFile>(&wire).unwrap(), file);
    }
}
