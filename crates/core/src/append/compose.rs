//! The text of a new section.

use crate::cast::{Cast, Role};
use crate::status::open::open_at_end;
use crate::status::scan::scan;
use crate::status::source::Lines;
use crate::status::standing::{Hidden, hidden};
use crate::status::{Status, Verdict, parse};

use super::NewSection;

/// How many things are closed in one body before it is given up.
const MOST_CLOSINGS: usize = 16;

/// A section's text, with `\n` at its line ends.
#[derive(Debug)]
pub(crate) struct Composed {
    pub(crate) text: String,
    /// What the body had left open, in words.
    pub(crate) closed: Vec<String>,
}

/// Writes the section down, or says why it cannot be written so that it reads as it is meant.
pub(crate) fn compose(cast: &Cast, section: &NewSection) -> Result<Composed, String> {
    let heading = heading(cast, section)?;
    let mut closed = Vec::new();
    let body = body(&section.body)?;
    let mut text = if body.is_empty() { heading } else { format!("{heading}\n{body}\n") };
    // The heading and a blank line come before the body's first line.
    let line_of_body = |text: &str, at: usize| Lines::of(text).number(at).saturating_sub(2);
    if let Some(open) = open_at_end(&text, &scan(&text, None)) {
        closed.push(format!("a {} opened in line {} of the body", open.what, line_of_body(&text, open.at)));
        text = format!("{text}{}\n", open.closer);
    }
    let written = read(&text, cast)?;
    if let Some(second) = written.turns.get(1) {
        let line = Lines::of(&text).range(second.line - 1);
        return Err(format!(
            "line {} of the body is a section heading of its own (`{}`): quote it with `> `, or write one section at a time",
            second.line.saturating_sub(2),
            text[line].trim()
        ));
    }
    let given = written.turns.first().and_then(|turn| turn.verdict.as_ref());
    if let Some(given) = given
        && section.verdict.as_ref().is_none_or(|asked| asked.word() != given.word())
    {
        return Err(unasked(given, section.verdict.as_ref()));
    }
    match &section.verdict {
        Some(verdict) if !same_verdict(Some(verdict), given) => {
            let line = verdict_line(verdict)?;
            let apart = open_elements(&mut text, &mut closed, line_of_body);
            text = format!("{text}{}{line}\n", if apart { "" } else { "\n" });
        }
        _ => {}
    }
    Ok(Composed { text, closed })
}

/// Whether a verdict reads back as it was meant: the same kind and commit, with a reason where one was given. The
/// reason itself may lose its markup.
pub(crate) fn same_verdict(meant: Option<&Verdict>, read: Option<&Verdict>) -> bool {
    match (meant, read) {
        (None, None) => true,
        (Some(Verdict::Pass { commit }), Some(Verdict::Pass { commit: read })) => match (commit, read) {
            (Some(commit), Some(read)) => commit.eq_ignore_ascii_case(read),
            (commit, read) => commit.is_none() && read.is_none(),
        },
        (Some(Verdict::Blocked { reason }), Some(Verdict::Blocked { reason: read })) => {
            reason.as_ref().is_none_or(|reason| reason.trim().is_empty() || read.is_some())
        }
        _ => false,
    }
}

/// The heading's line.
fn heading(cast: &Cast, section: &NewSection) -> Result<String, String> {
    let Some((author, role)) = cast.find(section.author.as_str()) else {
        return Err(format!("{} is no participant of this loop", section.author));
    };
    if let Some(verdict) = &section.verdict
        && role != Role::Agent
    {
        let who = if role == Role::Planner { "the planner" } else { "a person" };
        return Err(format!("{author} is {who}: only agents give verdicts ({})", verdict.word()));
    }
    let mut arrow = String::new();
    if let Some(to) = &section.to {
        let Some((to, _)) = cast.find(to.as_str()) else {
            return Err(format!("{to}, to whom the turn would go, is no participant of this loop"));
        };
        arrow = format!(" -> {to}");
    }
    let summary = section.summary.trim();
    if summary.contains(['\n', '\r']) {
        return Err("the summary has more than one line: put the rest into the body".to_owned());
    }
    if let Some(c) = summary.chars().find(|c| c.is_control() && *c != '\t') {
        return Err(format!("the summary holds a control character (U+{:04X})", u32::from(c)));
    }
    let space = if summary.is_empty() { "" } else { " " };
    let heading = format!("## {author}{arrow}:{space}{}\n", escape_closing_marks(summary));
    let status = read(&heading, cast)?;
    let read = status.turns.first().and_then(|turn| turn.verdict.as_ref());
    match read {
        Some(verdict) if section.verdict.is_none() => {
            Err(format!("the summary reads as a verdict (`{summary}`): {}", ask_for(verdict)))
        }
        _ => Ok(heading),
    }
}

/// A run of `#` at a heading's end is no part of it unless a backslash says so.
fn escape_closing_marks(summary: &str) -> String {
    let text = summary.trim_end_matches('#');
    let is_closing = text.len() < summary.len() && (text.is_empty() || text.ends_with([' ', '\t']));
    if is_closing { format!("{text}\\{}", &summary[text.len()..]) } else { summary.to_owned() }
}

/// The body without blank lines around it and with `\n` at its line ends.
fn body(body: &str) -> Result<String, String> {
    if body.contains('\0') {
        return Err("the body holds a NUL byte".to_owned());
    }
    let body = body.strip_prefix('\u{feff}').unwrap_or(body).replace("\r\n", "\n").replace('\r', "\n");
    let mut rest = body.as_str();
    // Only whole lines: the first one's indentation may mean something.
    while let Some((line, below)) = rest.split_once('\n')
        && line.trim().is_empty()
    {
        rest = below;
    }
    Ok(rest.trim_end().to_owned())
}

/// The line of the verdict, without a line end.
fn verdict_line(verdict: &Verdict) -> Result<String, String> {
    match verdict {
        Verdict::Pass { commit: None } => Ok(verdict.word().to_owned()),
        Verdict::Pass { commit: Some(commit) } => {
            let is_commit =
                (7..=64).contains(&commit.len()) && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
            if is_commit {
                Ok(format!("{} {commit}", verdict.word()))
            } else {
                Err(format!("`{commit}` is no commit: 7 to 64 hex digits"))
            }
        }
        Verdict::Blocked { reason } => {
            let reason = reason.as_deref().unwrap_or_default().trim();
            if let Some(c) = reason.chars().find(|c| c.is_control() && *c != '\t') {
                let what = format!("the reason holds a control character (U+{:04X})", u32::from(c));
                return Err(if matches!(c, '\n' | '\r') {
                    "the reason has more than one line".to_owned()
                } else {
                    what
                });
            }
            Ok(match reason {
                "" => verdict.word().to_owned(),
                // A line with a bar may be a table's row, so the reason goes on the next one.
                reason if reason.contains('|') => format!("{}:\n{reason}", verdict.word()),
                reason => format!("{}: {reason}", verdict.word()),
            })
        }
    }
}

/// Closes the elements and comments that would hide a verdict below `text`. Returns whether a blank line stands at
/// the end now.
fn open_elements(
    text: &mut String,
    closed: &mut Vec<String>,
    line_of_body: impl Fn(&str, usize) -> usize,
) -> bool {
    let mut apart = false;
    for _ in 0..MOST_CLOSINGS {
        let with_blank_line = format!("{text}{}", if apart { "" } else { "\n" });
        let (at, closer, what) =
            match hidden(&with_blank_line, 0, with_blank_line.len(), &scan(&with_blank_line, None)) {
                Some(Hidden::Element { name, at }) => (at, format!("</{name}>"), format!("a `<{name}>`")),
                Some(Hidden::Unended { what: "comment", at }) => {
                    (at, "-->".to_owned(), "a comment".to_owned())
                }
                _ => break,
            };
        closed.push(format!("{what} opened in line {} of the body", line_of_body(text, at)));
        *text = format!("{with_blank_line}{closer}\n\n");
        apart = true;
    }
    apart
}

fn read(text: &str, cast: &Cast) -> Result<Status, String> {
    parse(text.as_bytes(), cast).map_err(|error| format!("the section cannot be read: {error}"))
}

/// Why a body that gives a verdict of its own is refused.
fn unasked(given: &Verdict, asked: Option<&Verdict>) -> String {
    match asked {
        None => format!(
            "the body ends in a verdict (`{}`) that was not asked for: {}",
            given.word(),
            ask_for(given)
        ),
        Some(asked) => format!("the body ends in `{}`, but `{}` was asked for", given.word(), asked.word()),
    }
}

fn ask_for(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Pass { .. } => "to pass, ask for it (`--pass`); if no verdict is meant, word it differently",
        Verdict::Blocked { .. } => {
            "to hold the loop, ask for it (`--blocked REASON`); if no verdict is meant, word it differently"
        }
    }
}
