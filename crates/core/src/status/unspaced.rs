//! `##Name: summary`: a line that would be a section if a space followed its marks.

use crate::cast::Cast;
use crate::diagnostic::{Code, Diagnostic};

use super::heading::{section, words};
use super::scan::{Scan, scan};
use super::source::{Lines, without_line_end};
use super::standing::covering;

/// Points the lines out that Markdown takes for text because no space, or an unusual one, follows the marks.
pub(crate) fn diagnostics(
    text: &str,
    document: &Scan<'_>,
    lines: &Lines,
    cast: &Cast,
    diagnostics: &mut Vec<Diagnostic>,
) {
    for (at, _) in text.match_indices("##") {
        let rest = &text[at + 2..];
        if rest.starts_with(['#', ' ', '\t', '\r', '\n']) || rest.is_empty() {
            continue;
        }
        let line = lines.range(lines.index(at));
        let indentation = &text[line.start..at];
        if indentation.len() > 3
            || !indentation.bytes().all(|byte| byte == b' ')
            || covering(&document.code, at).is_some()
            || covering(&document.html, at).is_some()
        {
            continue;
        }
        let meant = format!("## {}", without_line_end(&text[at + 2..line.end]).trim());
        let read = scan(&meant, None);
        let is_section = read
            .headings
            .first()
            .is_some_and(|heading| section(&words(&heading.pieces, &meant), cast).is_some());
        if is_section {
            diagnostics.push(Diagnostic {
                line: lines.number(at),
                code: Code::UnknownAgent,
                message: "this line starts no section: no space follows `##`".to_owned(),
                hint: format!("write it as `{meant}`"),
            });
        }
    }
}
