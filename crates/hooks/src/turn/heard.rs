//! What a hook's JSON says, and telling the router.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use loop_core::plain;
use loop_core::records::excerpt;
use loop_core::rendezvous::{TURN_HOOK_PATH, TurnHook};
use loop_core::settle::Event;
use serde_json::Value;

use crate::notify::ring::{Rung, ask};

/// The most characters of what an agent asks.
const SAYS_LENGTH: usize = 200;

/// What happened, as one kind of CLI tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Heard {
    pub(super) event: Event,
    pub(super) prompt: Option<String>,
    pub(super) background: u32,
    pub(super) says: Option<String>,
}

impl Heard {
    pub(super) fn started(prompt: Option<&str>) -> Self {
        Self { prompt: prompt.map(str::to_owned), ..Self::new(Event::Started) }
    }

    pub(super) fn finished() -> Self {
        Self::new(Event::Finished)
    }

    pub(super) fn asks(says: Option<&str>) -> Self {
        Self { says: says.map(str::to_owned), ..Self::new(Event::Asks) }
    }

    fn new(event: Event) -> Self {
        Self { event, prompt: None, background: 0, says: None }
    }
}

/// A field of text that is not empty.
pub(super) fn text<'p>(payload: &'p Value, name: &str) -> Option<&'p str> {
    payload.get(name).and_then(Value::as_str).filter(|text| !text.trim().is_empty())
}

/// How many things a field lists.
pub(super) fn count(payload: &Value, name: &str) -> u32 {
    let count = payload.get(name).and_then(Value::as_array).map_or(0, Vec::len);
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Reads what a hook of this kind of CLI was given; `None` where it says nothing of the agent's own turns: another
/// event, a sub-agent's, no such kind, or no JSON.
///
/// Loop and agent are not in it, and the folder is `cwd` where it names none.
pub fn read(kind: &str, payload: &[u8], cwd: &str) -> Option<TurnHook> {
    let row = super::find(kind)?;
    let payload: Value = serde_json::from_slice(payload).ok()?;
    // A hook that runs inside a sub-agent carries the sub-agent's id.
    if text(&payload, "agent_id").or_else(|| text(&payload, "parent_id")).is_some() {
        return None;
    }
    let Heard { event, prompt, background, says } = (row.heard)(&payload)?;
    Some(TurnHook {
        kind: row.kind.to_owned(),
        event,
        loop_id: None,
        agent: None,
        conversation: text(&payload, "session_id").map(|id| plain::line(id, 128)),
        cwd: text(&payload, "cwd").unwrap_or(cwd).to_owned(),
        prompt: prompt.map(|prompt| excerpt(&prompt)),
        background,
        says: says.map(|says| plain::line(&says, SAYS_LENGTH)),
    })
}

/// Where the router is found.
#[derive(Debug, Clone)]
pub struct Router {
    /// Its `router.json`.
    pub file: PathBuf,
    /// The file with its key.
    pub key_file: PathBuf,
}

/// Tells the router, within `whole`. What came of it is said in a few words, for somebody who looks for a fault:
/// the caller goes on in any case.
pub fn tell(router: &Router, hook: &TurnHook, whole: Duration) -> String {
    let until = Instant::now() + whole;
    match ask(&router.file, &router.key_file, TURN_HOOK_PATH, hook, until) {
        Ok((addr, answer)) => {
            let status_line = answer.split(|byte| *byte == b'\r').next().unwrap_or_default();
            format!(
                "the router at {addr} answered: {}",
                plain::line(&String::from_utf8_lossy(status_line), 80)
            )
        }
        Err(rung) => match *rung {
            Rung::NoRouter => "no router runs".to_owned(),
            Rung::Late => "the router did not answer in time".to_owned(),
            Rung::NoKey { path, why } => format!("the key {} cannot be used: {why}", path.display()),
            Rung::Barred(why) => format!("the router cannot be reached: {why}"),
            other => format!("what answers there is no router: {other:?}"),
        },
    }
}
