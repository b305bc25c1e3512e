//! The inside of the box that some CLIs draw around their composer.

use regex::Regex;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Returns what stands in the box whose lower edge is the lowest match of `edge` in `lines[from..]`, a row per line;
/// `None` where there is no such edge.
///
/// The edge says which columns the box has, so what is drawn beside it, a side bar, is cut off. The box goes up as
/// far as there is a border, something that is no letter or digit, in its first column.
pub(super) fn inside(edge: &Regex, lines: &[&str], from: usize) -> Option<String> {
    let (at, found) = (from..lines.len()).rev().find_map(|at| Some((at, edge.find(lines[at])?)))?;
    let left = lines[at][..found.start()].width();
    let right = left + found.as_str().width();
    let is_border = |c: char| !c.is_whitespace() && !c.is_alphanumeric();
    let has_border = |line: &&&str| columns(line, left, left + 1).starts_with(is_border);
    let mut rows: Vec<&str> = lines[..at]
        .iter()
        .rev()
        .take_while(has_border)
        .map(|line| columns(line, left + 1, right).trim_end())
        .collect();
    rows.reverse();
    Some(rows.join("\n"))
}

/// The characters that begin in the columns from `from` to before `to`.
fn columns(line: &str, from: usize, to: usize) -> &str {
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
    &line[start.min(end)..end]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn check(lines: &[&str], expected: Option<&str>) {
        let edge = Regex::new("╹▀+").unwrap();
        assert_eq!(inside(&edge, lines, 0).as_deref(), expected, "{lines:#?}");
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
}
