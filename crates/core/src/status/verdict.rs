//! The words of a verdict: what a line must be to be one.
//!
//! Whether the line may *stand* as the section's verdict is another question, see [`standing`](super::standing).

use std::ops::Range;

use super::Verdict;
use super::scan::{Piece, PieceKind};

/// The word that passes.
pub(crate) const PASS: &str = "REVIEW-PASS";
/// The word that holds the loop for a person.
pub(crate) const BLOCKED: &str = "REVIEW-BLOCKED";

/// Stands for an emphasis mark in a [bared](bare) line; a NUL can occur in no STATUS.md.
const MARK: char = '\0';
/// Stands for a comment. Nothing that a line could hold as well is taken for one: see [`bare`].
const COMMENT: char = '\u{1}';

/// A paragraph's or heading's content, of which one line may be a verdict.
pub(crate) struct Content<'a, 'p> {
    /// The text that the ranges point into.
    pub(crate) source: &'a str,
    /// The content's pieces.
    pub(crate) pieces: &'p [Piece<'a>],
    /// The line's part that must be the verdict.
    pub(crate) line: Range<usize>,
}

impl Content<'_, '_> {
    /// Reads the line as a verdict. A blocked one takes its reason from everything behind it.
    pub(crate) fn verdict(&self) -> Option<Verdict> {
        let bare = self.bare()?;
        let line = bare.trim_end_matches(|c: char| c.is_whitespace() || c == COMMENT);
        let word = line.trim_start_matches([MARK, ' ', '\t']);
        if let Some(rest) = word.strip_prefix(PASS) {
            return self.marks_close(|_| true).then(|| commit(rest)).flatten();
        }
        let rest = word.strip_prefix(BLOCKED)?.trim_start_matches(MARK);
        if !(rest.is_empty() || rest.starts_with([':', '：'])) {
            return None;
        }
        let at = self.line.start + self.source[self.line.clone()].find(BLOCKED)?;
        self.marks_close(|mark| mark.start < at).then(|| Verdict::Blocked { reason: self.reason(at) })
    }

    /// The line as it is written, with one character for each emphasis mark and each comment. Entities,
    /// backslashes, links and code stay as they are written, so that none of them looks like the word.
    fn bare(&self) -> Option<String> {
        let written = &self.source[self.line.clone()];
        if written.contains(COMMENT) {
            return None;
        }
        let mut bare = String::with_capacity(written.len());
        let mut at = self.line.start;
        for piece in self.pieces {
            let stand_in = match piece.kind {
                PieceKind::Mark { .. } => MARK,
                PieceKind::Comment => COMMENT,
                _ => continue,
            };
            if piece.range.start < at || piece.range.start >= self.line.end {
                continue;
            }
            bare.push_str(&self.source[at..piece.range.start]);
            bare.push(stand_in);
            at = piece.range.end.min(self.line.end);
        }
        bare.push_str(&self.source[at..self.line.end]);
        // A line with a bar may be a table's row.
        (!bare.contains('|')).then_some(bare)
    }

    /// Whether the emphasis of the chosen marks on this line also ends on it.
    fn marks_close(&self, chosen: impl Fn(&Range<usize>) -> bool) -> bool {
        self.pieces.iter().filter(|piece| piece.range.start < self.line.end && chosen(&piece.range)).all(
            |piece| match &piece.kind {
                PieceKind::Mark { whole } => whole.end <= self.line.end,
                _ => true,
            },
        )
    }

    /// The words behind `REVIEW-BLOCKED:`, up to the end of the content, white space collapsed.
    fn reason(&self, word: usize) -> Option<String> {
        let mut lines = vec![String::new()];
        for piece in self.pieces.iter().filter(|piece| piece.range.end > word) {
            let text = if piece.range.start < word + BLOCKED.len() {
                let behind = (word + BLOCKED.len()).min(piece.range.end);
                &self.source[behind..piece.range.end]
            } else {
                &piece.text
            };
            match piece.kind {
                PieceKind::Text | PieceKind::Code | PieceKind::Html => {
                    if let Some(line) = lines.last_mut() {
                        line.push_str(text);
                    }
                }
                PieceKind::Break => lines.push(String::new()),
                PieceKind::Mark { .. } | PieceKind::Comment => {}
            }
        }
        if let Some(line) = lines.first_mut()
            && let Some(behind) = line.trim_start().strip_prefix([':', '：'])
        {
            *line = behind.to_owned();
        }
        let said = lines.iter().filter(|line| line.trim() != PASS).flat_map(|line| line.split_whitespace());
        let reason = said.collect::<Vec<_>>().join(" ");
        (!reason.is_empty()).then_some(reason)
    }
}

/// Reads what follows the word that passes: nothing, or the reviewed commit.
fn commit(rest: &str) -> Option<Verdict> {
    let rest = rest.trim_start_matches(MARK);
    if rest.is_empty() {
        return Some(Verdict::Pass { commit: None });
    }
    let commit = rest.strip_prefix([' ', '\t'])?.trim_matches([' ', '\t', MARK]);
    let ticks = commit.len() - commit.trim_start_matches('`').len();
    let commit = commit.get(ticks..)?.strip_suffix(&"`".repeat(ticks))?;
    let is_commit = (7..=64).contains(&commit.len()) && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_commit.then(|| Verdict::Pass { commit: Some(commit.to_ascii_lowercase()) })
}
