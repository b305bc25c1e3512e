//! The ledger of one wake.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::name::Name;

/// One wake to be made. Unique on (loop, turn, agent, attempt).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Delivery {
    /// UUID v7.
    pub id: String,
    /// The loop.
    pub loop_id: String,
    /// The number of the section that caused it; 0 for the first wake of a loop.
    pub turn: usize,
    /// Whom it wakes.
    pub agent: Name,
    /// 1, or more when the agent is woken once again for the same section.
    pub attempt: u32,
    /// Where it stands.
    pub state: DeliveryState,
    /// Why it waits, is dead, or was superseded; what was last seen when unknown.
    pub reason: Option<String>,
    /// Failed tries so far, within this attempt.
    pub tries: u32,
    /// When it was queued.
    pub created_at: Timestamp,
    /// When its state last changed.
    pub updated_at: Timestamp,
    /// Not before this time is it tried (again).
    pub not_before: Timestamp,
    /// When the text stood in the composer.
    pub typed_at: Option<Timestamp>,
    /// When it was submitted.
    pub submitted_at: Option<Timestamp>,
    /// When the agent's own records said that the turn began.
    pub started_at: Option<Timestamp>,
    /// When its section was committed.
    pub answered_at: Option<Timestamp>,
    /// How long the agent was seen at work on it, in milliseconds; since the last `loop resume` at most.
    #[serde(default)]
    pub worked_ms: i64,
}

/// Where a delivery stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeliveryState {
    /// Written down, nothing done yet.
    Queued,
    /// The agent may not be spoken to now; the reason says why. Waiting is no retry.
    Waiting,
    /// A courier is about to type. What a crash leaves here is unknown.
    Typing,
    /// Our text stands in the composer.
    Typed,
    /// The composer is empty again and the agent works.
    Submitted,
    /// The agent's own records say that a turn began.
    Started,
    /// Its section was committed.
    Answered,
    /// A later decision made it needless before it was typed, or while nobody had started.
    Superseded,
    /// The agent settled without a committed section.
    Unanswered,
    /// Nobody knows whether it arrived: look first, never type again blindly.
    Unknown,
    /// Given up, loudly.
    Dead,
}

impl DeliveryState {
    /// Every state.
    pub const ALL: [Self; 11] = [
        Self::Queued,
        Self::Waiting,
        Self::Typing,
        Self::Typed,
        Self::Submitted,
        Self::Started,
        Self::Answered,
        Self::Superseded,
        Self::Unanswered,
        Self::Unknown,
        Self::Dead,
    ];

    /// The word in the ledger, for example `queued`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Waiting => "waiting",
            Self::Typing => "typing",
            Self::Typed => "typed",
            Self::Submitted => "submitted",
            Self::Started => "started",
            Self::Answered => "answered",
            Self::Superseded => "superseded",
            Self::Unanswered => "unanswered",
            Self::Unknown => "unknown",
            Self::Dead => "dead",
        }
    }

    /// The state that `word` names.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }

    /// Whether nothing more happens to it.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Answered | Self::Superseded | Self::Unanswered | Self::Dead)
    }

    /// Whether nothing of it has reached the agent yet, so that it can still be taken back.
    pub fn is_untyped(self) -> bool {
        matches!(self, Self::Queued | Self::Waiting)
    }

    /// Whether the agent has, or may have, our text.
    pub fn is_out(self) -> bool {
        matches!(self, Self::Typing | Self::Typed | Self::Submitted | Self::Started | Self::Unknown)
    }

    /// Whether the ledger may go from this state to `next`.
    pub fn may_become(self, next: Self) -> bool {
        use DeliveryState::*;
        match self {
            Queued => matches!(next, Waiting | Typing | Superseded | Answered | Dead),
            Waiting => matches!(next, Queued | Waiting | Typing | Superseded | Answered | Dead),
            Typing => {
                matches!(next, Typed | Submitted | Started | Waiting | Unknown | Answered | Unanswered | Dead)
            }
            Typed => matches!(next, Submitted | Started | Unknown | Answered | Unanswered | Dead),
            Submitted => matches!(next, Started | Answered | Unanswered | Dead),
            Started => matches!(next, Answered | Unanswered | Dead),
            Unknown => matches!(next, Queued | Submitted | Started | Answered | Unanswered | Dead),
            Answered | Superseded | Unanswered | Dead => false,
        }
    }
}

/// How long to wait before try number `tries` + 1 after a failed one: 5 s, doubling to 2 min.
pub fn backoff_seconds(tries: u32) -> u64 {
    let doubled = 5_u64.saturating_mul(1 << tries.saturating_sub(1).min(10));
    doubled.min(120)
}

/// After how many failed tries a delivery is dead.
pub const MAX_TRIES: u32 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_read_back() {
        for state in DeliveryState::ALL {
            assert_eq!(DeliveryState::from_word(state.as_str()), Some(state));
        }
    }

    #[test]
    fn final_states_stay() {
        for state in DeliveryState::ALL.into_iter().filter(|state| state.is_final()) {
            assert!(DeliveryState::ALL.into_iter().all(|next| !state.may_become(next)), "{state:?}");
        }
    }

    #[test]
    fn backoff_doubles_from_five_seconds_to_two_minutes() {
        let seconds: Vec<u64> = (1..=7).map(backoff_seconds).collect();
        assert_eq!(seconds, [5, 10, 20, 40, 80, 120, 120]);
    }
}
