//! What later commits did to earlier sections.

use crate::name::Name;
use crate::status::Status;

/// A section as it was recorded when it was last seen whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// Its number.
    pub n: usize,
    /// Its author.
    pub author: Name,
    /// Its [fingerprint](crate::status::Turn::fingerprint).
    pub fingerprint: String,
    /// Its summary, to name it to a person.
    pub summary: String,
    /// The commit in which it stood.
    pub commit: Option<String>,
    /// Whether a turn was handed over, or the loop ended, because of it: only the newest unanswered section may change.
    pub answered: bool,
}

/// One thing that a later commit did to an earlier section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Damage {
    /// A section is gone.
    Vanished(Recorded),
    /// A section has another author now.
    Reattributed {
        /// As it was.
        was: Recorded,
        /// Its author now.
        now: Name,
        /// Its line now, from 1.
        line: usize,
    },
    /// A new section stands before one that was already there.
    Inserted {
        /// Its number now.
        n: usize,
        /// Its author.
        author: Name,
        /// Its line, from 1.
        line: usize,
    },
    /// An answered section's body is another one now: a diagnostic, it holds nothing.
    Edited {
        /// As it was.
        was: Recorded,
        /// Its line now, from 1.
        line: usize,
    },
    /// One commit brought new sections of two names.
    TwoNames {
        /// The commit.
        commit: Option<String>,
        /// The names, in document order.
        authors: Vec<Name>,
        /// The line of the second one, from 1.
        line: usize,
    },
}

/// Compares the sections on record with those of the present STATUS.md.
///
/// White space never counts. The newest recorded section may change its body and its verdict while it is
/// unanswered. New sections behind the recorded ones are no damage.
pub fn compare(recorded: &[Recorded], status: &Status) -> Vec<Damage> {
    let _ = (recorded, status);
    Vec::new()
}
