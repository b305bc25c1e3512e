//! The log: what really happened.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;

use loop_testkit::script::{LogLine, read_log};

/// Appends to the log file, where there is one.
#[derive(Clone)]
pub(crate) struct Record {
    path: Option<PathBuf>,
}

impl Record {
    pub(crate) fn new(path: Option<PathBuf>) -> Self {
        Self { path }
    }

    /// Writes one line with one write, so that lines of several processes never mix.
    pub(crate) fn write(&self, event: &str, text: &str, busy: bool) {
        let Some(path) = &self.path else { return };
        let line = LogLine { event: event.to_owned(), text: text.to_owned(), busy };
        let Ok(mut line) = serde_json::to_string(&line) else { return };
        line.push('\n');
        if let Ok(mut file) = OpenOptions::new().create(true).append(true).open(path) {
            // A log that cannot be written shows as a test that misses its lines.
            let _ = file.write_all(line.as_bytes());
        }
    }

    /// How many turns were begun so far, by this process and those before it.
    pub(crate) fn turns_begun(&self) -> usize {
        let Some(path) = &self.path else { return 0 };
        read_log(path).iter().filter(|line| line.event == "begin").count()
    }
}
