//! Where in a section a verdict may stand.
//!
//! "Last line" is a matter of source lines, but whether a line *is* a line of text is a matter of Markdown: it can
//! be code, or part of a quote. Both are settled by one question: if a blank line stood before it, would Markdown
//! make a paragraph or a heading of it, at the top level? A blank line ends whatever would only fold the line in
//! (a paragraph, a list item or quote that it continues lazily, a link definition, an HTML block), and nothing
//! that truly holds it (a code block, a comment, `<pre>`, a list item to whose column it is indented).

use std::ops::Range;

use super::Verdict;
use super::html::Nesting;
use super::scan::{Block, Scan, scan, touching};
use super::source::{Lines, without_line_end};
use super::verdict::Content;

/// A line that reads as a verdict where it stands.
#[derive(Debug)]
pub(crate) struct Standing {
    pub(crate) verdict: Verdict,
    /// Where other text follows, if any does.
    pub(crate) followed: Option<usize>,
}

/// What hides a line that Markdown alone would show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Hidden {
    /// An element that is not closed above the line.
    Element { name: String, at: usize },
    /// A comment, tag or the like without an end.
    Unended { what: &'static str, at: usize },
    /// Inline markup that began on an earlier line.
    Folded { at: usize },
}

/// Reads the line that starts at `at` in `section` as a verdict.
pub(crate) fn stand(section: &str, at: usize) -> Option<Standing> {
    let apart = [&section[..at], "\n\n", &section[at..]].concat();
    let shift = 2;
    let scan = scan(&apart, Some(at + shift));
    let watched = scan.watched.as_ref()?;
    let line_end = line_end(&apart, at + shift);
    let start = watched.range.start;
    if start >= line_end {
        return None;
    }
    let line = if watched.atx {
        let written = &apart[start..line_end];
        let from =
            start + written.len() - written.trim_start_matches('#').trim_start_matches([' ', '\t']).len();
        let to = watched.pieces.iter().map(|piece| piece.range.end).max().unwrap_or(from);
        from..to.clamp(from, line_end)
    } else {
        start..start + without_line_end(&apart[start..line_end]).len()
    };
    let verdict = Content { source: &apart, pieces: &watched.pieces, line }.verdict()?;
    let block_end = watched.range.end.max(line_end);
    let underline = watched.setext.then(|| last_line(&apart, &watched.range));
    let rest = match verdict {
        Verdict::Pass { .. } => line_end,
        Verdict::Blocked { .. } => block_end,
    };
    let followed = first_counting_line(&apart, rest, &scan, underline).map(|offset| offset - shift);
    Some(Standing { verdict, followed })
}

/// Whether a line, by itself, reads as a verdict.
pub(crate) fn reads_alone(line: &str) -> bool {
    line.contains("REVIEW-") && stand(line, 0).is_some()
}

/// Start of the first line at or behind `from` that counts: not blank, no thematic break, no closed comment, not
/// the given underline.
pub(crate) fn first_counting_line(
    text: &str,
    from: usize,
    scan: &Scan<'_>,
    underline: Option<usize>,
) -> Option<usize> {
    let mut start = from;
    while start < text.len() {
        let end = line_end(text, start);
        let is_rule = !touching(&scan.rules, &(start..end)).is_empty()
            && text[start..end].chars().all(|c| c.is_ascii_whitespace() || matches!(c, '-' | '*' | '_'));
        if !is_rule && underline != Some(start) && !is_blank(text, start..end, scan) {
            return Some(start);
        }
        start = end;
    }
    None
}

/// Whether nothing but white space and closed comments stands in this part of a line.
pub(crate) fn is_blank(text: &str, place: Range<usize>, scan: &Scan<'_>) -> bool {
    let mut at = place.start;
    for comment in touching(&scan.comments, &place) {
        if comment.start > at && !text[at..comment.start].trim().is_empty() {
            return false;
        }
        at = at.max(comment.end);
    }
    at >= place.end || text[at..place.end].trim().is_empty()
}

/// What hides the line at `at` in the section that starts at `from`; `text` and `scan` are the whole document.
pub(crate) fn hidden(text: &str, from: usize, at: usize, scan: &Scan<'_>) -> Option<Hidden> {
    let inside = scan.folded.partition_point(|range| range.start < at);
    if let Some(outer) = scan.folded[..inside].last()
        && outer.end > at
    {
        return Some(Hidden::Folded { at: outer.start });
    }
    in_html(text, from, at, scan).or_else(|| open_comment_in_paragraph(text, from, at, scan))
}

/// What the HTML between `from` and `at` leaves open.
fn in_html(text: &str, from: usize, at: usize, scan: &Scan<'_>) -> Option<Hidden> {
    let mut nesting = Nesting::default();
    let first = scan.html.partition_point(|block| block.range.start < from);
    let mut end_tags =
        scan.end_tags[scan.end_tags.partition_point(|tag| tag.start < from)..].iter().peekable();
    let mut close_inline_until = |nesting: &mut Nesting, until: usize| {
        while let Some(tag) = end_tags.next_if(|tag| tag.start < until) {
            nesting.read(&text[tag.clone()], tag.start);
        }
    };
    for block in scan.html[first..].iter().take_while(|block| block.range.start < at) {
        close_inline_until(&mut nesting, block.range.start);
        let html = &text[block.range.start..block.range.end.min(at)];
        let holds_line = block.range.end > at;
        // What is open in a list item or quote ends with it; what is closed there may have been opened above.
        let unended = if block.top {
            nesting.read(html, block.range.start)
        } else {
            close_only(&mut nesting, html);
            Nesting::default().read(html, block.range.start)
        };
        if let Some((what, start)) = unended {
            let ended_later = match what {
                "comment" => text[start..at].contains("-->"),
                "tag" | "declaration" => !holds_line,
                _ => false,
            };
            if !ended_later {
                return Some(Hidden::Unended { what, at: start });
            }
        }
        if !holds_line {
            nesting.end_block();
        }
    }
    close_inline_until(&mut nesting, at);
    nesting.innermost().map(|(name, at)| Hidden::Element { name: name.to_owned(), at })
}

fn close_only(nesting: &mut Nesting, html: &str) {
    for (token, _) in super::html::tokens(html) {
        if let super::html::Token::Close(name) = token {
            nesting.close(&name);
        }
    }
}

/// A `<!--` in the lines that lead up to `at` without a blank one, outside code, that nothing closes. Markdown
/// shows it as text, but it may well have been meant to hide what follows.
fn open_comment_in_paragraph(text: &str, from: usize, at: usize, scan: &Scan<'_>) -> Option<Hidden> {
    let start = paragraph_start(text, from, at);
    let inside = |ranges: &[Range<usize>], offset: usize| !touching(ranges, &(offset..offset + 1)).is_empty();
    text[start..at].match_indices("<!--").map(|(offset, _)| start + offset).find_map(|offset| {
        let explained = inside(&scan.comments, offset)
            || inside(&scan.inline_code, offset)
            || covering(&scan.code, offset).is_some()
            || covering(&scan.html, offset).is_some()
            || text[..offset].ends_with('\\');
        (!explained).then_some(Hidden::Unended { what: "comment", at: offset })
    })
}

/// Start of the first of the lines before `at` that no blank line parts from it; not before `from`.
pub(crate) fn paragraph_start(text: &str, from: usize, at: usize) -> usize {
    let mut start = at;
    while start > from {
        let before = text[..start - 1].rfind('\n').map_or(0, |newline| newline + 1).max(from);
        if text[before..start].bytes().all(|byte| byte.is_ascii_whitespace()) {
            break;
        }
        start = before;
    }
    start
}

/// The block that holds `offset`.
pub(crate) fn covering(blocks: &[Block], offset: usize) -> Option<&Block> {
    let before = blocks.partition_point(|block| block.range.start <= offset);
    blocks[..before].last().filter(|block| block.range.end > offset)
}

/// End of the line that holds `offset`, its line end included.
pub(crate) fn line_end(text: &str, offset: usize) -> usize {
    text[offset..].find('\n').map_or(text.len(), |newline| offset + newline + 1)
}

/// Start of the last line of a block.
pub(crate) fn last_line(text: &str, block: &Range<usize>) -> usize {
    let block_text = text[block.clone()].trim_end_matches(['\n', '\r']);
    block.start + block_text.rfind('\n').map_or(0, |newline| newline + 1)
}

/// Index of the section's last line that counts, as far as single lines can tell: what looks like a thematic
/// break or an underline is passed over, wherever it stands outside code.
pub(crate) fn last_counting_line(
    text: &str,
    section: &Range<usize>,
    lines: &Lines,
    scan: &Scan<'_>,
) -> usize {
    let first = lines.index(section.start);
    let last = lines.index(section.end.saturating_sub(1).max(section.start));
    let counts = |index: &usize| {
        let range = lines.range(*index);
        if is_blank(text, range.clone(), scan) {
            return false;
        }
        let line = text[range.clone()].trim();
        let looks_like_rule = ['-', '*', '_', '='].iter().any(|mark| {
            line.starts_with(*mark) && line.chars().all(|c| c == *mark || matches!(c, ' ' | '\t'))
        });
        !looks_like_rule || covering(&scan.code, range.start).is_some()
    };
    (first..=last).rev().find(counts).unwrap_or(first)
}

impl Hidden {
    /// Where that which hides the line begins.
    pub(crate) fn at(&self) -> usize {
        match self {
            Self::Element { at, .. } | Self::Unended { at, .. } | Self::Folded { at } => *at,
        }
    }
}
