//! Looking into the trees of commits.

use git2::{ObjectType, Oid, Repository, Tree, TreeEntry};
use sha2::{Digest, Sha256};

use crate::error::GitError;

/// File mode of a symlink in a tree.
pub(crate) const SYMLINK: i32 = 0o120_000;

/// What a path leads to in a tree, symlinks followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
    Missing,
    Folder,
    File {
        id: Oid,
        path: String,
    },
    /// A symlink out of the tree, or in a circle.
    Outside,
}

/// Follows `path` through the tree.
pub(crate) fn find(repository: &Repository, tree: &Tree<'_>, path: &str) -> Result<Found, GitError> {
    let mut wanted = path.to_owned();
    // As many symlinks as Linux follows.
    for _ in 0..40 {
        match step(repository, tree, &wanted)? {
            Step::Done(found) => return Ok(found),
            Step::Follow(next) => wanted = next,
        }
    }
    Ok(Found::Outside)
}

enum Step {
    Done(Found),
    Follow(String),
}

/// Walks down `path` until its end or its first symlink.
fn step(repository: &Repository, root: &Tree<'_>, path: &str) -> Result<Step, GitError> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let mut tree = root.clone();
    for (depth, part) in parts.iter().enumerate() {
        let Some(entry) = tree.get_name(part).map(|entry| entry.to_owned()) else {
            return Ok(Step::Done(Found::Missing));
        };
        if entry.filemode_raw() == SYMLINK {
            let target = link_target(repository, &entry)?;
            return Ok(match redirect(&parts[..depth], &target, &parts[depth + 1..]) {
                Some(path) => Step::Follow(path),
                None => Step::Done(Found::Outside),
            });
        }
        let last = depth + 1 == parts.len();
        match entry.kind() {
            Some(ObjectType::Blob) if last => {
                return Ok(Step::Done(Found::File { id: entry.id(), path: parts.join("/") }));
            }
            Some(ObjectType::Tree) if !last => {
                tree =
                    repository.find_tree(entry.id()).map_err(GitError::git2("read a folder of a commit"))?;
            }
            Some(ObjectType::Blob) => return Ok(Step::Done(Found::Missing)),
            _ => return Ok(Step::Done(if last { Found::Folder } else { Found::Missing })),
        }
    }
    Ok(Step::Done(Found::Folder))
}

/// Returns where a symlink points.
pub(crate) fn link_target(repository: &Repository, entry: &TreeEntry<'_>) -> Result<String, GitError> {
    let blob = repository.find_blob(entry.id()).map_err(GitError::git2("read a symlink of a commit"))?;
    Ok(String::from_utf8_lossy(blob.content()).into_owned())
}

/// Returns the path that `folder/link/rest` means when `link` points to `target`; `None` when it leads outside.
fn redirect(folder: &[&str], target: &str, rest: &[&str]) -> Option<String> {
    if target.starts_with('/') {
        return None;
    }
    let mut parts = folder.to_vec();
    for part in target.split('/').chain(rest.iter().copied()) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Returns a hash over the tree without the files named in `without`: equal hashes, equal code.
pub(crate) fn hash_without(
    repository: &Repository,
    tree: &Tree<'_>,
    without: &[&str],
) -> Result<String, GitError> {
    let without: Vec<Vec<&[u8]>> =
        without.iter().map(|path| path.split('/').map(str::as_bytes).collect()).collect();
    let paths: Vec<&[&[u8]]> = without.iter().map(Vec::as_slice).collect();
    Ok(hash_level(repository, tree, &paths)?.map_or_else(String::new, hex::encode))
}

/// `None` for a folder that is empty without the excluded files: git does not keep empty folders either.
fn hash_level(
    repository: &Repository,
    tree: &Tree<'_>,
    without: &[&[&[u8]]],
) -> Result<Option<Vec<u8>>, GitError> {
    let mut hash = Sha256::new();
    let mut any = false;
    for entry in tree.iter() {
        let name = entry.name_bytes();
        let below: Vec<&[&[u8]]> =
            without.iter().filter(|path| path.first() == Some(&name)).map(|path| &path[1..]).collect();
        if below.iter().any(|rest| rest.is_empty()) {
            continue;
        }
        let content = if below.is_empty() || entry.kind() != Some(ObjectType::Tree) {
            entry.id().as_bytes().to_vec()
        } else {
            let folder =
                repository.find_tree(entry.id()).map_err(GitError::git2("read a folder of a commit"))?;
            match hash_level(repository, &folder, &below)? {
                Some(content) => content,
                None => continue,
            }
        };
        any = true;
        hash.update(entry.filemode_raw().to_be_bytes());
        hash.update(name.len().to_be_bytes());
        hash.update(name);
        hash.update(content.len().to_be_bytes());
        hash.update(content);
    }
    Ok(any.then(|| hash.finalize().to_vec()))
}

/// Collects the paths that differ between two trees, at most `most` of them. Equal folders are not opened.
///
/// Paths that are not UTF-8 come in their nearest readable form: they are compared with patterns and shown, never
/// opened.
pub(crate) fn differing(
    repository: &Repository,
    old: Option<&Tree<'_>>,
    new: &Tree<'_>,
    most: usize,
) -> Result<Vec<String>, GitError> {
    let mut walk = Differing { repository, most, paths: Vec::new() };
    walk.level(old, Some(new), "")?;
    Ok(walk.paths)
}

struct Differing<'a> {
    repository: &'a Repository,
    most: usize,
    paths: Vec<String>,
}

impl<'repo> Differing<'repo> {
    fn level(
        &mut self,
        old: Option<&Tree<'_>>,
        new: Option<&Tree<'_>>,
        folder: &str,
    ) -> Result<(), GitError> {
        let changed = new.into_iter().flat_map(Tree::iter).filter_map(|entry| {
            let before =
                old.and_then(|old| old.get_name_bytes(entry.name_bytes())).map(|found| found.to_owned());
            let same = before.as_ref().is_some_and(|before| is_same(before, &entry));
            (!same).then(|| (before, Some(entry.to_owned())))
        });
        let gone = old.into_iter().flat_map(Tree::iter).filter_map(|entry| {
            let there = new.is_some_and(|new| new.get_name_bytes(entry.name_bytes()).is_some());
            (!there).then(|| (Some(entry.to_owned()), None))
        });
        let pairs: Vec<_> = changed.chain(gone).collect();
        for (before, after) in pairs {
            if self.paths.len() >= self.most {
                return Ok(());
            }
            self.entry(before.as_ref(), after.as_ref(), folder)?;
        }
        Ok(())
    }

    fn entry(
        &mut self,
        before: Option<&TreeEntry<'_>>,
        after: Option<&TreeEntry<'_>>,
        folder: &str,
    ) -> Result<(), GitError> {
        let Some(named) = after.or(before) else { return Ok(()) };
        let path = format!("{folder}{}", String::from_utf8_lossy(named.name_bytes()));
        let (old, new) = (self.open(before)?, self.open(after)?);
        let is_file =
            |entry: Option<&TreeEntry<'_>>| entry.is_some_and(|entry| entry.kind() != Some(ObjectType::Tree));
        if is_file(before) || is_file(after) {
            self.paths.push(path.clone());
        }
        if old.is_some() || new.is_some() {
            self.level(old.as_ref(), new.as_ref(), &format!("{path}/"))?;
        }
        Ok(())
    }

    fn open(&self, entry: Option<&TreeEntry<'_>>) -> Result<Option<Tree<'repo>>, GitError> {
        let Some(entry) = entry.filter(|entry| entry.kind() == Some(ObjectType::Tree)) else {
            return Ok(None);
        };
        let tree =
            self.repository.find_tree(entry.id()).map_err(GitError::git2("read a folder of a commit"))?;
        Ok(Some(tree))
    }
}

fn is_same(one: &TreeEntry<'_>, other: &TreeEntry<'_>) -> bool {
    one.id() == other.id() && one.filemode_raw() == other.filemode_raw()
}
