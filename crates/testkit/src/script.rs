//! What a scripted agent does: the file behind `loop-fake-agent --script`.

use serde::{Deserialize, Serialize};

/// A whole script.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Script {
    /// What it does, call by call. Which is next is counted in the log, so a restarted agent goes on.
    pub turns: Vec<Turn>,
    /// When the turns run out: begin the last one again instead of doing nothing.
    pub repeat_last: bool,
    /// Milliseconds from start until it takes input; what is typed before is lost.
    pub slow_start_ms: u64,
    /// A dialog shown at start, until a key.
    pub ask_at_start: Option<String>,
    /// Text that stands in its composer at start.
    pub draft_at_start: Option<String>,
    /// How many Enters it swallows before it hears the first one.
    pub drop_enters: u32,
    /// An Enter this soon after text, in milliseconds, is taken for a line break of a paste.
    pub burst_ms: u64,
    /// Exits at start with this code.
    pub exit_at_start: Option<i32>,
}

/// One turn.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Turn {
    /// Milliseconds of work before the first step.
    pub delay_ms: u64,
    /// The steps, in order. A failed one ends the turn.
    pub steps: Vec<Step>,
}

/// One thing that it does. In texts and arguments `{name}` is its name and `{loop}` the `loop` program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    /// Runs a program with arguments in its folder; its output is shown.
    Run(Vec<String>),
    /// Writes a whole file.
    Write {
        /// The file.
        file: String,
        /// Its content.
        text: String,
    },
    /// Adds text to a file's end.
    Append {
        /// The file.
        file: String,
        /// The text.
        text: String,
    },
    /// Replaces the first occurrence of `from`.
    Replace {
        /// The file.
        file: String,
        /// What stands there.
        from: String,
        /// What shall stand there.
        to: String,
    },
    /// Commits with `loop commit`.
    Commit {
        /// What it did.
        summary: String,
        /// The section's body.
        #[serde(default)]
        body: Option<String>,
        /// With `--pass`.
        #[serde(default)]
        pass: bool,
        /// With `--blocked REASON`.
        #[serde(default)]
        blocked: Option<String>,
        /// With `--to NAME`.
        #[serde(default)]
        to: Option<String>,
    },
    /// Appends a section by hand and commits everything with git.
    Section {
        /// What it did.
        summary: String,
        /// The section's body, with its verdict.
        #[serde(default)]
        body: String,
        /// The target of the heading.
        #[serde(default)]
        to: Option<String>,
    },
    /// Shows a dialog until a key is pressed.
    Ask(String),
    /// Shows that a usage limit is reached until a key is pressed.
    Limit(String),
    /// Text appears in the composer, as if a person had typed it.
    Draft(String),
    /// Prints a line.
    Say(String),
    /// Works for some milliseconds.
    Sleep(u64),
    /// Works until this file exists.
    WaitFor(String),
    /// Ends the program.
    Exit(i32),
    /// Becomes an interactive shell in the same window.
    Shell,
}

impl Script {
    /// A script of one-step turns, the shortest way to write most of them.
    pub fn of(turns: impl IntoIterator<Item = Vec<Step>>) -> Self {
        let turns = turns.into_iter().map(|steps| Turn { delay_ms: 0, steps }).collect();
        Self { turns, ..Self::default() }
    }

    /// The turn that the call number `done` (from 0) runs.
    pub fn turn(&self, done: usize) -> Option<&Turn> {
        self.turns.get(done).or_else(|| self.turns.last().filter(|_| self.repeat_last))
    }

    /// As a file's content.
    ///
    /// # Panics
    /// Never: every script can be written as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a script is plain data")
    }
}

/// One line of the fake agent's log: the truth that a test compares with what was claimed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LogLine {
    /// What happened: `start`, `ready`, `submitted`, `enter-dropped`, `key-at-dialog`, `begin`, `end`,
    /// `failed`, `interrupted`, `unknown-text`, `exit`.
    pub event: String,
    /// The submitted text, the failed step, and the like.
    #[serde(default)]
    pub text: String,
    /// Whether it was working then.
    #[serde(default)]
    pub busy: bool,
}

/// Reads a log; a file that does not exist yet is empty.
pub fn read_log(path: &std::path::Path) -> Vec<LogLine> {
    let content = std::fs::read_to_string(path).unwrap_or_default();
    content.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// The texts that were really submitted, in order.
pub fn submitted(path: &std::path::Path) -> Vec<String> {
    read_log(path).into_iter().filter(|line| line.event == "submitted").map(|line| line.text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_reads_back() {
        let script = Script::of([vec![Step::Say("hello".into())], vec![Step::Shell, Step::Exit(3)]]);
        let read: Script = serde_json::from_str(&script.to_json()).expect("a script");
        assert_eq!(read, script);
    }

    #[test]
    fn the_last_turn_repeats_only_when_asked() {
        let mut script = Script::of([vec![Step::Say("only".into())]]);
        assert_eq!(script.turn(1), None);
        script.repeat_last = true;
        assert_eq!(script.turn(7), script.turn(0));
    }
}
