//! Whether what was drawn has been seen, by the terminal's own word.

use std::time::Instant;

/// How far a thing has come onto the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    NotYet,
    /// Written, with this question behind it.
    Drawn(Instant, u64),
    /// The terminal has answered the question: it shows what was written then.
    Seen(Instant),
}

impl Shown {
    /// It is drawn now; returns whether it is for the first time.
    pub(crate) fn draw(&mut self, now: Instant, question: u64) -> bool {
        let is_new = *self == Self::NotYet;
        if is_new {
            *self = Self::Drawn(now, question);
        }
        is_new
    }

    pub(crate) fn answer(&mut self, question: u64) {
        if let Self::Drawn(at, asked) = *self
            && asked <= question
        {
            *self = Self::Seen(at);
        }
    }

    pub(crate) fn was_seen(self) -> bool {
        matches!(self, Self::Seen(_))
    }

    pub(crate) fn micros(self, now: Instant) -> u64 {
        match self {
            Self::NotYet => 0,
            Self::Drawn(at, _) | Self::Seen(at) => {
                u64::try_from(now.saturating_duration_since(at).as_micros()).unwrap_or(u64::MAX)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_answer_behind_it_proves_that_it_was_seen() {
        let now = Instant::now();
        let mut shown = Shown::NotYet;
        shown.answer(1);
        assert!(!shown.was_seen());
        assert!(shown.draw(now, 2) && !shown.draw(now, 3));
        shown.answer(1);
        assert!(!shown.was_seen(), "an answer to an earlier picture");
        shown.answer(2);
        assert!(shown.was_seen());
        assert!(!shown.draw(now, 4) && shown.was_seen());
    }
}
