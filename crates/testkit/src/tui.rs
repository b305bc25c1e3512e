//! What `loop-fake-tui` does and what it saw: the file behind `--script`, and the lines behind `--log`.
//!
//! The script is read again whenever its file is replaced: then the window starts over as the script says. A persona
//! has its CLI's manners by itself (what Enter does while it works, how long after a paste Enter is a line break);
//! a script adds the troubles.

use std::path::Path;

use serde::{Deserialize, Serialize};

/// One act: how the window is at its beginning, and what happens then.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Script {
    /// Stands in every line of the log.
    pub serial: u64,
    /// Decides what its CLI leaves to chance.
    pub seed: u64,
    /// How the window is at the beginning.
    pub start: Start,
    /// How long each turn lasts, in milliseconds.
    pub turn_ms: u64,
    /// How many submit keys are not heard.
    pub swallow: u32,
    /// The first submit key empties the composer and submits nothing.
    pub wipe: bool,
    /// A list of completions opens behind the text and takes the first submit key.
    pub popup: bool,
    /// A suggestion stands, dim, in the empty composer.
    pub ghost: Option<String>,
    /// Milliseconds between a key and its picture.
    pub draw_ms: u64,
    /// What happens by itself.
    pub events: Vec<Event>,
}

/// How a window begins.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// It takes input.
    #[default]
    Idle,
    /// It works for so many milliseconds.
    Busy(u64),
    /// It shows the dialog of this name.
    Dialog(String),
    /// Somebody's text stands in its composer.
    Draft(String),
    /// It has met a usage limit.
    Limited,
    /// Its CLI was updated, and its screen is one that no rule knows.
    Updated,
    /// It shows nothing for so many milliseconds; what is typed meanwhile is lost or kept as its CLI does.
    Slow(u64),
    /// It has ended, and a shell is in its window.
    Shell,
    /// It has ended.
    Exit,
}

/// One thing that happens by itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// After what.
    pub when: When,
    /// How long after it, in milliseconds.
    pub after_ms: u64,
    /// What.
    pub what: What,
}

/// What an event follows; the first of its kind counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// The beginning.
    Begin,
    /// The first letter that is typed or pasted.
    Text,
    /// The first submit key.
    Key,
    /// A text was submitted.
    Submitted,
}

/// What happens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// The dialog of this name comes up.
    Dialog(String),
    /// A person types this, letter by letter.
    Draft(String),
    /// A person empties the composer.
    Clear,
    /// It begins to work by itself, for so many milliseconds.
    Turn(u64),
    /// A usage limit is met.
    Limit,
    /// Its screen becomes one that no rule knows.
    Update,
    /// A suggestion comes up, dim, as soon as the composer is empty.
    Ghost(String),
    /// It neither hears nor draws for so many milliseconds.
    Stall(u64),
    /// It ends, and a shell is in its window.
    Shell,
    /// It ends.
    Exit,
}

/// One line of the log: what really happened.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Truth {
    /// When, in microseconds since 1970.
    pub at: u64,
    /// The script's serial.
    pub serial: u64,
    /// What happened:
    /// `begin` a script begins;
    /// `submitted` a text was taken for a turn (`how`: `turn`, `queued`, `steered`, `merged`, `interrupts`);
    /// `refused` a submit key was answered with words, the text stays;
    /// `swallowed`, `popup-took`, `wiped`, `newline` what became of a submit key instead;
    /// `dialog` one came up; `dialog-answered` a key answered it; `key-at-dialog` a key that did not;
    /// `ghost-accepted` a suggestion was submitted;
    /// `lost` input before it was ready; `interrupted` a turn was; `ended` a turn has; `shell`, `exit`.
    pub event: String,
    /// The text, the key, and the like.
    #[serde(default)]
    pub text: String,
    /// What became of it.
    #[serde(default)]
    pub how: String,
    /// Its state then: `idle`, `busy`, `dialog`, `limited`, `starting`, `updated`.
    #[serde(default)]
    pub state: String,
    /// For how many microseconds what made the key wrong had been drawn: the dialog, or another's first letter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown_for: Option<u64>,
    /// The terminal had already taken that picture in when it passed the key on: it had answered the question behind
    /// it. Answers and keys come in one stream, so this is no matter of time.
    #[serde(default)]
    pub was_seen: bool,
}

/// Reads a log; a file that does not exist yet is empty, and a last line that is being written is left out.
pub fn read_truth(path: &Path) -> Vec<Truth> {
    let content = std::fs::read_to_string(path).unwrap_or_default();
    content.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Numbers that are the same for the same seed (SplitMix64): chance that can be played again.
#[derive(Debug, Clone)]
pub struct Chance(u64);

impl Chance {
    /// Begins at `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// One of `from` to `to`, both included.
    pub fn between(&mut self, from: u64, to: u64) -> u64 {
        from + self.draw() % (to.saturating_sub(from) + 1)
    }

    /// Whether something of this many in a hundred happens.
    pub fn percent(&mut self, of_hundred: u64) -> bool {
        self.draw() % 100 < of_hundred
    }

    /// One of these.
    ///
    /// # Panics
    /// Panics when there is none.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        assert!(!of.is_empty(), "there is nothing to pick from");
        &of[usize::try_from(self.draw() % of.len() as u64).unwrap_or(0)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_reads_back_and_a_short_one_has_no_troubles() {
        let script = Script {
            start: Start::Slow(300),
            events: vec![Event { when: When::Text, after_ms: 5, what: What::Draft("wait".into()) }],
            ..Script::default()
        };
        let text = serde_json::to_string(&script).expect("plain data");
        assert_eq!(serde_json::from_str::<Script>(&text).expect("a script"), script);
        assert_eq!(serde_json::from_str::<Script>("{}").expect("a script"), Script::default());
    }

    #[test]
    fn chance_plays_the_same_again() {
        let drawn = |seed| {
            let mut chance = Chance::new(seed);
            (0..100).map(|_| chance.between(3, 7)).collect::<Vec<_>>()
        };
        assert_eq!(drawn(7), drawn(7));
        assert_ne!(drawn(7), drawn(8));
        assert!(drawn(7).iter().all(|number| (3..=7).contains(number)));
        assert!((3..=7).all(|number| drawn(7).contains(&number)));
    }
}
