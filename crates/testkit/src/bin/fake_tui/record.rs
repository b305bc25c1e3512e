//! The log: what really happened.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::time::SystemTime;

use loop_testkit::tui::Truth;

/// Appends to the log file, where there is one.
pub(crate) struct Record {
    path: Option<PathBuf>,
}

impl Record {
    pub(crate) fn new(path: Option<PathBuf>) -> Self {
        Self { path }
    }

    /// Writes one line with one write.
    pub(crate) fn write(&self, truth: Truth) {
        let Some(path) = &self.path else { return };
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let at = u64::try_from(since.as_micros()).unwrap_or(u64::MAX);
        let Ok(mut line) = serde_json::to_string(&Truth { at, ..truth }) else { return };
        line.push('\n');
        if let Ok(mut file) = OpenOptions::new().create(true).append(true).open(path) {
            // A log that cannot be written shows as a test that misses its lines.
            let _ = file.write_all(line.as_bytes());
        }
    }
}
