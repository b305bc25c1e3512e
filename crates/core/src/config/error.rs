//! What is wrong with a configuration, shown with its place.

use std::fmt;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::name::fold;

/// The most characters of a line that are shown.
const SHOWN: usize = 100;

/// What is wrong with a configuration, shown with its place.
///
/// [`fmt::Display`] shows the place, the line itself with the wrong part underlined, and the hint:
///
/// ```text
/// loop.yaml:7:16: `Codx` in `rotation` is no agent
///   7 | rotation: [CC, Codx]
///     |                ^^^^
/// hint: did you mean `Codex`?
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// The file's name as the user gave it.
    pub file: String,
    /// The line, from 1; 0 when it belongs to no line.
    pub line: usize,
    /// The column in characters, from 1; 0 when it belongs to no column.
    pub column: usize,
    /// How many characters of the line are meant, from the column on; at least 1 where there is a column.
    pub width: usize,
    /// The line itself.
    pub text: String,
    /// What is wrong.
    pub message: String,
    /// What to do, with the nearest right word where there is one.
    pub hint: Option<String>,
}

impl ConfigError {
    /// An error that belongs to the file as a whole.
    pub fn whole(file: &str, message: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            line: 0,
            column: 0,
            width: 0,
            text: String::new(),
            message: message.into(),
            hint: None,
        }
    }

    /// The same error with what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl std::error::Error for ConfigError {}

impl fmt::Display for ConfigError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.file)?;
        if self.line > 0 {
            write!(formatter, ":{}", self.line)?;
            if self.column > 0 {
                write!(formatter, ":{}", self.column)?;
            }
        }
        write!(formatter, ": {}", self.message)?;
        if self.line > 0 && !self.text.is_empty() {
            self.frame(formatter)?;
        }
        if let Some(hint) = &self.hint {
            write!(formatter, "\nhint: {hint}")?;
        }
        Ok(())
    }
}

impl ConfigError {
    /// Writes the line and, below it, the carets. A long line is cut around the column.
    fn frame(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let characters: Vec<char> = self.text.chars().map(visible).collect();
        let at = self.column.saturating_sub(1).min(characters.len());
        let from = if characters.len() > SHOWN { at.saturating_sub(SHOWN / 2) } else { 0 };
        let to = characters.len().min(from + SHOWN);
        let before: String = characters[from..at.min(to)].iter().collect();
        let after: String = characters[at.min(to)..to].iter().collect();
        let (left, right) = (if from > 0 { "…" } else { "" }, if to < characters.len() { "…" } else { "" });
        let number = self.line.to_string();
        write!(formatter, "\n  {number} | {left}{before}{after}{right}")?;
        if self.column > 0 {
            let meant: String = characters[at.min(to)..to.min(at + self.width.max(1))].iter().collect();
            let indent = " ".repeat(left.width() + before.width());
            let carets = "^".repeat(meant.width().max(1));
            write!(formatter, "\n  {} | {indent}{carets}", " ".repeat(number.len()))?;
        }
        Ok(())
    }
}

/// A line of a stranger's file goes to a terminal: what has no width of its own is shown as a box, a tab as one
/// space, so that the carets stand where they should.
fn visible(character: char) -> char {
    match character {
        '\t' => ' ',
        other if other.width().is_none() => '\u{fffd}',
        other => other,
    }
}

/// Returns what `word` was probably meant to be: the candidate with the fewest edits, at most a third of the longer of
/// the two, or one that `word` begins (`arch`, `handover`).
pub(crate) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = fold(word);
    let length = wanted.chars().count();
    let is_near = |distance: usize, candidate: &str| {
        let other = candidate.chars().count();
        distance <= (length.max(other) / 3).max(1) && distance < length.min(other)
    };
    let begins = |candidate: &str| length >= 3 && fold(candidate).starts_with(&wanted);
    candidates
        .into_iter()
        .map(|candidate| (strsim::osa_distance(&wanted, &fold(candidate)), candidate))
        .filter(|(distance, candidate)| is_near(*distance, candidate) || begins(candidate))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The hint for an unknown word: the nearest right one, or all of them.
pub(crate) fn did_you_mean(word: &str, candidates: &[&str]) -> String {
    match nearest(word, candidates.iter().copied()) {
        Some(candidate) => format!("did you mean `{candidate}`?"),
        None => format!("it is one of {}", listed(candidates)),
    }
}

/// The words in backticks with commas between them.
pub(crate) fn listed(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    quoted.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_found_or_nothing() {
        let words = ["claude-code", "codex", "opencode", "gemini", "qwen"];
        let cases = [
            ("codx", Some("codex")),
            ("Codex", Some("codex")),
            ("cluade-code", Some("claude-code")),
            ("claud", Some("claude-code")),
            ("gemn", Some("gemini")),
            ("vim", None),
            ("co", None),
            ("x", None),
        ];
        for (word, expected) in cases {
            assert_eq!(nearest(word, words), expected, "{word}");
        }
    }

    #[test]
    fn carets_stand_below_wide_characters_and_tabs() {
        let error = ConfigError {
            file: "loop.yaml".to_owned(),
            line: 12,
            column: 7,
            width: 2,
            text: "小明\t: [小红]\u{1b}[2J".to_owned(),
            message: "no".to_owned(),
            hint: None,
        };
        insta::assert_snapshot!(error, @"
        loop.yaml:12:7: no
          12 | 小明 : [小红]�[2J
             |         ^^^^
        ");
    }

    #[test]
    fn a_long_line_is_cut_around_the_column() {
        let error = ConfigError {
            text: format!("{}Codx{}", "x".repeat(5000), "y".repeat(5000)),
            line: 1,
            column: 5001,
            width: 4,
            ..ConfigError::whole("loop.yaml", "no")
        };
        let shown = error.to_string();
        let lines: Vec<&str> = shown.lines().collect();
        assert!(lines[1].chars().count() < 120, "{shown}");
        assert_eq!(
            lines[1].find("Codx").map(|at| lines[1][..at].chars().count()),
            lines[2].find('^'),
            "{shown}"
        );
    }
}
