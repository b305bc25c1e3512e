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

/// The extensions that libgit2 can read: never the reason.
const KNOWN: [&str; 5] = [
    "extensions.noop =",
    "extensions.objectformat = sha1",
    "extensions.preciousobjects =",
    "extensions.relativeworktrees =",
    "extensions.worktreeconfig =",
];

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
    extensions.retain(|extension| !KNOWN.iter().any(|known| extension.starts_with(known)));
    if extensions.is_empty() {
        let version = config.get_i32("core.repositoryformatversion").ok()?;
        return (version > 1).then(|| format!("core.repositoryformatversion = {version}"));
    }
    Some(extensions.join(", "))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::testing::Sandbox;
    use crate::{Head, Operation};

    #[test]
    fn the_repository_is_found_from_below() {
        let sandbox = Sandbox::new();
        sandbox.write("src/deep/file", "1");
        for from in ["", "src/deep", "src/deep/file"] {
            let repo = Repo::discover(&sandbox.path().join(from)).unwrap();
            let place = repo.place();
            assert_eq!(place.worktree, sandbox.path());
            assert_eq!(place.git_dir, sandbox.path().join(".git"));
            assert_eq!((place.name.as_str(), place.linked, place.submodule), ("repo", false, false));
        }
        assert_eq!(sandbox.repo().head().unwrap(), Head::Branch { name: "main".to_owned(), tip: None });
        assert_eq!(sandbox.repo().default_branch().as_deref(), Some("main"));
    }

    #[test]
    fn what_is_no_working_tree_is_said_so() {
        let sandbox = Sandbox::empty();
        assert!(matches!(Repo::discover(&sandbox.path()), Err(GitError::NotARepository { .. })));
        assert!(matches!(Repo::discover(&sandbox.outside("nowhere")), Err(GitError::Io { .. })));
        sandbox.run(&["init", "-q", "--bare", "bare.git"]);
        let error = Repo::discover(&sandbox.path().join("bare.git")).unwrap_err();
        assert!(matches!(error, GitError::Bare { .. }), "{error}");
        let sandbox = Sandbox::new();
        assert!(Repo::discover(&sandbox.path().join(".git/hooks")).is_err());
    }

    #[test]
    fn a_format_that_cannot_be_read_is_named() {
        for (format, word) in [("--ref-format=reftable", "reftable"), ("--object-format=sha256", "sha256")] {
            let sandbox = Sandbox::empty();
            sandbox.run(&["init", "-q", format]);
            let error = Repo::discover(&sandbox.path()).unwrap_err();
            assert!(matches!(&error, GitError::Unsupported { .. }), "{format}: {error}");
            assert!(error.to_string().contains(word), "{error}");
        }
        let sandbox = Sandbox::new();
        sandbox.run(&["config", "core.repositoryformatversion", "1"]);
        sandbox.run(&["config", "extensions.worktreeConfig", "true"]);
        Repo::discover(&sandbox.path()).unwrap();
        sandbox.run(&["config", "extensions.partialClone", "origin"]);
        let error = Repo::discover(&sandbox.path()).unwrap_err();
        assert!(error.to_string().contains("uses `extensions.partialclone = origin`"), "{error}");
    }

    #[test]
    fn a_repository_of_another_user_is_not_trusted() {
        let sandbox = Sandbox::new();
        for path in [sandbox.path(), sandbox.path().join(".git")] {
            // Only root can give a folder away.
            if std::os::unix::fs::chown(path, Some(12345), None).is_err() {
                return;
            }
        }
        let error = Repo::discover(&sandbox.path()).unwrap_err();
        assert!(matches!(error, GitError::Owner { .. }), "{error}");
        assert!(error.hint().unwrap().contains("safe.directory"));
    }

    #[test]
    fn linked_worktrees_and_submodules_know_their_place() {
        let sandbox = Sandbox::new();
        sandbox.write("a", "1");
        let tip = sandbox.commit_all("first");
        let linked = sandbox.linked_worktree("linked");
        let repo = Repo::discover(&linked).unwrap();
        let place = repo.place();
        assert_eq!(
            (place.worktree.as_path(), place.linked, place.submodule),
            (linked.as_path(), true, false)
        );
        assert_eq!(place.git_dir, sandbox.path().join(".git/worktrees/linked"));
        assert_eq!(place.common_dir, sandbox.path().join(".git"));
        assert_eq!(repo.hooks_dir(), sandbox.path().join(".git/hooks"));
        assert_eq!(repo.head().unwrap().branch(), Some("linked"));
        assert_eq!(sandbox.repo().branch_tip("linked").unwrap(), Some(tip.clone()));

        let source = sandbox.path().to_string_lossy().into_owned();
        let other = Sandbox::new();
        other.run(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &source, "libs/sub"]);
        let repo = Repo::discover(&other.path().join("libs/sub")).unwrap();
        let place = repo.place();
        assert_eq!(place.worktree, other.path().join("libs/sub"));
        assert!(place.submodule && !place.linked);
        assert_eq!(place.git_dir, other.path().join(".git/modules/libs/sub"));
        assert_eq!(repo.head().unwrap().tip(), Some(&tip));
        assert!(!other.repo().place().submodule);
        // Its own work is not its superproject's, until other commits are checked out.
        other.commit_all("a submodule");
        std::fs::write(other.path().join("libs/sub/new"), "1").unwrap();
        assert!(other.repo().dirty(&other.env()).unwrap().is_empty());
        for args in
            [&["add", "new"][..], &["-c", "user.name=x", "-c", "user.email=x", "commit", "-q", "-m", "x"]]
        {
            other.run_in(&other.path().join("libs/sub"), args);
        }
        let dirty = other.repo().dirty(&other.env()).unwrap();
        assert_eq!(dirty.len(), 1);
        assert!(dirty[0].fingerprint.starts_with("commit:") && dirty[0].fingerprint.len() > 40);
    }

    #[test]
    fn a_worktree_of_a_bare_repository_is_one() {
        let sandbox = Sandbox::new();
        sandbox.write("a", "1");
        sandbox.commit_all("first");
        let bare = sandbox.outside("bare.git");
        sandbox.run(&["clone", "-q", "--bare", ".", &bare.to_string_lossy()]);
        let work = sandbox.outside("work");
        sandbox.run_in(&bare, &["worktree", "add", "-q", &work.to_string_lossy(), "main"]);
        let repo = Repo::discover(&work).unwrap();
        assert_eq!((repo.place().worktree.as_path(), repo.place().linked), (work.as_path(), true));
        assert_eq!(repo.place().common_dir, bare);
    }

    #[test]
    fn what_git_is_in_the_middle_of() {
        let sandbox = Sandbox::new();
        sandbox.write("a", "1");
        sandbox.commit_all("first");
        sandbox.run(&["checkout", "-q", "-b", "side"]);
        sandbox.write("a", "2");
        let side = sandbox.commit_all("side");
        sandbox.run(&["checkout", "-q", "main"]);
        sandbox.write("a", "3");
        sandbox.commit_all("main");
        let repo = sandbox.repo();
        assert_eq!(repo.operation(), None);
        for (begin, abort, operation) in [
            (&["merge", "side"][..], &["merge", "--abort"][..], Operation::Merge),
            (&["cherry-pick", "side"], &["cherry-pick", "--abort"], Operation::CherryPick),
            (&["rebase", "side"], &["rebase", "--abort"], Operation::Rebase),
            (&["rebase", "--apply", "side"], &["rebase", "--abort"], Operation::Rebase),
            (&["revert", "--no-edit", "HEAD~1"], &["revert", "--abort"], Operation::Revert),
            (&["bisect", "start"], &["bisect", "reset"], Operation::Bisect),
        ] {
            sandbox.try_run(begin);
            assert_eq!(repo.operation(), Some(operation), "{begin:?}");
            sandbox.run(abort);
            assert_eq!(repo.operation(), None, "{abort:?}");
        }
        sandbox.run(&["checkout", "-q", "--detach", "side"]);
        assert_eq!(repo.head().unwrap(), Head::Detached(side.clone()));
        assert_eq!(repo.branch_tip("nowhere").unwrap(), None);
        assert_eq!(repo.branch_tip("no way").unwrap(), None);
        assert_eq!(repo.find_commit(side.short()).unwrap(), side);
        assert!(repo.find_commit("feedfeed").is_err() && repo.find_commit("HEAD").is_err());
    }

    #[test]
    fn branches_are_made() {
        let sandbox = Sandbox::new();
        crate::switch_new_branch(&sandbox.git(), "loop/unborn").unwrap();
        assert_eq!(sandbox.repo().head().unwrap().branch(), Some("loop/unborn"));
        sandbox.write("a", "1");
        let tip = sandbox.commit_all("first");
        let repo = sandbox.repo();
        assert_eq!(repo.default_branch().as_deref(), Some("loop/unborn"), "the only one");
        repo.create_branch("main", &tip).unwrap();
        assert_eq!(repo.default_branch().as_deref(), Some("main"));
        assert!(repo.create_branch("main", &tip).is_err());
        assert!(!repo.branch_is_free("main").unwrap() && repo.branch_is_free("loop/x").unwrap());
        assert!(!repo.branch_is_free("no way").unwrap());
        sandbox.write("a", "changed");
        crate::switch_new_branch(&sandbox.git(), "loop/x").unwrap();
        assert_eq!(sandbox.read("a"), "changed");
        for bad in ["main", "-f", "no way", "loop"] {
            assert!(
                matches!(crate::switch_new_branch(&sandbox.git(), bad), Err(GitError::Refused { .. })),
                "{bad}"
            );
        }
    }
}
