//! Opening a repository.

use std::fmt;
use std::path::{Path, PathBuf};

use git2::{Commit, Config, ErrorCode, Repository, RepositoryOpenFlags, Tree};

use crate::commit_id::CommitId;
use crate::env::GitEnv;
use crate::error::GitError;
use crate::place::Place;
use crate::program::Git;

/// An opened worktree of a repository. May be sent to another thread, not shared between threads.
pub struct Repo {
    pub(crate) git2: Repository,
    place: Place,
}

impl Repo {
    /// Opens the repository whose working tree holds `from`, looking in the folders above it too.
    ///
    /// No `GIT_*` variable has a say in it.
    ///
    /// # Errors
    /// Fails when there is none, when it is bare, when it belongs to another user, or when it uses an extension
    /// that libgit2 cannot read (named in the error).
    pub fn discover(from: &Path) -> Result<Self, GitError> {
        let from = from.canonicalize().map_err(GitError::io("open", from))?;
        let start = if from.is_file() { from.parent().unwrap_or(&from) } else { &from };
        let no_ceilings: [&Path; 0] = [];
        let git2 = Repository::open_ext(start, RepositoryOpenFlags::empty(), no_ceilings)
            .map_err(|source| explain(start, source))?;
        let place = Place::of(&git2, start)?;
        Ok(Self { git2, place })
    }

    /// Where this worktree keeps its things.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Returns the `git` program for this worktree, run at its root.
    pub fn git(&self, env: &GitEnv) -> Git {
        Git::at(&self.place.worktree, env)
    }

    /// Returns the commit that a full or abbreviated id names.
    ///
    /// # Errors
    /// Fails when there is none, or more than one.
    pub fn find_commit(&self, id: &str) -> Result<CommitId, GitError> {
        let none = || GitError::NoSuchCommit { id: id.chars().take(64).collect() };
        let hex = (4..=64).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !hex {
            return Err(none());
        }
        let commit = self.git2.find_commit_by_prefix(&id.to_ascii_lowercase()).map_err(|_| none())?;
        Ok(commit.id().into())
    }

    pub(crate) fn commit(&self, id: &CommitId) -> Result<Commit<'_>, GitError> {
        self.git2.find_commit(id.oid()?).map_err(|source| match source.code() {
            ErrorCode::NotFound => GitError::NoSuchCommit { id: id.to_string() },
            _ => GitError::Git2 { doing: "read a commit", source },
        })
    }

    pub(crate) fn tree_of(&self, id: &CommitId) -> Result<Tree<'_>, GitError> {
        self.commit(id)?.tree().map_err(GitError::git2("read a commit's tree"))
    }
}

impl fmt::Debug for Repo {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Repo").field("place", &self.place).finish_non_exhaustive()
    }
}

fn explain(start: &Path, source: git2::Error) -> GitError {
    match source.code() {
        ErrorCode::NotFound => return GitError::NotARepository { path: start.to_owned() },
        ErrorCode::Owner => return GitError::Owner { path: untrusted(start) },
        _ => {}
    }
    match unreadable_extension(start) {
        Some(extension) => GitError::Unsupported { path: start.to_owned(), extension },
        None => GitError::Git2 { doing: "open the repository", source },
    }
}

/// The folder that holds `.git`, which is what `safe.directory` must name.
fn untrusted(start: &Path) -> PathBuf {
    start.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(start).to_owned()
}

/// Returns the setting that libgit2 stumbled over, read from the repository's configuration itself: libgit2's own
/// message does not always name it.
fn unreadable_extension(start: &Path) -> Option<String> {
    let no_ceilings: [&Path; 0] = [];
    let git_dir =
        Repository::discover_path(start, no_ceilings).unwrap_or_else(|_| untrusted(start).join(".git"));
    let common = std::fs::read_to_string(git_dir.join("commondir"))
        .map_or_else(|_| git_dir.clone(), |text| git_dir.join(text.trim_end()));
    let config = Config::open(&common.join("config")).ok()?;
    let mut extensions = Vec::new();
    let entries = config.entries(Some("^extensions\\.")).ok()?;
    entries
        .for_each(|entry| {
            let (Ok(name), value) = (entry.name(), entry.value().unwrap_or_default()) else { return };
            extensions.push(format!("{name} = {value}"));
        })
        .ok()?;
    // These two are known to libgit2 and never the reason.
    extensions.retain(|extension| {
        !extension.starts_with("extensions.worktreeconfig") && extension != "extensions.objectformat = sha1"
    });
    if extensions.is_empty() {
        let version = config.get_i32("core.repositoryformatversion").ok()?;
        return (version > 1).then(|| format!("core.repositoryformatversion = {version}"));
    }
    Some(extensions.join(", "))
}
