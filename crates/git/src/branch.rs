//! Making branches.

use std::time::Duration;

use git2::{BranchType, ErrorCode};

use crate::commit_id::CommitId;
use crate::error::GitError;
use crate::program::Git;
use crate::repo::Repo;

impl Repo {
    /// Makes a branch at a commit; does not switch to it.
    ///
    /// # Errors
    /// Fails when there is one of that name, or the name is none for a branch.
    pub fn create_branch(&self, name: &str, at: &CommitId) -> Result<(), GitError> {
        let commit = self.commit(at)?;
        self.git2.branch(name, &commit, false).map_err(GitError::git2("make the branch"))?;
        Ok(())
    }

    /// Returns the name of the repository's default branch, as far as it can be known: what `origin` (or the only
    /// remote) calls so, else `init.defaultBranch`, `main`, `master` or `trunk` where that exists, else the only
    /// branch there is.
    pub fn default_branch(&self) -> Option<String> {
        self.remote_default().or_else(|| self.configured_default()).or_else(|| self.only_branch())
    }

    fn remote_default(&self) -> Option<String> {
        let remotes = self.git2.remotes().ok()?;
        let names: Vec<&str> = remotes.iter().filter_map(|name| name.ok().flatten()).collect();
        let remote =
            if names.contains(&"origin") { "origin" } else { names.first().filter(|_| names.len() == 1)? };
        let prefix = format!("refs/remotes/{remote}/");
        let head = self.git2.find_reference(&format!("{prefix}HEAD")).ok()?;
        let target = head.symbolic_target().ok().flatten()?;
        target.strip_prefix(&prefix).map(str::to_owned)
    }

    fn configured_default(&self) -> Option<String> {
        let configured = self.config_string("init.defaultBranch");
        let usual = ["main", "master", "trunk"].map(str::to_owned);
        configured.into_iter().chain(usual).find(|name| matches!(self.branch_tip(name), Ok(Some(_))))
    }

    fn only_branch(&self) -> Option<String> {
        let mut branches = self.git2.branches(Some(BranchType::Local)).ok()?;
        match (branches.next(), branches.next()) {
            (Some(Ok((branch, _))), None) => branch.name().ok().flatten().map(str::to_owned),
            (None, None) => self.head().ok()?.branch().map(str::to_owned),
            _ => None,
        }
    }

    /// Returns whether a branch of this name could be made here.
    ///
    /// # Errors
    /// Fails when branches cannot be read.
    pub fn branch_is_free(&self, name: &str) -> Result<bool, GitError> {
        match self.git2.find_branch(name, BranchType::Local) {
            Ok(_) => Ok(false),
            Err(error) if error.code() == ErrorCode::NotFound => {
                git2::Branch::name_is_valid(name).map_err(GitError::git2("check a branch's name"))
            }
            Err(error) if error.code() == ErrorCode::InvalidSpec => Ok(false),
            Err(source) => Err(GitError::Git2 { doing: "read a branch", source }),
        }
    }
}

/// Makes a branch at the present commit and switches this worktree to it, through the `git` program. Changed files
/// stay as they are; a branch without commits is just renamed.
///
/// # Errors
/// Fails with git's words when there is a branch of that name, or the name is none.
pub fn switch_new_branch(git: &Git, name: &str) -> Result<(), GitError> {
    if name.starts_with('-') {
        let words = format!("{name:?} is no name for a branch");
        return Err(GitError::Refused { what: format!("make the branch {name}"), words });
    }
    let what = format!("make the branch {name}");
    git.succeed(&what, &["checkout", "--quiet", "--no-track", "-b", name], Duration::from_secs(60))?;
    Ok(())
}
