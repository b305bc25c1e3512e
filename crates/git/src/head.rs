//! What is checked out, and where branches point.

use git2::{BranchType, ErrorCode, Oid};

use crate::commit_id::CommitId;
use crate::error::GitError;
use crate::repo::Repo;

/// What is checked out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Head {
    /// A branch.
    Branch {
        /// Its short name (`main`, `loop/fix-login`).
        name: String,
        /// Its newest commit; `None` while it has none.
        tip: Option<CommitId>,
    },
    /// A commit without a branch, also in the middle of a rebase.
    Detached(CommitId),
}

impl Head {
    /// The checked-out commit; `None` on a branch without any.
    pub fn tip(&self) -> Option<&CommitId> {
        match self {
            Self::Branch { tip, .. } => tip.as_ref(),
            Self::Detached(commit) => Some(commit),
        }
    }

    /// The checked-out branch's short name.
    pub fn branch(&self) -> Option<&str> {
        match self {
            Self::Branch { name, .. } => Some(name),
            Self::Detached(_) => None,
        }
    }
}

impl Repo {
    /// Returns what is checked out in this worktree.
    ///
    /// # Errors
    /// Fails when HEAD cannot be read.
    pub fn head(&self) -> Result<Head, GitError> {
        let head = self.git2.find_reference("HEAD").map_err(GitError::git2("read HEAD"))?;
        let Some(target) = head.symbolic_target_bytes() else {
            let commit = head.peel_to_commit().map_err(GitError::git2("read HEAD's commit"))?;
            return Ok(Head::Detached(commit.id().into()));
        };
        let full = String::from_utf8_lossy(target).into_owned();
        let name = full.strip_prefix("refs/heads/").unwrap_or(&full).to_owned();
        let tip = match head.peel_to_commit() {
            Ok(commit) => Some(commit.id().into()),
            Err(error) if matches!(error.code(), ErrorCode::NotFound | ErrorCode::UnbornBranch) => None,
            Err(source) => return Err(GitError::Git2 { doing: "read HEAD's commit", source }),
        };
        Ok(Head::Branch { name, tip })
    }

    /// Returns the newest commit of a local branch; `None` when there is no such branch.
    ///
    /// # Errors
    /// Fails when the branch cannot be read.
    pub fn branch_tip(&self, branch: &str) -> Result<Option<CommitId>, GitError> {
        let found = self.git2.find_branch(branch, BranchType::Local);
        let found = match found {
            Ok(found) => found,
            Err(error) if matches!(error.code(), ErrorCode::NotFound | ErrorCode::InvalidSpec) => {
                return Ok(None);
            }
            Err(source) => return Err(GitError::Git2 { doing: "read a branch", source }),
        };
        let commit = found.get().peel_to_commit().map_err(GitError::git2("read a branch's commit"))?;
        Ok(Some(commit.id().into()))
    }

    /// Returns how many commits `to` has that `from` has not.
    ///
    /// # Errors
    /// Fails when a commit cannot be read.
    pub fn ahead(&self, from: &CommitId, to: &CommitId) -> Result<usize, GitError> {
        let (ahead, _) = self
            .git2
            .graph_ahead_behind(self.known(to)?, self.known(from)?)
            .map_err(GitError::git2("count commits"))?;
        Ok(ahead)
    }

    /// Returns whether `ancestor` is `of` itself or one of its ancestors.
    ///
    /// # Errors
    /// Fails when a commit cannot be read.
    pub fn is_ancestor(&self, ancestor: &CommitId, of: &CommitId) -> Result<bool, GitError> {
        let (ancestor, of) = (self.known(ancestor)?, self.known(of)?);
        if ancestor == of {
            return Ok(true);
        }
        self.git2.graph_descendant_of(of, ancestor).map_err(GitError::git2("compare commits"))
    }

    fn known(&self, id: &CommitId) -> Result<Oid, GitError> {
        Ok(self.commit(id)?.id())
    }
}
