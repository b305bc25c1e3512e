//! STATUS.md: sections and what they say.
//!
//! [`parse`] goes once over the Markdown events of the whole text (`scan`) and then looks at single lines: which
//! headings start sections (`heading`), what the blocks leave open (`open`), and for each section whether its last
//! line is a verdict (`judge`): what such a line must look like (`verdict`), where it may stand (`standing`), and
//! what to tell an agent whose line is none (`mention`).

mod conflict;
mod heading;
mod html;
mod invisible;
mod judge;
mod mention;
pub(crate) mod open;
mod read;
pub(crate) mod scan;
pub(crate) mod source;
pub(crate) mod standing;
mod unspaced;
mod verdict;

use std::ops::Range;

use serde::Serialize;

use crate::cast::{Cast, Role};
use crate::diagnostic::Diagnostic;
use crate::name::Name;

use self::source::Source;

/// A STATUS.md, read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status {
    /// The text that was read, byte for byte (a BOM included).
    pub text: String,
    /// The loop's id from the preamble's comment (`<!-- loop: ID -->`).
    pub loop_id: Option<String>,
    /// What precedes the first section, as a byte range of `text`.
    pub preamble: Range<usize>,
    /// The sections in document order.
    pub turns: Vec<Turn>,
    /// What is worth pointing out, in line order.
    pub diagnostics: Vec<Diagnostic>,
}

/// One section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// Its place in the document, from 1.
    pub n: usize,
    /// Who wrote it, as configured.
    pub author: Name,
    /// What the author may do.
    pub role: Role,
    /// To whom it hands the turn; an unknown target is `None`, with a diagnostic.
    pub to: Option<Name>,
    /// The heading's text after the colon, without markup.
    pub summary: String,
    /// What the last line says, counted or not. Always `None` unless an agent wrote the section.
    pub verdict: Option<Verdict>,
    /// The heading's line, from 1.
    pub line: usize,
    /// The whole section as a byte range of the text: heading and everything up to the next section.
    pub span: Range<usize>,
    /// What follows the heading line, as a byte range of the text.
    pub body: Range<usize>,
    /// SHA-256 (hex) of the section without any white space: the same for every layout of the same words.
    pub fingerprint: String,
}

/// What a section's last line says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// `REVIEW-PASS`, with the reviewed commit (7 to 64 hex digits, lower case) when it names one.
    Pass {
        /// The reviewed commit.
        commit: Option<String>,
    },
    /// `REVIEW-BLOCKED`, with the reason when it gives one.
    Blocked {
        /// Why, in the agent's words.
        reason: Option<String>,
    },
}

/// Why bytes are no STATUS.md.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StatusError {
    /// Not UTF-8.
    #[error("not UTF-8 at byte {byte} (line {line})")]
    NotUtf8 {
        /// Offset of the first wrong byte.
        byte: usize,
        /// Its line, from 1.
        line: usize,
    },
    /// A NUL byte.
    #[error("a NUL byte in line {line}")]
    Nul {
        /// Its line, from 1.
        line: usize,
    },
    /// Conflict markers.
    #[error("conflict markers: `<<<<<<<` in line {line} and `>>>>>>>` in line {end}")]
    Conflict {
        /// Line of the opening marker, from 1.
        line: usize,
        /// Line of the closing marker, from 1.
        end: usize,
    },
}

impl Verdict {
    /// The verdict's word, as it is written.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Pass { .. } => verdict::PASS,
            Self::Blocked { .. } => verdict::BLOCKED,
        }
    }
}

/// Reads a STATUS.md.
///
/// # Errors
/// Fails when the bytes are not UTF-8, hold a NUL byte, or hold conflict markers outside every code block.
pub fn parse(bytes: &[u8], cast: &Cast) -> Result<Status, StatusError> {
    let source = Source::read(bytes)?;
    let scan = scan::scan(&source.text, None);
    conflict::check(&source.text, &scan, &source.lines)?;
    Ok(read::status(bytes, &source, &scan, cast))
}

#[cfg(test)]
mod tests;
