//! Whether an agent has really finished its turn, from several witnesses.
//!
//! Three can tell, and each errs in its own way: the CLI's **turn hook** (it may never come, or come for a turn that
//! goes on), its **records** (they lag, and a crash leaves them open), and its **screen** (it flickers, and shows what
//! it likes). A *proof* is what the agent's own side says about this turn: the newest signal is `finished` and the
//! records know of no later prompt, or the records say that the turn has ended after the wake and after the newest
//! `started`. Signal and records of two different conversations prove nothing.
//!
//! The first row that holds decides:
//!
//! | what is seen | verdict |
//! |---|---|
//! | the process or window is gone | gone |
//! | the screen shows a question; or hook or records tell of one, and nothing has happened since | asks |
//! | the screen shows a usage limit; or the records tell of one, later than the wake | limited |
//! | the screen is busy | working |
//! | background work, by the newer of hook and records | working |
//! | the records say that it works or asks, no later `finished` contradicts, and they are not *stale* | working |
//! | a turn was started, no proof of its end, and the screen is not idle | working |
//! | two of hook's proof, records' proof and idle screen agree, for [`STEADY`] and at least two looks | settled |
//! | one of them alone, and nothing has moved for the whole quiet window | settled |
//! | one of them alone, for less | quiet |
//! | there is no window at all, and the records are still | quiet, then settled in the same way |
//! | nothing of all this | unknown |
//!
//! Records are *stale* when they have not changed and the screen has been idle for two quiet windows: what a crash or
//! a killed sub-agent left open must not keep a loop waiting for ever. An idle screen may be unreadable for
//! [`BLINK`] without starting its window anew. Of the time in which nobody looked, as while the machine slept, only
//! [`UNWATCHED`] counts; a clock that was set back starts the windows anew.

mod proof;
mod start;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use proof::Turn;

use crate::records::Recorded;

pub use start::{is_wake, started};

/// The quiet window that suits most agents.
pub const QUIET: SignedDuration = SignedDuration::from_secs(15);

/// How long two witnesses must agree.
pub const STEADY: SignedDuration = SignedDuration::from_millis(1500);

/// How long an idle screen may be unreadable and still count as idle throughout.
pub const BLINK: SignedDuration = SignedDuration::from_secs(3);

/// The most that counts of the time between two looks, or a third of the quiet window where that is more.
pub const UNWATCHED: SignedDuration = SignedDuration::from_secs(5);

/// What a turn hook told of an agent; the newest one counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signal {
    /// What happened.
    pub event: Event,
    /// When it came in.
    pub at: Timestamp,
    /// In which conversation, by the CLI's own id.
    pub conversation: Option<String>,
    /// How much background work runs on.
    pub background: u32,
    /// What the turn was asked.
    pub prompt: Option<String>,
    /// What is asked of a person.
    pub says: Option<String>,
}

/// What a turn hook tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// A turn began.
    Started,
    /// It ended.
    Finished,
    /// It waits for a person.
    Asks,
}

/// What an agent's screen and process show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// It takes input.
    Idle,
    /// It works.
    Busy,
    /// It asks a person something.
    Asks {
        /// What.
        says: String,
        /// What a person presses.
        press: String,
    },
    /// It met a usage limit; its own words.
    Limited(String),
    /// It is no longer there; why.
    Gone(String),
    /// No rule knows the screen; why, for a person.
    Unknown(String),
}

/// The three witnesses at one moment; `None` where an agent has no such witness.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sights<'a> {
    /// The newest signal of its turn hook.
    pub signal: Option<&'a Signal>,
    /// What its records say.
    pub records: Option<&'a Recorded>,
    /// What its screen shows.
    pub screen: Option<&'a Seen>,
}

/// How an agent stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It works; by what that is known.
    Working(String),
    /// Nothing moves; since when. Whether it has finished is not certain yet.
    Quiet {
        /// The newest sign of life.
        since: Timestamp,
    },
    /// It has finished: nothing running, nothing asked.
    Settled {
        /// The conversation in which it worked, where that is known.
        conversation: Option<String>,
    },
    /// It asks a person something.
    Asks {
        /// What.
        says: String,
        /// What a person presses, where that is known.
        press: String,
    },
    /// It met a usage limit; its own words.
    Limited(String),
    /// It is no longer there; why.
    Gone(String),
    /// Nobody can tell; why.
    Unknown(String),
}

/// Watches one agent through one turn. Give it every sight in order of time, at least every three seconds.
#[derive(Debug, Clone)]
pub struct Settling {
    quiet: SignedDuration,
    woken: Option<Timestamp>,
    /// When it was looked at last.
    looked: Option<Timestamp>,
    /// The newest sign of life; the first look counts as one.
    active: Option<Timestamp>,
    /// Since when the screen has been idle.
    idle: Option<Timestamp>,
    /// Since when an idle screen has been unreadable.
    blind: Option<Timestamp>,
    /// Since when two witnesses have agreed.
    agreed: Option<Timestamp>,
    /// Conversation and change of the last records.
    records: Option<(Option<String>, Option<Timestamp>)>,
    signal: Option<Timestamp>,
}

impl Settling {
    /// An agent that has finished when nothing moved for `quiet`.
    pub fn new(quiet: SignedDuration) -> Self {
        Self {
            quiet,
            woken: None,
            looked: None,
            active: None,
            idle: None,
            blind: None,
            agreed: None,
            records: None,
            signal: None,
        }
    }

    /// For a turn that was asked for at `woken`: what hook and records told of earlier turns proves nothing.
    #[must_use]
    pub fn woken(mut self, woken: Timestamp) -> Self {
        self.woken = Some(woken);
        self.active = self.active.max(Some(woken));
        self
    }

    /// For an agent whose screen is known to have stood still since `at`, before anybody looked.
    #[must_use]
    pub fn still_since(mut self, at: Timestamp) -> Self {
        self.active = self.woken.max(Some(at));
        self.idle = Some(at);
        self
    }

    /// Says how the agent stands by what is seen `now`.
    pub fn see(&mut self, now: Timestamp, sights: &Sights<'_>) -> Verdict {
        self.pass_over(now);
        self.remember(now, sights);
        let turn = Turn::new(sights, self.woken);
        let verdict = self.weigh(now, &turn, sights.screen);
        if !matches!(verdict, Verdict::Quiet { .. } | Verdict::Settled { .. }) {
            self.agreed = None;
        }
        verdict
    }

    /// Takes the time in which nobody looked out of every window, and what a clock that was set back left in the future.
    fn pass_over(&mut self, now: Timestamp) {
        let watched = UNWATCHED.max(self.quiet / 3);
        let gap = self.looked.map_or(SignedDuration::ZERO, |looked| now.duration_since(looked));
        let unwatched = gap.saturating_sub(watched).max(SignedDuration::ZERO);
        for since in [&mut self.active, &mut self.idle, &mut self.blind, &mut self.agreed] {
            *since = since.map(|since| since.saturating_add(unwatched).map_or(now, |since| since.min(now)));
        }
        self.looked = Some(now);
    }

    /// Notes what moved since the last look. A time in the future (a clock that was set) counts as now, and once.
    fn remember(&mut self, now: Timestamp, sights: &Sights<'_>) {
        self.active.get_or_insert(now);
        if let Some(records) = sights.records {
            let seen = (records.conversation.clone(), records.changed);
            if self.records.as_ref() != Some(&seen) {
                self.live(records.changed.map(|changed| changed.min(now)));
                self.records = Some(seen);
            }
        }
        if let Some(signal) = sights.signal
            && self.signal != Some(signal.at)
        {
            self.live(Some(signal.at.min(now)));
            self.signal = Some(signal.at);
        }
        match sights.screen {
            Some(Seen::Idle) => {
                self.idle.get_or_insert(now);
                self.blind = None;
            }
            Some(Seen::Unknown(_)) | None => {
                let blind = *self.blind.get_or_insert(now);
                if now.duration_since(blind) > BLINK {
                    self.idle = None;
                }
            }
            Some(Seen::Busy | Seen::Asks { .. } | Seen::Limited(_) | Seen::Gone(_)) => {
                self.live(Some(now));
                self.idle = None;
                self.blind = None;
            }
        }
    }

    fn live(&mut self, at: Option<Timestamp>) {
        self.active = self.active.max(at);
    }

    fn weigh(&mut self, now: Timestamp, turn: &Turn<'_>, screen: Option<&Seen>) -> Verdict {
        match screen {
            Some(Seen::Gone(why)) => return Verdict::Gone(why.clone()),
            Some(Seen::Asks { says, press }) => {
                return Verdict::Asks { says: says.clone(), press: press.clone() };
            }
            Some(Seen::Limited(words)) => return Verdict::Limited(words.clone()),
            Some(Seen::Busy) => return Verdict::Working("its screen is busy".to_owned()),
            Some(Seen::Idle | Seen::Unknown(_)) | None => {}
        }
        let idle = matches!(screen, Some(Seen::Idle));
        let idle_for = |windows: i32| {
            idle && self.idle.is_some_and(|since| now.duration_since(since) >= self.quiet * windows)
        };
        if let Some(says) = turn.asks()
            && !idle_for(1)
        {
            return Verdict::Asks { says, press: String::new() };
        }
        if let Some(words) = turn.limited() {
            return Verdict::Limited(words.to_owned());
        }
        match turn.background() {
            0 => {}
            1 => return Verdict::Working("one background task runs".to_owned()),
            count => return Verdict::Working(format!("{count} background tasks run")),
        }
        let stale = idle_for(2) && turn.records_unchanged_for(now) >= self.quiet * 2;
        if turn.records_claim_work() && !stale {
            return Verdict::Working("its records say that the turn goes on".to_owned());
        }
        if turn.started_and_not_ended() && !idle {
            return Verdict::Working("its turn hook told of a start and of no end".to_owned());
        }
        self.calm(now, turn, screen)
    }

    /// Nothing shows that it works. The proofs must stand steadily, or everything still.
    fn calm(&mut self, now: Timestamp, turn: &Turn<'_>, screen: Option<&Seen>) -> Verdict {
        let idle = matches!(screen, Some(Seen::Idle));
        let witnesses = [turn.signal_proves(), turn.records_prove(), idle];
        let agree = witnesses.iter().filter(|witness| **witness).count() >= 2;
        let settled = || Verdict::Settled { conversation: turn.conversation() };
        if agree {
            let since = *self.agreed.get_or_insert(now);
            if now.duration_since(since) >= STEADY {
                return settled();
            }
        } else {
            self.agreed = None;
        }
        let alone = witnesses.contains(&true) || (screen.is_none() && turn.records_are_still());
        if !alone {
            return Verdict::Unknown(match screen {
                Some(Seen::Unknown(why)) if !why.is_empty() => why.clone(),
                _ => turn.why_records_are_silent(),
            });
        }
        let idle_since = if idle { self.idle } else { None };
        let since = self.active.max(idle_since).unwrap_or(now);
        // Stale records hold no window open: the screen has been idle for two already.
        if now.duration_since(since) >= self.quiet || turn.records_claim_work() {
            return settled();
        }
        Verdict::Quiet { since }
    }
}

#[cfg(test)]
#[path = "settle/tests.rs"]
mod tests;
