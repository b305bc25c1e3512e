//! Finding a section's verdict, and saying why it has none where one seems meant.

use std::ops::Range;

use crate::cast::Role;
use crate::diagnostic::{Code, Diagnostic};
use crate::name::Name;

use super::Verdict;
use super::heading::{Naming, Words};
use super::mention::{self, Why};
use super::scan::{Heading, Scan, touching};
use super::source::{Lines, without_line_end};
use super::standing::{
    Hidden, Standing, covering, first_counting_line, hidden, last_counting_line, last_line, line_end,
    paragraph_start, reads_alone, stand,
};
use super::verdict::{BLOCKED, Content};

/// How many lines that read as verdicts are looked at in one section, from its end. An honest section has one or
/// two; the bound keeps a hostile one from costing its length squared.
const MOST_CANDIDATES: usize = 24;

/// A section, as the judge needs it. All offsets are the document's.
pub(crate) struct Section<'s, 'a> {
    pub(crate) text: &'s str,
    pub(crate) scan: &'s Scan<'a>,
    pub(crate) lines: &'s Lines,
    pub(crate) span: Range<usize>,
    pub(crate) body: Range<usize>,
    pub(crate) heading: &'s Heading<'a>,
    pub(crate) words: &'s Words,
    pub(crate) author: &'s Name,
    pub(crate) role: Role,
    /// Headings in the section that name a participant and start no section.
    pub(crate) namings: &'s [(usize, Naming<'s>)],
}

/// A line that reads as a verdict.
struct Candidate {
    at: usize,
    standing: Standing,
}

/// What the search for a verdict has found.
#[derive(Default)]
struct Found {
    /// The verdict, whoever may give it.
    given: Option<Candidate>,
    /// Without one: the last line that would be one if no other text followed.
    followed: Option<Candidate>,
    /// The last line that would be one if nothing hid it.
    hidden: Option<(usize, Verdict, Hidden)>,
}

impl Section<'_, '_> {
    /// Finds the section's verdict; pushes what is worth pointing out.
    pub(crate) fn judge(&self, diagnostics: &mut Vec<Diagnostic>) -> Option<Verdict> {
        let Found { given, followed, hidden } = self.find();
        if let Some(Candidate { at, standing }) = given {
            let Some(why) = self.refusal(at) else { return Some(standing.verdict) };
            diagnostics.push(self.mention(at, &standing.verdict, &why));
            return None;
        }
        if self.role != Role::Agent {
            return None;
        }
        if let Some(Candidate { at, standing }) = followed {
            let by = standing.followed.unwrap_or(at);
            let shown = without_line_end(&self.text[self.lines.range(self.lines.index(by))]);
            let why = Why::Followed { line: self.lines.number(by), text: shown.trim() };
            diagnostics.push(self.mention(at, &standing.verdict, &why));
        }
        let last = last_counting_line(self.text, &self.span, self.lines, self.scan);
        if let Some((at, verdict, hidden)) = hidden
            && self.lines.index(at) != last
        {
            let why = Why::Hidden { line: self.lines.number(hidden.at()), hidden };
            diagnostics.push(self.mention(at, &verdict, &why));
        }
        diagnostics.extend(self.mention_in_line(last));
        None
    }

    /// Looks for the verdict from the section's end on.
    fn find(&self) -> Found {
        let section = &self.text[self.span.clone()];
        let mut found = Found::default();
        let mut blocked = None;
        let mut paragraph = self.span.start;
        let mut tried = 0;
        for at in self.candidates() {
            let decided = found.given.is_some() || blocked.is_some();
            if decided && (at < paragraph || !self.line(at).contains(BLOCKED)) {
                // Only a blocked line of the same paragraph still matters.
                if at < paragraph {
                    break;
                }
                continue;
            }
            tried += 1;
            if tried > MOST_CANDIDATES {
                // Not one that was never given: what has not been looked at may well be a block.
                found.given = None;
                break;
            }
            let Some(mut standing) = stand(section, at - self.span.start) else { continue };
            if let Some(hidden) = hidden(self.text, self.span.start, at, self.scan) {
                found.hidden.get_or_insert((at, standing.verdict, hidden));
                continue;
            }
            let is_pass = matches!(standing.verdict, Verdict::Pass { .. });
            standing.followed = standing.followed.map(|offset| offset + self.span.start);
            if is_pass && standing.followed.is_none() {
                standing.followed = self.folded_underline(at);
            }
            let is_followed = standing.followed.is_some();
            let candidate = Candidate { at, standing };
            if is_followed && decided {
                continue;
            }
            if is_followed {
                found.followed = Some(candidate);
                break;
            }
            if !decided {
                paragraph = paragraph_start(self.text, self.span.start, at);
            }
            if is_pass {
                found.given = Some(candidate);
            } else {
                blocked = Some(candidate);
            }
        }
        found.given = blocked.or(found.given);
        if found.given.is_none() && found.followed.is_none() {
            match self.in_summary() {
                Some(candidate) if candidate.standing.followed.is_none() => found.given = Some(candidate),
                other => found.followed = other,
            }
        }
        found
    }

    fn line(&self, at: usize) -> &str {
        &self.text[self.lines.range(self.lines.index(at))]
    }

    /// A line that would be the verdict's underline if a blank line stood above the two, but is text where the
    /// verdict continues a list item or quote.
    fn folded_underline(&self, at: usize) -> Option<usize> {
        if covering(&self.scan.html, at).is_some() {
            return None;
        }
        let headings = &self.scan.headings;
        let before = headings.partition_point(|heading| heading.range.start <= at);
        let heading = headings[..before].last().filter(|heading| heading.setext && heading.range.end > at);
        let underline = heading.map(|heading| last_line(self.text, &heading.range));
        let section = &self.text[..self.span.end];
        first_counting_line(section, line_end(section, at), self.scan, underline)
    }

    /// Starts of the body's lines that read as verdicts by themselves, the last one first.
    fn candidates(&self) -> impl Iterator<Item = usize> {
        let first = self.lines.index(self.body.start);
        let last = self.lines.index(self.body.end.saturating_sub(1).max(self.body.start));
        let indices = if self.body.is_empty() { 1..1 } else { first..last + 1 };
        indices.rev().map(|index| self.lines.range(index)).filter_map(|range| {
            // A comment may run over the line's end, so the line is read up to it; `stand` sees the whole.
            let comment = touching(&self.scan.comments, &range).first();
            let end = comment.map_or(range.end, |comment| comment.start.clamp(range.start, range.end));
            let reads = reads_alone(&self.text[range.start..end]);
            (reads && covering(&self.scan.code, range.start).is_none()).then_some(range.start)
        })
    }

    /// The summary, if it is a verdict.
    fn in_summary(&self) -> Option<Candidate> {
        let pieces = &self.heading.pieces;
        self.words.before.as_ref()?;
        let end = pieces.iter().map(|piece| piece.range.end).max()?;
        let at = self.words.summary_at;
        let written = self.text.get(at..end)?;
        let from = at + written.len() - written.trim_start_matches([' ', '\t']).len();
        let verdict = Content { source: self.text, pieces, line: from..end }.verdict()?;
        let section = &self.text[..self.span.end];
        let followed = first_counting_line(section, self.body.start, self.scan, None);
        Some(Candidate { at: self.span.start, standing: Standing { verdict, followed } })
    }

    /// Why a well-formed verdict does not count here.
    fn refusal(&self, at: usize) -> Option<Why<'_>> {
        if self.role != Role::Agent {
            return Some(Why::NotAnAgent { author: self.author, role: self.role });
        }
        let (heading, naming) = self.namings.iter().take_while(|(heading, _)| *heading < at).last()?;
        let line = self.lines.number(*heading);
        Some(match naming {
            Naming::Word(name) => Why::BelowName { name, line },
            Naming::Near(name, word) => Why::BelowNearName { name, word, line },
        })
    }

    /// The diagnostic for a verdict's word in this line, the section's last, which is no verdict.
    fn mention_in_line(&self, index: usize) -> Option<Diagnostic> {
        let range = self.lines.range(index);
        let in_heading = range.start <= self.heading.range.start;
        let line = if in_heading {
            self.text.get(self.words.summary_at..range.end).unwrap_or_default()
        } else {
            &self.text[range.clone()]
        };
        let line = without_line_end(line);
        let word = mention::word(line)?;
        let why = if in_heading { None } else { self.place(range.start) };
        let why = why.unwrap_or_else(|| mention::wording(line, word));
        Some(mention::diagnostic(self.lines.number(range.start), word, &why))
    }

    /// Why the place of a line keeps it from being a verdict.
    fn place(&self, at: usize) -> Option<Why<'_>> {
        if let Some(block) = covering(&self.scan.code, at) {
            return Some(Why::Code { fence: block.fenced.then(|| self.lines.number(block.range.start)) });
        }
        hidden(self.text, self.span.start, at, self.scan)
            .map(|hidden| Why::Hidden { line: self.lines.number(hidden.at()), hidden })
    }

    fn mention(&self, at: usize, verdict: &Verdict, why: &Why<'_>) -> Diagnostic {
        let diagnostic = mention::diagnostic(self.lines.number(at), verdict.word(), why);
        debug_assert_eq!(diagnostic.code, Code::Mention);
        diagnostic
    }
}
