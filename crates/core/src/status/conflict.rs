//! Conflict markers that a merge has left.

use super::StatusError;
use super::scan::Scan;
use super::source::{Lines, without_line_end};
use super::standing::covering;

/// Fails when a `<<<<<<<` line stands outside every code block, and a `>>>>>>>` line somewhere behind it: in a code
/// block too, since one side of a conflict may have opened a fence that the other has not.
pub(crate) fn check(text: &str, scan: &Scan<'_>, lines: &Lines) -> Result<(), StatusError> {
    let outside = |at: &usize| covering(&scan.code, *at).is_none();
    let Some(open) = markers(text, 0, "<<<<<<<", lines).find(outside) else { return Ok(()) };
    match markers(text, open, ">>>>>>>", lines).next() {
        Some(end) => Err(StatusError::Conflict { line: lines.number(open), end: lines.number(end) }),
        None => Ok(()),
    }
}

/// Where the lines from `from` on start that are this marker.
fn markers(text: &str, from: usize, mark: &str, lines: &Lines) -> impl Iterator<Item = usize> {
    text[from..].match_indices(mark).map(move |(at, _)| from + at).filter(move |at| {
        let range = lines.range(lines.index(*at));
        let rest = without_line_end(&text[range.clone()]).strip_prefix(mark);
        range.start == *at && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
    })
}
