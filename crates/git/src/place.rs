//! Where a worktree keeps its things.

use std::path::{Path, PathBuf};

use git2::Repository;

use crate::error::GitError;

/// Where one worktree and its git directories are. All paths are absolute and canonical.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The root of the working tree.
    pub worktree: PathBuf,
    /// This worktree's own git directory: HEAD, index, state of a rebase, loop's lock and records.
    pub git_dir: PathBuf,
    /// What all worktrees of the repository share: objects, branches, configuration, hooks, `info/exclude`.
    pub common_dir: PathBuf,
    /// The name of the worktree's folder.
    pub name: String,
    /// Whether this is a linked worktree (`git worktree add`).
    pub linked: bool,
    /// Whether this is a submodule of another repository.
    pub submodule: bool,
}

impl Place {
    pub(crate) fn of(repository: &Repository, from: &Path) -> Result<Self, GitError> {
        let Some(worktree) = repository.workdir().filter(|_| !repository.is_bare()) else {
            return Err(GitError::Bare { path: repository.path().to_owned() });
        };
        let worktree = canonical(worktree)?;
        let git_dir = canonical(repository.path())?;
        let common_dir = canonical(repository.commondir())?;
        // Inside `.git` there is no working tree either, whatever the configuration says.
        if from.starts_with(&git_dir) && !worktree.starts_with(&git_dir) && from != worktree {
            return Err(GitError::NotARepository { path: from.to_owned() });
        }
        let name = worktree
            .file_name()
            .map_or_else(|| "root".to_owned(), |name| name.to_string_lossy().into_owned());
        let submodule = is_submodule(&common_dir);
        Ok(Self { linked: repository.is_worktree(), worktree, git_dir, common_dir, name, submodule })
    }

    /// Returns loop's own folder in this worktree's git directory: its lock and records, nothing of git's.
    pub fn loop_dir(&self) -> PathBuf {
        self.git_dir.join("loop")
    }
}

/// A submodule's git directory lies in `modules/` of its superproject's git directory.
fn is_submodule(common_dir: &Path) -> bool {
    common_dir.ancestors().skip(1).any(|folder| {
        folder.file_name().is_some_and(|name| name == "modules")
            && folder
                .parent()
                .is_some_and(|parent| parent.join("HEAD").is_file() && parent.join("objects").is_dir())
    })
}

fn canonical(path: &Path) -> Result<PathBuf, GitError> {
    path.canonicalize().map_err(GitError::io("find", path))
}
