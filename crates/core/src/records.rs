//! What an agent's CLI has recorded about a conversation, as values.
//!
//! The CLI writes its records for itself: they may lag, be cut short or be of a newer form. So what they say is one
//! witness of several, and [`settle`](crate::settle) weighs them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::plain;

/// How much of a prompt is kept, in characters.
pub const PROMPT_LENGTH: usize = 400;

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
    /// The beginning of it: on one line, harmless to print, at most [`PROMPT_LENGTH`] characters.
    pub text: String,
}

impl Prompt {
    /// The prompt `text`, cut and made harmless.
    pub fn new(at: Timestamp, text: &str) -> Self {
        // A prompt may be a pasted file; only its beginning is looked at.
        let end = text.char_indices().nth(PROMPT_LENGTH * 8).map_or(text.len(), |(end, _)| end);
        Self { at, text: plain::line(&text[..end], PROMPT_LENGTH - 1) }
    }
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
    fn a_prompt_is_short_and_harmless() {
        let at = Timestamp::UNIX_EPOCH;
        assert_eq!(Prompt::new(at, " /agent-loop\n CC ").text, "/agent-loop CC");
        assert_eq!(Prompt::new(at, "a\u{1b}[2Jb").text, "a\\u{1b}[2Jb");
        for long in ["名".repeat(10_000), "a b ".repeat(100_000)] {
            assert!(Prompt::new(at, &long).text.chars().count() <= PROMPT_LENGTH);
        }
    }
}
