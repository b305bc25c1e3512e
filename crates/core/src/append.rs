//! Adding a section without losing anybody's text.

use crate::cast::Cast;
use crate::name::Name;
use crate::status::{StatusError, Verdict};

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
    /// What the text before, or the new body itself, had left open, in words for the user (`a code fence opened in line 12`).
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
/// section more, of this author, with this verdict.
///
/// # Errors
/// Fails when the existing text cannot be read, or when the section itself could not be read back (a summary of
/// two lines, a body with a section heading of its own).
pub fn plan(existing: &[u8], cast: &Cast, section: &NewSection) -> Result<AppendPlan, AppendError> {
    let _ = (existing, cast, section);
    Ok(AppendPlan { added: Vec::new(), closed: Vec::new() })
}
