//! Ids of commits.

use std::fmt;
use std::str::FromStr;

use git2::Oid;
use serde::{Deserialize, Serialize};

use crate::error::GitError;

/// The full id of a commit, in lower-case hex.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CommitId(String);

impl CommitId {
    /// The whole id.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first seven digits, for people.
    pub fn short(&self) -> &str {
        self.0.get(..7).unwrap_or(&self.0)
    }

    pub(crate) fn oid(&self) -> Result<Oid, GitError> {
        Oid::from_str(&self.0).map_err(|_| GitError::NoSuchCommit { id: self.0.clone() })
    }
}

impl From<Oid> for CommitId {
    fn from(oid: Oid) -> Self {
        Self(oid.to_string())
    }
}

impl FromStr for CommitId {
    type Err = GitError;

    /// Takes a full id of 40 (or 64) hex digits; short ids are for `Repo::find_commit`.
    fn from_str(text: &str) -> Result<Self, GitError> {
        let text = text.trim();
        if matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(Self(text.to_ascii_lowercase()));
        }
        Err(GitError::NoSuchCommit { id: text.chars().take(64).collect() })
    }
}

impl fmt::Display for CommitId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.0)
    }
}
