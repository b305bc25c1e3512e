//! Waiting with patience: since when a delivery waits, and which of its changing reasons are worth a line.
//!
//! An agent's window is looked at more than once a second. What is seen there may flicker between two things all
//! night, and each of them must not become a line of the ledger.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How long the first reason stands; each change doubles it.
const STANDS: Duration = Duration::from_secs(5);
/// The longest that a reason stands although another is seen.
const STANDS_AT_MOST: Duration = Duration::from_secs(600);

/// What is remembered of the deliveries that wait.
#[derive(Default)]
pub(crate) struct Patience {
    waits: Mutex<HashMap<String, Wait>>,
}

struct Wait {
    since: Instant,
    asks_since: Option<Instant>,
    reason: String,
    changed: Instant,
    stands: Duration,
    tried: Option<(Instant, Duration)>,
}

/// What patience says of one more look.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Waited {
    /// The reason to be recorded: the new one, or the one that stands a while longer.
    pub(crate) reason: String,
    /// How long the delivery has waited, for whatever reason.
    pub(crate) whole: Duration,
    /// How long the agent has asked something; `None`: it does not.
    pub(crate) asks: Option<Duration>,
}

impl Patience {
    /// Notes what a delivery waits for now.
    pub(crate) fn wait(&self, delivery: &str, why: &str, asks: bool, now: Instant) -> Waited {
        let mut waits = self.waits.lock().unwrap_or_else(PoisonError::into_inner);
        let wait = waits.entry(delivery.to_owned()).or_insert_with(|| Wait::new(why, now));
        wait.asks_since = if asks { wait.asks_since.or(Some(now)) } else { None };
        if wait.reason != why && now.duration_since(wait.changed) >= wait.stands {
            why.clone_into(&mut wait.reason);
            wait.changed = now;
            wait.stands = (wait.stands * 2).min(STANDS_AT_MOST);
        }
        Waited {
            reason: wait.reason.clone(),
            whole: now.duration_since(wait.since),
            asks: wait.asks_since.map(|since| now.duration_since(since)),
        }
    }

    /// How long a delivery has waited, for whatever reason, while the machine was awake.
    pub(crate) fn waited(&self, delivery: &str, now: Instant) -> Duration {
        let waits = self.waits.lock().unwrap_or_else(PoisonError::into_inner);
        waits.get(delivery).map_or(Duration::ZERO, |wait| now.duration_since(wait.since))
    }

    /// Whether it is time to try to finish a send that may have been cut off: more and more rarely.
    pub(crate) fn may_try(&self, delivery: &str, now: Instant) -> bool {
        let mut waits = self.waits.lock().unwrap_or_else(PoisonError::into_inner);
        let wait = waits.entry(delivery.to_owned()).or_insert_with(|| Wait::new("", now));
        match wait.tried {
            Some((last, pause)) if now.duration_since(last) < pause => false,
            tried => {
                let pause = tried.map_or(STANDS, |(_, pause)| (pause * 2).min(STANDS_AT_MOST));
                wait.tried = Some((now, pause));
                true
            }
        }
    }

    /// Forgets what does not wait any more.
    pub(crate) fn keep(&self, waits: impl Fn(&str) -> bool) {
        self.waits.lock().unwrap_or_else(PoisonError::into_inner).retain(|delivery, _| waits(delivery));
    }
}

impl Wait {
    fn new(why: &str, now: Instant) -> Self {
        Self {
            since: now,
            asks_since: None,
            reason: why.to_owned(),
            changed: now,
            stands: STANDS,
            tried: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flickering_reason_costs_few_lines() {
        let patience = Patience::default();
        let start = Instant::now();
        let mut lines = 0;
        let mut last = String::new();
        // A night of looks, 700 ms apart, each with another reason than the one before.
        for look in 0..51_000_u32 {
            let now = start + Duration::from_millis(700) * look;
            let why = if look % 2 == 0 { "CC is busy" } else { "CC's window cannot be read" };
            let waited = patience.wait("d", why, false, now);
            lines += usize::from(waited.reason != last);
            last = waited.reason;
        }
        assert!(lines < 80, "{lines} lines");
        let waited = patience.wait("d", "x", false, start + Duration::from_secs(36_000));
        assert_eq!(waited.whole, Duration::from_secs(36_000), "flickering does not start the wait anew");
    }

    #[test]
    fn a_reason_that_lasts_is_told_after_a_moment() {
        let patience = Patience::default();
        let start = Instant::now();
        patience.wait("d", "CC has not finished", false, start);
        let soon = start + Duration::from_secs(1);
        assert_eq!(patience.wait("d", "Codex is busy", false, soon).reason, "CC has not finished");
        let later = start + Duration::from_secs(6);
        assert_eq!(patience.wait("d", "Codex is busy", false, later).reason, "Codex is busy");
    }

    #[test]
    fn asking_is_timed_by_itself() {
        let patience = Patience::default();
        let at = |seconds| Instant::now() + Duration::from_secs(seconds);
        let start = at(0);
        assert_eq!(patience.wait("d", "busy", false, start).asks, None);
        patience.wait("d", "asks", true, start + Duration::from_secs(100));
        let asked = patience.wait("d", "asks", true, start + Duration::from_secs(130)).asks;
        assert_eq!(asked, Some(Duration::from_secs(30)));
        assert_eq!(patience.wait("d", "busy", false, start + Duration::from_secs(131)).asks, None);
    }

    #[test]
    fn a_send_is_finished_more_and_more_rarely() {
        let patience = Patience::default();
        let start = Instant::now();
        let tries = (0..3600).filter(|second| patience.may_try("d", start + Duration::from_secs(*second)));
        assert!((5..20).contains(&tries.count()));
        patience.keep(|_| false);
        assert!(patience.may_try("d", start));
    }
}
