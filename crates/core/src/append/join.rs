//! What must stand between the existing text and a new section.

use crate::status::open::open_at_end;
use crate::status::scan::scan;
use crate::status::source::Source;

/// The text between, in the file's own newline style.
#[derive(Debug)]
pub(crate) struct Join {
    pub(crate) text: String,
    pub(crate) newline: &'static str,
    /// What it closes, in words.
    pub(crate) closed: Option<String>,
}

/// The ways to join a section to `existing` (which can be read), the best first.
///
/// A verdict above an open comment does not stand. Closing the comment would make it stand, and give a pass that
/// nobody saw: the second way leaves a word behind the comment, so that the verdict is not the last line.
pub(crate) fn joins(existing: &str) -> Vec<Join> {
    let newline = newline_of(existing);
    let Ok(source) = Source::read(existing.as_bytes()) else { return Vec::new() };
    let open = open_at_end(&source.text, &scan(&source.text, None));
    let notes: &[&str] = if open.is_some() { &["", " (closed here)"] } else { &[""] };
    let join = |note: &&str| {
        let mut text = String::new();
        if !source.text.is_empty() && !source.text.ends_with('\n') {
            text.push_str(newline);
        }
        let mut closed = None;
        if let Some(open) = &open {
            let line = source.lines.number(open.at);
            closed = Some(format!("a {} opened in line {line}", open.what));
            text.push_str(&open.closer);
            text.push_str(note);
            text.push_str(newline);
        }
        if open.is_some() || !ends_with_blank_line(&source.text) {
            text.push_str(newline);
        }
        if existing.ends_with('\r') && text.starts_with('\n') {
            // The two would be one line end.
            text.insert_str(0, newline);
        }
        Join { text, newline, closed }
    };
    notes.iter().map(join).collect()
}

/// The line end that most lines of the text have.
fn newline_of(text: &str) -> &'static str {
    let pairs = text.matches("\r\n").count();
    let feeds = text.matches('\n').count() - pairs;
    let returns = text.matches('\r').count() - pairs;
    if feeds >= pairs && feeds >= returns {
        "\n"
    } else if pairs >= returns {
        "\r\n"
    } else {
        "\r"
    }
}

/// Whether a block that starts behind the text would have a blank line, or nothing, above it.
fn ends_with_blank_line(text: &str) -> bool {
    let last = text.trim_end_matches([' ', '\t']);
    let Some(rest) = last.strip_suffix('\n') else { return last.is_empty() };
    if last.len() < text.len() {
        return false;
    }
    let rest = rest.strip_suffix('\r').unwrap_or(rest).trim_end_matches([' ', '\t']);
    rest.is_empty() || rest.ends_with('\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_own_newline() {
        for (text, expected) in [
            ("", "\n"),
            ("a", "\n"),
            ("a\nb", "\n"),
            ("a\r\nb", "\r\n"),
            ("a\rb", "\r"),
            ("a\r\nb\nc\r\n", "\r\n"),
            ("a\r\nb\n", "\n"),
        ] {
            assert_eq!(newline_of(text), expected, "{text:?}");
        }
    }

    #[test]
    fn blank_lines() {
        for (text, expected) in [
            ("", true),
            ("\n", true),
            ("a\n", false),
            ("a\n\n", true),
            ("a\r\n\r\n", true),
            ("a\n \t\n", true),
            ("a\n  ", false),
            ("  ", true),
        ] {
            assert_eq!(ends_with_blank_line(text), expected, "{text:?}");
        }
    }
}
