//! What an agent's CLI has recorded about a conversation, as values.
//!
//! The CLI writes its records for itself: they may lag, be cut short or be of a newer form. So what they say is one
//! witness of several, and [`settle`](crate::settle) weighs them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::plain;

/// How much of a prompt is kept, in characters.
pub const PROMPT_LENGTH: usize = 400;

/// The longest id of a conversation, in bytes.
const ID_LENGTH: usize = 200;

/// Whether `id` can be a conversation's. It becomes an argument of the CLI that reopens it, and an agent can tell of any:
/// as an option it would open its own sandbox.
pub fn is_conversation(id: &str) -> bool {
    !id.is_empty() && id.len() <= ID_LENGTH && !id.starts_with('-') && !id.contains(char::is_control)
}

/// What the records of one agent say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recorded {
    /// The conversation that was read, by the CLI's own id.
    pub conversation: Option<String>,
    /// How its newest turn stands.
    pub state: RecordState,
    /// What its newest turn was asked, where the records hold prompts.
    pub prompt: Option<Prompt>,
    /// When it last changed: for an ended turn its last event by the CLI's clock, else the newest sign of life.
    pub changed: Option<Timestamp>,
    /// What a person may want to know (`2 conversations in this folder; the newest is read`); mostly empty.
    pub note: String,
}

impl Recorded {
    /// No conversation, in this state.
    pub fn without_conversation(state: RecordState) -> Self {
        Self { conversation: None, state, prompt: None, changed: None, note: String::new() }
    }
}

/// What a turn was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prompt {
    /// When, by the CLI's clock.
    pub at: Timestamp,
    /// An [`excerpt`] of it.
    pub text: String,
}

impl Prompt {
    /// The prompt `text`, cut and made harmless.
    pub fn new(at: Timestamp, text: &str) -> Self {
        Self { at, text: excerpt(text) }
    }
}

/// The beginning and the end of a prompt, on one line, harmless to print, at most [`PROMPT_LENGTH`] characters. Where a
/// CLI puts a skill's body in its call's place, the body begins with the skill's name, and the arguments stand at the
/// end.
pub fn excerpt(text: &str) -> String {
    let half = PROMPT_LENGTH / 2 - 2;
    // A prompt may be a pasted file: only its ends are looked at.
    let window = half * 8;
    let head_end = text.char_indices().nth(window).map_or(text.len(), |(end, _)| end);
    let tail_start = text.char_indices().rev().nth(window).map_or(0, |(start, _)| start);
    if head_end == text.len() {
        let whole = plain::line(text, PROMPT_LENGTH);
        if whole.chars().count() <= PROMPT_LENGTH {
            return whole;
        }
    }
    let head = plain::line(&text[..head_end], half);
    let tail = text[tail_start..].split_whitespace().collect::<Vec<_>>().join(" ");
    let tail = plain::plain(&tail);
    let cut = tail.char_indices().rev().nth(half - 1).map_or(0, |(start, _)| start);
    format!("{} {}", head, tail[cut..].trim_start())
}

/// How the newest turn of a conversation stands by its records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordState {
    /// There is no store, or no conversation of this folder in it yet.
    Nothing,
    /// It has ended: the records say so.
    Idle,
    /// It may have ended: the records tell only when they last changed.
    Still,
    /// It goes on.
    Working,
    /// It has ended, and this much background work runs.
    Background(u32),
    /// It waits for a person's answer to this.
    Asks(String),
    /// It met a usage limit; the CLI's own words.
    Limited(String),
    /// Nothing can be said; why, for a person.
    Unreadable(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_no_conversation() {
        for id in ["0192-x", "ses_1", "a b", "名", &"x".repeat(ID_LENGTH)] {
            assert!(is_conversation(id), "{id}");
        }
        for id in ["", "-x", "--yolo", "a\nb", "\u{1b}[2J", &"x".repeat(ID_LENGTH + 1)] {
            assert!(!is_conversation(id), "{id}");
        }
    }

    #[test]
    fn a_prompt_is_short_and_harmless() {
        let at = Timestamp::UNIX_EPOCH;
        assert_eq!(Prompt::new(at, " /agent-loop\n CC ").text, "/agent-loop CC");
        assert_eq!(Prompt::new(at, "a\u{1b}[2Jb").text, "a\\u{1b}[2Jb");
        let body = format!("# agent-loop: one turn\n{}\n\n/agent-loop CC", "do this\n".repeat(5000));
        let kept = Prompt::new(at, &body).text;
        assert!(
            kept.starts_with("# agent-loop: one turn do") && kept.ends_with("do this /agent-loop CC"),
            "{kept}"
        );
        for long in ["名".repeat(10_000), "a b ".repeat(100_000)] {
            assert!(Prompt::new(at, &long).text.chars().count() <= PROMPT_LENGTH);
        }
    }
}
