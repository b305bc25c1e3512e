//! What differs between the working tree and the newest commit.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use git2::{Repository, RepositoryOpenFlags};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::commit::pathspec;
use crate::env::GitEnv;
use crate::error::GitError;
use crate::program::{Git, Watch};
use crate::repo::Repo;

/// Files larger than this are told apart by size and time instead of content.
const MAX_HASHED: u64 = 4 * 1024 * 1024;

const DEADLINE: Duration = Duration::from_secs(120);

/// How many bytes of paths go on one command line.
const MAX_ARGS: usize = 64 * 1024;

/// A file that differs from the newest commit. Ignored files never do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dirty {
    /// Where, relative to the root.
    pub path: PathBuf,
    /// How it differs.
    pub kind: DirtyKind,
    /// Whether some of it is in the index.
    pub staged: bool,
    /// Tells one state of the working file from another: equal fingerprints, equal files.
    pub fingerprint: String,
}

/// How a file differs from the newest commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DirtyKind {
    /// Another content, mode or kind of file.
    Modified,
    /// New, and in the index.
    Added,
    /// Gone.
    Deleted,
    /// New, and not in the index.
    Untracked,
    /// In conflict after a merge.
    Conflicted,
}

impl Repo {
    /// Returns every file that differs from the newest commit, in path order.
    ///
    /// The `git` program is asked: libgit2 runs no filters (Git LFS), and reads neither a sparse nor a split index.
    /// A submodule counts when other commits are checked out in it, not for changed files inside; repositories that
    /// lie in the working tree without being submodules are left out, as no commit should take them.
    ///
    /// # Errors
    /// Fails when git cannot be run, or refuses.
    pub fn dirty(&self, env: &GitEnv) -> Result<Vec<Dirty>, GitError> {
        let mut dirty = BTreeMap::new();
        for change in changes(&self.git(env), &[], false)? {
            let (path, kind, staged) = match change {
                Change::Tracked(Tracked { path, kind, staged }) => (path, kind, staged),
                Change::Untracked(path) => (path, DirtyKind::Untracked, false),
                Change::Ignored(_) => continue,
            };
            let fingerprint = fingerprint(&self.place().worktree.join(&path));
            dirty.insert(path.clone(), Dirty { path, kind, staged, fingerprint });
        }
        Ok(dirty.into_values().collect())
    }
}

/// One line of `git status`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Tracked(Tracked),
    Untracked(PathBuf),
    /// An ignored file, or an ignored folder that holds it.
    Ignored(PathBuf),
}

/// A tracked file that differs from the newest commit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Tracked {
    path: PathBuf,
    kind: DirtyKind,
    staged: bool,
}

/// Asks git what differs; only among `paths` unless there are none.
pub(crate) fn changes(git: &Git, paths: &[PathBuf], with_ignored: bool) -> Result<Vec<Change>, GitError> {
    let mut all = Vec::new();
    let mut specs = paths.iter().map(|path| pathspec(path)).peekable();
    loop {
        let mut args: Vec<OsString> = [
            "status",
            "--porcelain=v2",
            "-z",
            "--untracked-files=all",
            "--no-renames",
            "--ignore-submodules=dirty",
        ]
        .map(OsString::from)
        .to_vec();
        if with_ignored {
            args.push("--ignored=matching".into());
        }
        args.push("--".into());
        let mut bytes = 0;
        while let Some(spec) = specs.next_if(|_| bytes < MAX_ARGS) {
            bytes += spec.len();
            args.push(spec);
        }
        // Looking must not take the index's lock away from somebody who wants to write.
        let optional = [("GIT_OPTIONAL_LOCKS", "0")];
        let watch = Watch { deadline: DEADLINE, slow_after: DEADLINE, on_slow: &mut || {} };
        let output = git.run_watched(&args, &optional, watch)?;
        if !output.ok() {
            let what = "compare the working tree with the newest commit".to_owned();
            return Err(GitError::Refused { what, words: output.words() });
        }
        all.extend(output.stdout.split(|byte| *byte == 0).filter_map(read_line));
        if specs.peek().is_none() {
            return Ok(all);
        }
    }
}

/// Reads a line of `git status --porcelain=v2 -z`; `None` for what is no file.
fn read_line(line: &[u8]) -> Option<Change> {
    let path = |bytes: &[u8]| PathBuf::from(OsStr::from_bytes(bytes));
    // Fields are parted by one space; the path is the last one and may hold spaces.
    let nth = |fields: usize| line.splitn(fields, |byte| *byte == b' ').last();
    match line.first()? {
        b'1' => {
            let kind = tracked_kind(line.get(2..4)?);
            Some(Change::Tracked(Tracked { path: path(nth(9)?), kind, staged: line[2] != b'.' }))
        }
        b'u' => Some(Change::Tracked(Tracked {
            path: path(nth(11)?),
            kind: DirtyKind::Conflicted,
            staged: false,
        })),
        // A nested repository comes as a folder.
        b'?' if line.ends_with(b"/") => None,
        b'?' => Some(Change::Untracked(path(line.get(2..)?))),
        b'!' => Some(Change::Ignored(path(line.get(2..)?))),
        _ => None,
    }
}

/// What the state in the index and the one in the working tree make together.
fn tracked_kind(states: &[u8]) -> DirtyKind {
    match states {
        [_, b'D'] | [b'D', b'.'] => DirtyKind::Deleted,
        // Intent-to-add shows as `.A`.
        [b'A', _] | [_, b'A'] => DirtyKind::Added,
        _ => DirtyKind::Modified,
    }
}

/// Tells states of a working file apart by what a commit would take of it.
fn fingerprint(full: &Path) -> String {
    let Ok(metadata) = std::fs::symlink_metadata(full) else { return "gone".to_owned() };
    if metadata.is_symlink() {
        let target = std::fs::read_link(full).unwrap_or_default();
        return format!("link:{}", hex::encode(target.as_os_str().as_bytes()));
    }
    if metadata.is_dir() {
        return format!("commit:{}", nested_head(full).unwrap_or_default());
    }
    let executable = if metadata.mode() & 0o100 == 0 { "" } else { "+x" };
    let hash = (metadata.is_file() && metadata.len() <= MAX_HASHED).then(|| hash(full));
    match hash {
        Some(Ok(hash)) => format!("sha256:{hash}{executable}"),
        _ => format!("stat:{}{executable}", stamp(&metadata)),
    }
}

/// The commit that is checked out in a submodule.
fn nested_head(folder: &Path) -> Option<String> {
    let no_ceilings: [&Path; 0] = [];
    let nested = Repository::open_ext(folder, RepositoryOpenFlags::NO_SEARCH, no_ceilings).ok()?;
    let head = nested.head().ok()?;
    head.target().map(|target| target.to_string())
}

fn hash(path: &Path) -> std::io::Result<String> {
    let mut hash = Sha256::new();
    let mut file = File::open(path)?;
    let mut piece = vec![0; 64 * 1024];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(hex::encode(hash.finalize())),
            read => hash.update(&piece[..read]),
        }
    }
}

fn stamp(metadata: &Metadata) -> String {
    format!("{}:{}.{:09}", metadata.len(), metadata.mtime(), metadata.mtime_nsec())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::testing::Sandbox;

    fn seen(sandbox: &Sandbox) -> Vec<(String, DirtyKind, bool)> {
        let dirty = sandbox.repo().dirty(&sandbox.env()).unwrap();
        dirty
            .into_iter()
            .map(|file| (file.path.to_string_lossy().into_owned(), file.kind, file.staged))
            .collect()
    }

    #[test]
    fn every_kind_is_told_apart() {
        let sandbox = Sandbox::new();
        for path in ["deleted", "modified", "removed", "same", "staged", "mode"] {
            sandbox.write(path, path);
        }
        sandbox.write(".gitignore", "*.log\n");
        sandbox.commit_all("first");
        sandbox.write("modified", "2");
        sandbox.write("staged", "2");
        sandbox.write("added", "1");
        sandbox.run(&["add", "staged", "added"]);
        sandbox.run(&["rm", "-q", "removed"]);
        std::fs::remove_file(sandbox.path().join("deleted")).unwrap();
        std::fs::set_permissions(
            sandbox.path().join("mode"),
            std::os::unix::fs::PermissionsExt::from_mode(0o755),
        )
        .unwrap();
        sandbox.write("new folder/a b", "1");
        sandbox.write("debug.log", "1");
        sandbox.run(&["init", "-q", "nested"]);
        sandbox.write("nested/x", "1");
        let expected = [
            ("added", DirtyKind::Added, true),
            ("deleted", DirtyKind::Deleted, false),
            ("mode", DirtyKind::Modified, false),
            ("modified", DirtyKind::Modified, false),
            ("new folder/a b", DirtyKind::Untracked, false),
            ("removed", DirtyKind::Deleted, true),
            ("staged", DirtyKind::Modified, true),
        ];
        assert_eq!(seen(&sandbox), expected.map(|(path, kind, staged)| (path.to_owned(), kind, staged)));
    }

    #[test]
    fn conflicts_and_unborn_branches() {
        let sandbox = Sandbox::new();
        sandbox.write("a", "1");
        assert_eq!(seen(&sandbox), [("a".to_owned(), DirtyKind::Untracked, false)]);
        sandbox.commit_all("first");
        sandbox.run(&["checkout", "-q", "-b", "side"]);
        sandbox.write("a", "2");
        sandbox.commit_all("side");
        sandbox.run(&["checkout", "-q", "main"]);
        sandbox.write("a", "3");
        sandbox.commit_all("main");
        sandbox.try_run(&["merge", "side"]);
        assert_eq!(seen(&sandbox), [("a".to_owned(), DirtyKind::Conflicted, false)]);
    }
}
