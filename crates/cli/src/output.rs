//! Printing: text for people, one JSON object for programs.

use std::io::{self, IsTerminal, Write};

use serde::Serialize;
use unicode_width::UnicodeWidthChar;

/// Prints a text to stdout; a reader who has gone away (`| head`) is no error.
pub(crate) fn print(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Prints a line to stdout.
pub(crate) fn line(text: impl AsRef<str>) {
    print(&format!("{}\n", text.as_ref()));
}

/// Prints a note to stderr, where it does not disturb a program that reads stdout.
pub(crate) fn note(text: impl AsRef<str>) {
    let _ = writeln!(io::stderr().lock(), "{}", text.as_ref());
}

/// Prints one JSON object and a newline.
pub(crate) fn json(value: &impl Serialize) {
    match serde_json::to_string_pretty(value) {
        Ok(text) => line(text),
        Err(error) => note(format!("error: this cannot be written as JSON: {error}")),
    }
}

/// Cuts a text to `width` columns, with `…` where something is missing.
pub(crate) fn cut(text: &str, width: usize) -> String {
    let columns = |c: char| c.width().unwrap_or(0);
    if text.chars().map(columns).sum::<usize>() <= width {
        return text.to_owned();
    }
    let mut left = width.saturating_sub(1);
    let mut kept: String = text
        .chars()
        .take_while(|c| {
            let fits = columns(*c) <= left;
            left = left.saturating_sub(columns(*c));
            fits
        })
        .collect();
    kept.push('…');
    kept
}

/// Pads a text with blanks to `width` columns.
pub(crate) fn pad(text: &str, width: usize) -> String {
    let columns: usize = text.chars().map(|c| c.width().unwrap_or(0)).sum();
    format!("{text}{}", " ".repeat(width.saturating_sub(columns)))
}

/// Whether a person can be asked.
pub(crate) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks a yes-or-no question on the terminal; no answer is no.
pub(crate) fn ask(question: &str) -> bool {
    let _ = write!(io::stderr().lock(), "{question} [y/N] ");
    let mut answer = String::new();
    io::stdin().read_line(&mut answer).is_ok() && matches!(answer.trim(), "y" | "Y" | "yes" | "Yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_and_padded_by_columns() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdefg", 6), "abcde…");
        assert_eq!(cut("循环循环", 5), "循环…");
        assert_eq!(pad("循", 4), "循  ");
    }
}
