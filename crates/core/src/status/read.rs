//! From the scanned text to sections.

use std::ops::Range;

use sha2::{Digest, Sha256};

use crate::cast::{Cast, Role};
use crate::diagnostic::{Code, Diagnostic};
use crate::name::Name;

use super::heading::{self, Naming, Words};
use super::judge::Section;
use super::scan::{Heading, Scan};
use super::source::Source;
use super::{Status, Turn, open, unspaced};

/// A heading that starts a section, with where the section starts.
struct Start<'s, 'a, 'c> {
    heading: &'s Heading<'a>,
    words: Words,
    author: &'c Name,
    role: Role,
    to: Option<Name>,
    at: usize,
}

/// Puts the sections together.
pub(crate) fn status(bytes: &[u8], source: &Source<'_>, scan: &Scan<'_>, cast: &Cast) -> Status {
    let text = &*source.text;
    let mut diagnostics = Vec::new();
    open::diagnostics(text, scan, &source.lines, cast, &mut diagnostics);
    unspaced::diagnostics(text, scan, &source.lines, cast, &mut diagnostics);
    let mut starts: Vec<Start<'_, '_, '_>> = Vec::new();
    let mut namings: Vec<(usize, Naming<'_>)> = Vec::new();
    for heading in scan.headings.iter().filter(|heading| heading.top) {
        let words = heading::words(&heading.pieces, text);
        let line = source.lines.number(heading.range.start);
        let title = heading::section(&words, cast);
        if heading.setext {
            diagnostics.extend(title.map(|_| setext(line, &words)));
            continue;
        }
        let Some(title) = title else {
            let naming = heading::naming(&words.all, cast);
            diagnostics.extend(no_section(line, &words, naming.as_ref(), cast));
            namings.extend(naming.map(|naming| (heading.range.start, naming)));
            continue;
        };
        let to = title.target.as_deref().and_then(|target| {
            let found = cast.find(target).map(|(name, _)| name.clone());
            if found.is_none() {
                diagnostics.push(bad_target(line, target, cast));
            }
            found
        });
        let at = source.lines.start(heading.range.start);
        starts.push(Start { heading, words, author: title.author, role: title.role, to, at });
    }
    let preamble = 0..starts.first().map_or(text.len(), |start| start.at);
    let mut turns = Vec::with_capacity(starts.len());
    for (index, start) in starts.iter().enumerate() {
        let end = starts.get(index + 1).map_or(text.len(), |next| next.at);
        let heading_line = source.lines.index(start.heading.range.start);
        let span = start.at..end;
        let body = source.lines.range(heading_line).end.min(end)..end;
        let inside = namings.partition_point(|(at, _)| *at < span.start)
            ..namings.partition_point(|(at, _)| *at < span.end);
        let section = Section {
            text,
            scan,
            lines: &source.lines,
            span: span.clone(),
            body: body.clone(),
            heading: start.heading,
            words: &start.words,
            author: start.author,
            role: start.role,
            namings: &namings[inside],
        };
        turns.push(Turn {
            n: index + 1,
            author: start.author.clone(),
            role: start.role,
            to: start.to.clone(),
            summary: start.words.summary.clone(),
            verdict: section.judge(&mut diagnostics),
            line: heading_line + 1,
            fingerprint: fingerprint(&text[span.clone()]),
            span: behind_bom(span, source.bom),
            body: behind_bom(body, source.bom),
        });
    }
    diagnostics.sort_by_key(|diagnostic| diagnostic.line);
    Status {
        text: String::from_utf8_lossy(bytes).into_owned(),
        loop_id: loop_id(&text[preamble.clone()], scan),
        preamble: 0..preamble.end + source.bom,
        turns,
        diagnostics,
    }
}

fn behind_bom(range: Range<usize>, bom: usize) -> Range<usize> {
    range.start + bom..range.end + bom
}

/// The id in the first comment of the preamble that holds one and nothing else.
fn loop_id(preamble: &str, scan: &Scan<'_>) -> Option<String> {
    scan.comments.iter().take_while(|comment| comment.end <= preamble.len()).find_map(|comment| {
        let inside = preamble[comment.clone()].strip_prefix("<!--")?.strip_suffix("-->")?;
        let id = inside.trim().strip_prefix("loop:")?.trim();
        let is_id = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        is_id.then(|| id.to_owned())
    })
}

/// SHA-256 of everything but white space.
fn fingerprint(section: &str) -> String {
    let mut hash = Sha256::new();
    for word in section.split_whitespace() {
        hash.update(word.as_bytes());
    }
    hex::encode(hash.finalize())
}

fn setext(line: usize, words: &Words) -> Diagnostic {
    Diagnostic {
        line,
        code: Code::Setext,
        message: format!("`{}` is a heading by the line below it, and starts no section", words.all.trim()),
        hint: format!(
            "if a section is meant, write `## {}`; if not, put a blank line below it",
            words.all.trim()
        ),
    }
}

fn bad_target(line: usize, target: &str, cast: &Cast) -> Diagnostic {
    let nearest = heading::nearest(target, cast).map(|name| format!("; did you mean {name}?"));
    let names: Vec<String> = cast.names().map(ToString::to_string).collect();
    Diagnostic {
        line,
        code: Code::BadTarget,
        message: format!("nobody here is called `{target}`: the turn goes to the next in the rotation"),
        hint: format!("known names: {}{}", names.join(", "), nearest.unwrap_or_default()),
    }
}

/// What to say about a level-2 heading that starts no section, if it looks as if it should.
fn no_section(line: usize, words: &Words, naming: Option<&Naming<'_>>, cast: &Cast) -> Option<Diagnostic> {
    let looks = heading::looks_like_section(words);
    let named = match naming {
        Some(Naming::Word(name)) => Some(*name),
        Some(Naming::Near(name, _)) if looks => Some(*name),
        _ if looks => None,
        _ => return None,
    };
    let written = words.before.as_deref().map(|before| heading::name_and_target(before).0);
    let meant = written.and_then(|written| heading::nearest(written, cast)).or(named);
    let message = match (written, naming) {
        (Some(written), None | Some(Naming::Near(..))) => {
            format!("`{written}` is nobody's name here, so this heading starts no section")
        }
        _ => format!("`## {}` names a participant and starts no section", words.all.trim()),
    };
    let hint = match meant {
        Some(name) => format!("if a section of {name} is meant, start it with `## {name}: what was done`"),
        None => {
            let names: Vec<String> = cast.names().map(ToString::to_string).collect();
            format!(
                "if a section is meant, start it with a known name ({}); if not, all is well",
                names.join(", ")
            )
        }
    };
    Some(Diagnostic { line, code: Code::UnknownAgent, message, hint })
}
