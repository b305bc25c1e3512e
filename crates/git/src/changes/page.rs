//! Fitting the changes of many files into little room.

use super::file::FileDiff;
use super::{DiffText, FileStat};

/// A file of which less than this fits is not begun.
const WORTH_BEGINNING: usize = 20;

/// A text that grows until it is full.
pub(super) struct Page {
    text: DiffText,
    lines_left: usize,
    bytes_left: usize,
}

impl Page {
    pub(super) fn new(max_lines: usize, max_bytes: usize) -> Self {
        Self { text: DiffText::default(), lines_left: max_lines, bytes_left: max_bytes }
    }

    /// Shows the file if it fits, and counts it in any case.
    pub(super) fn add(&mut self, file: FileDiff) {
        let bytes: usize = file.lines.iter().map(|line| line.len() + 1).sum();
        let fits = file.lines.len() <= self.lines_left && bytes <= self.bytes_left;
        if fits {
            self.push(&file.lines);
        } else {
            self.text.cut = true;
            if self.text.text.is_empty() {
                self.begin(&file.lines);
            }
        }
        self.text.stat.push(FileStat {
            path: file.path,
            added: file.added,
            removed: file.removed,
            binary: file.binary,
            shown: fits,
        });
    }

    pub(super) fn finish(self) -> DiffText {
        self.text
    }

    /// Shows the beginning of a file that does not fit: better than nothing.
    fn begin(&mut self, lines: &[String]) {
        // Room for the line that says so.
        let mut bytes = 80;
        let mut count = 1;
        let fitting = lines.iter().take_while(|line| {
            bytes += line.len() + 1;
            count += 1;
            bytes <= self.bytes_left && count <= self.lines_left
        });
        let fitting = fitting.count();
        if fitting < WORTH_BEGINNING {
            return;
        }
        let mut begun = lines[..fitting].to_vec();
        begun.push(format!("[{} more lines of this file]", lines.len() - fitting));
        self.push(&begun);
    }

    fn push(&mut self, lines: &[String]) {
        for line in lines {
            self.text.text.push_str(line);
            self.text.text.push('\n');
            self.lines_left = self.lines_left.saturating_sub(1);
            self.bytes_left = self.bytes_left.saturating_sub(line.len() + 1);
        }
    }
}
