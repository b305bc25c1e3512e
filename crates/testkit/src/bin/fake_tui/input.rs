//! Telling fast fingers from a paste, as composers do: by the time between letters.

use std::time::{Duration, Instant};

use loop_testkit::terminal::Key;
use loop_testkit::tui::Chance;

/// A CLI's figures, in milliseconds. Where two stand, each input draws one between them.
pub(crate) struct Timing {
    /// Letters this close to each other count as pasted; 0: it looks for pasted brackets only.
    pub(crate) close_ms: u64,
    /// How many of them make a paste.
    pub(crate) letters: usize,
    /// This soon after such letters a submit key is a line break.
    pub(crate) after_letters_ms: (u64, u64),
    /// This soon after a bracketed paste a submit key is a line break.
    pub(crate) after_paste_ms: (u64, u64),
}

/// What was typed when.
pub(crate) struct Bursts {
    timing: &'static Timing,
    last: Option<Instant>,
    letters: usize,
    /// Until when a submit key is a line break.
    until: Option<Instant>,
}

impl Bursts {
    pub(crate) fn new(timing: &'static Timing) -> Self {
        Self { timing, last: None, letters: 0, until: None }
    }

    /// Takes note of a key that puts text in.
    pub(crate) fn text(&mut self, key: &Key, at: Instant, chance: &mut Chance) {
        let window = match key {
            Key::Paste(_) => {
                self.letters = 0;
                Some(self.timing.after_paste_ms)
            }
            _ => {
                let close = Duration::from_millis(self.timing.close_ms);
                let is_close = self.last.is_some_and(|last| at.saturating_duration_since(last) <= close);
                self.letters = if is_close && self.timing.close_ms > 0 { self.letters + 1 } else { 1 };
                (self.letters >= self.timing.letters && self.timing.close_ms > 0)
                    .then_some(self.timing.after_letters_ms)
            }
        };
        self.last = Some(at);
        if let Some((from, to)) = window {
            // One draw for a burst: its later letters only move its end.
            if self.letters <= self.timing.letters || self.until.is_none() {
                self.until = Some(at + Duration::from_millis(chance.between(from, to)));
            } else {
                self.until = self.until.map(|until| until.max(at + Duration::from_millis(from)));
            }
        }
    }

    /// Whether a submit key at this moment is a line break.
    pub(crate) fn breaks(&self, at: Instant) -> bool {
        self.until.is_some_and(|until| at < until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static CODEX: Timing =
        Timing { close_ms: 8, letters: 3, after_letters_ms: (120, 120), after_paste_ms: (0, 0) };

    #[test]
    fn fast_letters_are_a_paste_and_a_bracketed_paste_is_none() {
        let start = Instant::now();
        let ms = |ms| start + Duration::from_millis(ms);
        let mut chance = Chance::new(1);
        let mut bursts = Bursts::new(&CODEX);
        for at in [0, 1, 2, 3] {
            bursts.text(&Key::Char('x'), ms(at), &mut chance);
        }
        assert!(bursts.breaks(ms(50)) && !bursts.breaks(ms(130)));
        bursts.text(&Key::Paste("x".into()), ms(40), &mut chance);
        assert!(!bursts.breaks(ms(41)));
        for at in [200, 300, 400] {
            bursts.text(&Key::Char('x'), ms(at), &mut chance);
        }
        assert!(!bursts.breaks(ms(401)), "a person's letters are no burst");
    }
}
