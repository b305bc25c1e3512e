//! What `loop wait` can wait for: one file each. The exit is the signal.

pub(crate) mod file;
pub(crate) mod passed;
pub(crate) mod settled;
pub(crate) mod time;
pub(crate) mod turn;

use std::time::{Duration, Instant};

/// How long is waited, and how it is told.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// Since when.
    pub(crate) began: Instant,
    /// Until when; `None`: as long as it takes.
    pub(crate) deadline: Option<Instant>,
    /// Whether programs read the answer.
    pub(crate) json: bool,
}

impl Patience {
    /// Begins to wait now.
    pub(crate) fn new(timeout: Option<Duration>, json: bool) -> Self {
        let began = Instant::now();
        Self { began, deadline: timeout.map(|timeout| began + timeout), json }
    }

    /// Whether the time is up.
    pub(crate) fn is_over(&self) -> bool {
        self.overtime().is_some()
    }

    /// For how long the time has been up; `None`: it is not.
    pub(crate) fn overtime(&self) -> Option<Duration> {
        self.deadline.and_then(|deadline| Instant::now().checked_duration_since(deadline))
    }

    /// A pause that does not outlast the time that is left.
    pub(crate) fn pause(&self, longest: Duration) -> Duration {
        self.left().map_or(longest, |left| left.min(longest))
    }

    /// The time that is left; `None`: as long as it takes.
    pub(crate) fn left(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }
}
