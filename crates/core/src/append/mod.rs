//! Adding a section without losing anybody's text.
//!
//! [`plan`] works out the bytes to be written behind a STATUS.md: what closes a block that the text leaves open
//! (`join`), then the section itself (`compose`). Nothing is promised that is not proved: the result is read again
//! and held against what was there before, and a plan that fails the proof is never handed out.

mod compose;
mod join;
#[cfg(test)]
mod tests;

use crate::cast::{Cast, Role};
use crate::diagnostic::Code;
use crate::name::Name;
use crate::status::{Status, StatusError, Turn, Verdict, parse};

/// A section to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSection {
    /// Who writes it.
    pub author: Name,
    /// To whom the turn goes, when not to the next in the rotation.
    pub to: Option<Name>,
    /// The heading's text after the colon; one line.
    pub summary: String,
    /// What stands below the heading; may be empty.
    pub body: String,
    /// The verdict to be written as the last line.
    pub verdict: Option<Verdict>,
}

/// What to write, and what had to be closed first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppendPlan {
    /// The bytes to be added behind the existing ones, in the file's own newline style.
    pub added: Vec<u8>,
    /// What the text before, or the new body itself, had left open, in words for the user (`a code fence opened in
    /// line 12`).
    pub closed: Vec<String>,
}

/// Why a section cannot be appended.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// The existing text cannot be read.
    #[error(transparent)]
    Status(#[from] StatusError),
    /// The summary or the body would not read back as they were given.
    #[error("{0}")]
    Section(String),
}

/// Plans how `section` is added to `existing`.
///
/// The existing bytes stay as they are; with the plan's bytes behind them the document parses with exactly one
/// section more, of this author, with this verdict, and no earlier section reads differently than before.
///
/// # Errors
/// Fails when the existing text cannot be read, or when the section itself could not be read back (a summary of
/// two lines, a body with a section heading of its own, a body that ends in a verdict which was not asked for).
pub fn plan(existing: &[u8], cast: &Cast, section: &NewSection) -> Result<AppendPlan, AppendError> {
    let before = parse(existing, cast)?;
    let composed = compose::compose(cast, section).map_err(AppendError::Section)?;
    let mut refusal = None;
    for join in join::joins(&before.text) {
        let newline = join.newline;
        let added = join.text + &composed.text.replace('\n', newline);
        let whole = [existing, added.as_bytes()].concat();
        match parse(&whole, cast)
            .map_err(|error| error.to_string())
            .and_then(|after| proof(&before, &after, section))
        {
            Ok(()) => {
                let closed = join.closed.into_iter().chain(composed.closed).collect();
                return Ok(AppendPlan { added: added.into_bytes(), closed });
            }
            Err(why) => refusal = Some(why),
        }
    }
    Err(AppendError::Section(refusal.unwrap_or_else(|| "the section would not be seen".to_owned())))
}

/// Holds the document with the new section against the one without it.
fn proof(before: &Status, after: &Status, section: &NewSection) -> Result<(), String> {
    let count = before.turns.len();
    if after.turns.len() != count + 1 {
        let more = after.turns.len().saturating_sub(count);
        return Err(format!("the document would have {more} sections more, not one"));
    }
    let last = count.saturating_sub(1);
    let unchanged = before.turns.iter().zip(&after.turns).enumerate().all(|(index, (was, is))| {
        // What closes an open block stands at the end of the last section.
        let same_text = index == last || (was.span == is.span && was.fingerprint == is.fingerprint);
        same_text && was.span.start == is.span.start && reading(was) == reading(is)
    });
    // An id in a comment that was open may become one; an id that was there stays.
    let same_loop = before.loop_id.is_none() || before.loop_id == after.loop_id;
    if !unchanged || !same_loop {
        return Err("an earlier section would read differently".to_owned());
    }
    let Some(new) = after.turns.last() else { return Err("the section would not be seen".to_owned()) };
    if new.author != section.author || new.to != section.to {
        return Err(format!("the heading would read as {}'s", new.author));
    }
    if !compose::same_verdict(section.verdict.as_ref(), new.verdict.as_ref()) {
        let why = after
            .diagnostics
            .iter()
            .rfind(|diagnostic| diagnostic.line >= new.line && diagnostic.code == Code::Mention);
        return Err(match why {
            Some(why) => format!("the verdict would not count: {} ({})", why.message, why.hint),
            None => "the verdict would read differently".to_owned(),
        });
    }
    Ok(())
}

/// What an earlier section says to the loop.
fn reading(turn: &Turn) -> (usize, usize, &Name, Role, Option<&Name>, &str, Option<&Verdict>) {
    (turn.n, turn.line, &turn.author, turn.role, turn.to.as_ref(), &turn.summary, turn.verdict.as_ref())
}
