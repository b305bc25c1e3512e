//! The three things that a decision can be.

use std::fmt;

use serde::Serialize;

use crate::diagnostic::Diagnostic;
use crate::name::Name;

/// What must happen now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// An agent is to be woken.
    Wake {
        /// Whom.
        agent: Name,
        /// The number of the turn to come.
        turn: usize,
        /// Why this one.
        reason: String,
    },
    /// The loop has passed.
    Passed {
        /// Who gave the pass that ended it, or the person who accepted.
        by: String,
        /// The number of the turn that would come next.
        turn: usize,
        /// The passed commit, where known.
        commit: Option<String>,
        /// Whether `verify` ran and succeeded. `false`: passed but unverified.
        verified: bool,
        /// Commits since the passed one that changed other files than STATUS.md: unreviewed.
        unreviewed: usize,
        /// In words.
        reason: String,
    },
    /// Nothing happens until a person, or time, changes something.
    Held {
        /// Which rule.
        why: Hold,
        /// The number of the turn to come.
        turn: usize,
        /// What happened, with the figures.
        reason: String,
        /// What a person can do.
        next: String,
    },
}

/// Rules that hold a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hold {
    /// An agent wrote REVIEW-BLOCKED.
    Blocked,
    /// A section hands the turn to a person or the planner.
    ForPerson,
    /// A person paused.
    Paused,
    /// The round limit.
    Rounds,
    /// The limit of hours.
    Hours,
    /// The limit of minutes for one turn.
    TurnMinutes,
    /// The limit of tokens.
    Tokens,
    /// Turns without a change and without a verdict.
    NoProgress,
    /// Code that came back to an earlier state.
    Oscillation,
    /// Every agent is skipped.
    AllSkipped,
    /// A section vanished, changed its author or was put before another.
    Damaged,
    /// New sections of two names in one commit.
    TwoNames,
    /// `loop.yaml` is not the one that a person approved, or cannot be read.
    Config,
    /// STATUS.md cannot be read.
    Unreadable,
    /// An agent stopped twice without committing a section.
    Unanswered,
    /// A delivery is dead after ten tries.
    Dead,
    /// `verify` is running.
    Verifying,
}

/// A decision with the diagnostics that only facts could show (`stale-pass`, `not-woken`, `pass-not-enough`, …).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    /// What must happen.
    pub decision: Decision,
    /// Whose turn it is, also while something holds the loop; `None` when every agent is skipped.
    pub due: Option<Name>,
    /// In line order.
    pub diagnostics: Vec<Diagnostic>,
}

impl Decision {
    /// A text that is equal for equal decisions: what has grown since (minutes, commits after the end) or was
    /// renamed (commits, by a rebase) is not in it.
    pub fn key(&self) -> String {
        match self {
            Self::Wake { agent, turn, .. } => format!("wake {} {turn}", agent.key()),
            Self::Passed { by, turn, verified, .. } => format!("passed {turn} {verified} {by}"),
            Self::Held { why, turn, reason, .. } => match why {
                // Their reasons hold figures that grow.
                Hold::Rounds | Hold::Hours | Hold::TurnMinutes | Hold::Tokens | Hold::NoProgress => {
                    format!("held {why} {turn}")
                }
                _ => format!("held {why} {turn} {reason}"),
            },
        }
    }

    /// The loop's state on the wire: `running`, `passed`, `blocked` or `held`.
    pub fn state(&self) -> &'static str {
        match self {
            Self::Wake { .. } => "running",
            Self::Passed { .. } => "passed",
            Self::Held { why: Hold::Blocked, .. } => "blocked",
            Self::Held { .. } => "held",
        }
    }

    /// The number of the turn to come.
    pub fn turn(&self) -> usize {
        match self {
            Self::Wake { turn, .. } | Self::Passed { turn, .. } | Self::Held { turn, .. } => *turn,
        }
    }

    /// Why, in words.
    pub fn reason(&self) -> &str {
        match self {
            Self::Wake { reason, .. } | Self::Passed { reason, .. } | Self::Held { reason, .. } => reason,
        }
    }
}

impl Hold {
    /// The rule's word, for example `turn-minutes`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Blocked => "blocked",
            Self::ForPerson => "for-person",
            Self::Paused => "paused",
            Self::Rounds => "rounds",
            Self::Hours => "hours",
            Self::TurnMinutes => "turn-minutes",
            Self::Tokens => "tokens",
            Self::NoProgress => "no-progress",
            Self::Oscillation => "oscillation",
            Self::AllSkipped => "all-skipped",
            Self::Damaged => "damaged",
            Self::TwoNames => "two-names",
            Self::Config => "config",
            Self::Unreadable => "unreadable",
            Self::Unanswered => "unanswered",
            Self::Dead => "dead",
            Self::Verifying => "verifying",
        }
    }

    /// Whether one of the configured limits holds the loop (exit code 4 for those who wait for its end).
    pub fn is_limit(self) -> bool {
        matches!(self, Self::Rounds | Self::Hours | Self::TurnMinutes | Self::Tokens)
    }
}

impl fmt::Display for Hold {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}
