//! Conflict markers that a merge has left.

use super::StatusError;
use super::scan::Scan;
use super::source::{Lines, without_line_end};
use super::standing::covering;

/// Fails when a `<<<<<<<` line stands outside every code block, and a `>>>>>>>` line somewhere behind it.
pub(crate) fn check(text: &str, scan: &Scan<'_>, lines: &Lines) -> Result<(), StatusError> {
    let Some((open, line)) = marker(text, 0, "<<<<<<<", scan, lines) else { return Ok(()) };
    match marker(text, open, ">>>>>>>", scan, lines) {
        Some((_, end)) => Err(StatusError::Conflict { line, end }),
        None => Ok(()),
    }
}

/// Offset and number of the first line from `from` on that is this marker.
fn marker(text: &str, from: usize, mark: &str, scan: &Scan<'_>, lines: &Lines) -> Option<(usize, usize)> {
    text[from..].match_indices(mark).map(|(at, _)| from + at).find_map(|at| {
        let range = lines.range(lines.index(at));
        let rest = without_line_end(&text[range.clone()]).strip_prefix(mark)?;
        let is_marker = rest.is_empty() || rest.starts_with([' ', '\t']);
        let outside = covering(&scan.code, at).is_none();
        (range.start == at && is_marker && outside).then(|| (at, lines.number(at)))
    })
}
