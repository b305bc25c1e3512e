//! How a turn stands, from the events of a conversation in about the order of time.

use jiff::{SignedDuration, Timestamp};
use loop_core::records::{Prompt, RecordState};

/// Lines are written late by less than this. An event that is older than the newest by more shows that the clock was
/// set back: it is the newest.
const LATE: SignedDuration = SignedDuration::from_secs(60);

/// The same for a prompt. A turn that begins after the clock was set back must not be taken for the end of the one
/// before, and a prompt is never written late by more.
const LATE_PROMPT: SignedDuration = SignedDuration::from_secs(2);

/// The newest event of a conversation.
#[derive(Debug, Default)]
pub(crate) struct Story {
    state: Option<RecordState>,
    changed: Option<Timestamp>,
    prompt: Option<Prompt>,
    /// How many events have told how the turn stands.
    told: u64,
}

impl Story {
    /// Takes an event: since `at` the turn stands like this. Two events of one moment count in the order of the file.
    pub(crate) fn event(&mut self, at: Option<Timestamp>, state: RecordState) {
        if !self.is_late(at) {
            self.is_now(at, state);
        }
    }

    fn is_now(&mut self, at: Option<Timestamp>, state: RecordState) {
        self.changed = at.or(self.changed);
        self.state = Some(state);
        self.told += 1;
    }

    /// Takes a person's prompt, with which a turn begins.
    pub(crate) fn asked(&mut self, at: Option<Timestamp>, text: &str) {
        if let Some(at) = at
            && self.prompt.as_ref().is_none_or(|prompt| !is_late(Some(prompt.at), at, LATE_PROMPT))
        {
            self.prompt = Some(Prompt::new(at, text));
        }
        if !at.is_some_and(|at| is_late(self.changed, at, LATE_PROMPT)) {
            self.is_now(at, RecordState::Working);
        }
    }

    /// Whether an event of this time comes after the newest in the file, but not in time.
    pub(crate) fn is_late(&self, at: Option<Timestamp>) -> bool {
        at.is_some_and(|at| is_late(self.changed, at, LATE))
    }

    pub(crate) fn state(&self) -> Option<&RecordState> {
        self.state.as_ref()
    }

    /// Whether a turn has ended, however.
    pub(crate) fn is_over(&self) -> bool {
        self.state.as_ref().is_some_and(|state| !matches!(state, RecordState::Working | RecordState::Asks(_)))
    }

    pub(crate) fn changed(&self) -> Option<Timestamp> {
        self.changed
    }

    pub(crate) fn prompt(&self) -> Option<&Prompt> {
        self.prompt.as_ref()
    }

    /// Whether any event has told how the turn stands.
    pub(crate) fn is_told(&self) -> bool {
        self.told > 0
    }

    /// How many events have told how the turn stands.
    pub(crate) fn told(&self) -> u64 {
        self.told
    }
}

fn is_late(newest: Option<Timestamp>, at: Timestamp, by: SignedDuration) -> bool {
    newest.is_some_and(|newest| at < newest && newest.duration_since(at) < by)
}

/// The ISO time in a member of a JSON line.
pub(crate) fn time(value: &serde_json::Value) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
}
