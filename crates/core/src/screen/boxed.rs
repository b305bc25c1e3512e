//! The inside of the box that some CLIs draw around their composer.

use std::ops::Range;

use regex::Regex;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::Piece;

/// The inside of a box: of each of its rows the line of the screen, and the bytes of it.
pub(super) struct Inside(Vec<Piece>);

impl Inside {
    /// What stands there, a row per line.
    pub(super) fn text(&self, lines: &[&str]) -> String {
        let rows: Vec<&str> = self.0.iter().map(|(line, range)| &lines[*line][range.clone()]).collect();
        rows.join("\n")
    }

    /// Where this part of the [`text`](Self::text) stands on the screen.
    pub(super) fn pieces(&self, part: Range<usize>) -> Vec<Piece> {
        let mut begins = 0;
        let mut pieces = Vec::new();
        for (line, range) in &self.0 {
            let from = part.start.max(begins);
            let to = part.end.min(begins + range.len());
            if from < to {
                pieces.push((*line, range.start + from - begins..range.start + to - begins));
            }
            // With the newline behind it.
            begins += range.len() + 1;
        }
        pieces
    }
}

/// Returns the box whose lower edge is the lowest match of `edge` in `lines[from..]`; `None` where there is no such
/// edge.
///
/// The edge says which columns the box has, so what is drawn beside it, a side bar, is cut off. The box goes up as
/// far as there is a border, something that is no letter or digit, in its first column.
pub(super) fn inside(edge: &Regex, lines: &[&str], from: usize) -> Option<Inside> {
    let (at, found) = (from..lines.len()).rev().find_map(|at| Some((at, edge.find(lines[at])?)))?;
    let left = lines[at][..found.start()].width();
    let right = left + found.as_str().width();
    let is_border = |c: char| !c.is_whitespace() && !c.is_alphanumeric();
    let has_border = |line: &str| line[columns(line, left, left + 1)].starts_with(is_border);
    let row = |at: usize| {
        let range = columns(lines[at], left + 1, right);
        let end = range.start + lines[at][range.clone()].trim_end().len();
        (at, range.start..end)
    };
    let mut rows: Vec<Piece> = (0..at).rev().take_while(|at| has_border(lines[*at])).map(row).collect();
    rows.reverse();
    Some(Inside(rows))
}

/// The bytes of the characters that begin in the columns from `from` to before `to`.
fn columns(line: &str, from: usize, to: usize) -> Range<usize> {
    let mut column = 0;
    let (mut start, mut end) = (line.len(), line.len());
    for (at, character) in line.char_indices() {
        if column >= from {
            start = start.min(at);
        }
        if column >= to {
            end = at;
            break;
        }
        column += character.width().unwrap_or(0);
    }
    start.min(end)..end
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn check(lines: &[&str], expected: Option<&str>) {
        let edge = Regex::new("╹▀+").unwrap();
        let text = inside(&edge, lines, 0).map(|inside| inside.text(lines));
        assert_eq!(text.as_deref(), expected, "{lines:#?}");
    }

    #[test]
    fn the_edge_says_what_is_inside() {
        check(&[], None);
        check(&["┃ no edge"], None);
        check(&["╹▀▀"], Some(""));
        check(&["above", "┃", "┃  a", "╹▀▀▀▀▀▀", "below"], Some("\n  a"));
        check(&["  ┃  wide     beside", "  ╹▀▀▀▀▀▀▀   beside"], Some("  wide"));
        check(&["  ┃  小明     beside", "  ╹▀▀▀▀▀▀▀   beside"], Some("  小明"));
        check(&["┃ other", "╹▀▀", "", "┃ this", "╹▀▀▀▀▀"], Some(" this"));
    }

    #[test]
    fn a_part_is_found_again_on_the_screen() {
        let lines = ["┃  小明 a  beside", "┃  b", "╹▀▀▀▀▀▀▀▀   beside"];
        let found = inside(&Regex::new("╹▀+").unwrap(), &lines, 0).unwrap();
        let text = found.text(&lines);
        let from = text.find('明').unwrap();
        let shown: Vec<_> = found
            .pieces(from..text.len())
            .iter()
            .map(|(at, range)| (*at, &lines[*at][range.clone()]))
            .collect();
        assert_eq!(shown, [(0, "明 a"), (1, "  b")]);
    }
}
