//! Blocks that swallow what follows: left open, or holding a line that was meant as a section.

use std::ops::Range;

use crate::cast::Cast;
use crate::diagnostic::{Code, Diagnostic};

use super::heading::{section, words};
use super::scan::{Block, Scan, scan};
use super::source::{Lines, without_line_end};

/// A block at the top level that runs to the end of the text because nothing closes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Open {
    /// Where it starts.
    pub(crate) at: usize,
    /// What it is, for example `code fence`.
    pub(crate) what: &'static str,
    /// The line that closes it.
    pub(crate) closer: String,
    code: Code,
}

/// Finds the block that the text leaves open; there can be but one.
pub(crate) fn open_at_end(text: &str, scan: &Scan<'_>) -> Option<Open> {
    let fence = scan.code.last().filter(|block| block.top && block.fenced && reaches_end(text, block));
    if let Some(block) = fence
        && let Some(closer) = missing_fence(&text[block.range.clone()])
    {
        return Some(Open { at: block.range.start, what: "code fence", closer, code: Code::OpenFence });
    }
    let html = scan.html.last().filter(|block| block.top && reaches_end(text, block))?;
    let source = &text[html.range.clone()];
    let (what, end, code) = kind_with_end(source)?;
    let is_open = !source.contains(end);
    is_open.then(|| Open { at: html.range.start, what, closer: end.to_owned(), code })
}

fn reaches_end(text: &str, block: &Block) -> bool {
    text[block.range.end..].trim().is_empty()
}

/// The line that would close the fenced block, unless its last line already does.
fn missing_fence(block: &str) -> Option<String> {
    let mark = block.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = block.len() - block.trim_start_matches(mark).len();
    let body = block.trim_end_matches(['\n', '\r']);
    let closed = body.rfind('\n').is_some_and(|newline| {
        let line = body[newline + 1..].trim_end_matches([' ', '\t', '\r']);
        let marks = line.trim_start_matches(' ');
        line.len() - marks.len() <= 3 && marks.len() >= length && marks.chars().all(|c| c == mark)
    });
    (!closed).then(|| mark.to_string().repeat(length))
}

/// HTML blocks that only a certain text ends, with that text as the reader looks for it.
fn kind_with_end(block: &str) -> Option<(&'static str, &'static str, Code)> {
    const TAGS: &[(&str, &str, &str)] = &[
        ("pre", "`<pre>` block", "</pre>"),
        ("style", "`<style>` block", "</style>"),
        ("script", "`<script>` block", "</script>"),
        ("textarea", "`<textarea>` block", "</textarea>"),
    ];
    let rest = block.strip_prefix('<')?;
    for (name, what, end) in TAGS {
        let starts = rest.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
        let next = rest.as_bytes().get(name.len());
        if starts && next.is_none_or(|byte| byte.is_ascii_whitespace() || *byte == 0x0b || *byte == b'>') {
            return Some((what, end, Code::OpenHtml));
        }
    }
    if rest.starts_with("!--") {
        return Some(("comment", "-->", Code::OpenComment));
    }
    if rest.starts_with('?') {
        return Some(("processing instruction", "?>", Code::OpenHtml));
    }
    if rest.starts_with("![CDATA[") {
        return Some(("CDATA section", "]]>", Code::OpenHtml));
    }
    let declaration = rest.strip_prefix('!')?.starts_with(|c: char| c.is_ascii_alphabetic());
    declaration.then_some(("declaration", ">", Code::OpenHtml))
}

/// Points out blocks that are open at the end, and `## Name:` lines that a block swallows.
pub(crate) fn diagnostics(
    text: &str,
    scan: &Scan<'_>,
    lines: &Lines,
    cast: &Cast,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let open = open_at_end(text, scan);
    if let Some(open) = &open {
        diagnostics.push(Diagnostic {
            line: lines.number(open.at),
            code: open.code,
            message: format!("this {} is never closed: sections below it are not seen", open.what),
            // Backticks around backticks would be told apart by nobody.
            hint: match open.closer.contains('`') {
                true => format!("close it with a line of {} backticks: {}", open.closer.len(), open.closer),
                false => format!("close it with a line `{}`", open.closer),
            },
        });
    }
    for block in &scan.code {
        if !block.in_quote {
            let name = if block.fenced { "code fence" } else { "indented code block" };
            let code = block.fenced.then_some(Code::OpenFence);
            swallowed(text, block, lines, cast, (name, code), open.as_ref(), diagnostics);
        }
    }
    for block in scan.html.iter().filter(|block| !block.in_quote) {
        let kind = kind_with_end(&text[block.range.clone()])
            .map_or(("HTML block", Some(Code::OpenHtml)), |(what, _, code)| (what, Some(code)));
        swallowed(text, block, lines, cast, kind, open.as_ref(), diagnostics);
    }
    for heading in scan.headings.iter().filter(|heading| !heading.top && !heading.setext) {
        let words = words(&heading.pieces, text);
        if section(&words, cast).is_some() {
            diagnostics.push(Diagnostic {
                line: lines.number(heading.range.start),
                code: Code::Swallowed,
                message: format!("`## {}` stands in a list item and starts no section", words.all.trim()),
                hint: "a section's heading starts at the first column, with a blank line above it".to_owned(),
            });
        }
    }
}

/// Points out the `## Name:` lines of known names in a block, and the block that holds them.
fn swallowed(
    text: &str,
    block: &Block,
    lines: &Lines,
    cast: &Cast,
    (what, code): (&'static str, Option<Code>),
    open: Option<&Open>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let held = held_sections(text, &block.range, cast);
    let Some((first, _)) = held.first() else { return };
    let (start, first) = (lines.number(block.range.start), lines.number(*first));
    if let Some(code) = code
        && open.is_none_or(|open| open.at != block.range.start)
    {
        diagnostics.push(Diagnostic {
            line: start,
            code,
            message: format!("this {what} holds the line of a section (line {first}), which starts none there"),
            hint: format!("if the section is meant, close the {what} above line {first}; if it is a quotation, all is well"),
        });
    }
    for (at, title) in held {
        diagnostics.push(Diagnostic {
            line: lines.number(at),
            code: Code::Swallowed,
            message: format!(
                "`{title}` starts no section: it stands in the {what} that starts in line {start}"
            ),
            hint: format!("if the section is meant, end the {what} above it and leave a blank line between"),
        });
    }
}

/// Starts and texts of the lines in `range` that would be sections of known names.
fn held_sections<'t>(text: &'t str, range: &Range<usize>, cast: &Cast) -> Vec<(usize, &'t str)> {
    let mut held = Vec::new();
    let mut start = range.start;
    for line in text[range.clone()].split_inclusive('\n') {
        let title = without_line_end(line).trim();
        if title.starts_with("##") && is_section_line(title, cast) {
            held.push((start, title));
        }
        start += line.len();
    }
    held
}

fn is_section_line(line: &str, cast: &Cast) -> bool {
    let scan = scan(line, None);
    scan.headings.first().is_some_and(|heading| {
        heading.top && !heading.setext && section(&words(&heading.pieces, line), cast).is_some()
    })
}
