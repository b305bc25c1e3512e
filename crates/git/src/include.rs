//! `.worktreeinclude`: ignored files that a new worktree needs all the same (`.env`, local settings).

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::env::GitEnv;
use crate::error::GitError;
use crate::repo::Repo;

const FILE: &str = ".worktreeinclude";

/// Copies the files that `.worktreeinclude` in the working tree names (patterns as in `.gitignore`) and that git
/// ignores into another worktree. A file that is there already stays as it is. Returns what was copied.
///
/// # Errors
/// Fails when the files cannot be listed, read or written.
pub fn copy_included(from: &Repo, env: &GitEnv, to: &Path) -> Result<Vec<PathBuf>, GitError> {
    let root = &from.place().worktree;
    if !root.join(FILE).is_file() {
        return Ok(Vec::new());
    }
    let to = to.canonicalize().map_err(GitError::io("find", to))?;
    let list = ["ls-files", "-z", "--others", "--ignored", "--exclude-from=.worktreeinclude"];
    let output =
        from.git(env).succeed("list the files of .worktreeinclude", &list, Duration::from_secs(60))?;
    let mut copied = Vec::new();
    for bytes in output.stdout.split(|byte| *byte == 0).filter(|bytes| !bytes.is_empty()) {
        let path = Path::new(OsStr::from_bytes(bytes));
        // A nested repository comes as a folder; files that are not ignored are the user's work in progress.
        let ignored = from.git2.is_path_ignored(path).map_err(GitError::git2("read the ignore rules"))?;
        if bytes.ends_with(b"/") || !ignored {
            continue;
        }
        if copy(&root.join(path), &to, path)? {
            copied.push(path.to_owned());
        }
    }
    Ok(copied)
}

/// Copies one file, or makes the same symlink; returns whether it did.
fn copy(source: &Path, root: &Path, path: &Path) -> Result<bool, GitError> {
    let target = root.join(path);
    if target.symlink_metadata().is_ok() {
        return Ok(false);
    }
    let folder = target.parent().unwrap_or(root);
    std::fs::create_dir_all(folder).map_err(GitError::io("make", folder))?;
    // A symlink that is a folder in the new worktree must not lead the copy elsewhere.
    let real = folder.canonicalize().map_err(GitError::io("find", folder))?;
    if !real.starts_with(root) {
        return Ok(false);
    }
    let metadata = source.symlink_metadata().map_err(GitError::io("read", source))?;
    if metadata.is_symlink() {
        let link = std::fs::read_link(source).map_err(GitError::io("read", source))?;
        std::os::unix::fs::symlink(link, &target).map_err(GitError::io("write", &target))?;
        return Ok(true);
    }
    if !metadata.is_file() {
        return Ok(false);
    }
    std::fs::copy(source, &target).map_err(GitError::io("copy to", &target))?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::testing::Sandbox;

    #[test]
    fn only_ignored_and_named_files_are_copied() {
        let sandbox = Sandbox::new();
        sandbox.write(".gitignore", ".env*\nsecrets/\nbuild/\n");
        sandbox.write(".worktreeinclude", "# what tests need\n.env*\n!.env.old\nsecrets/\nnotes.txt\n");
        sandbox.commit_all("first");
        for path in [".env", ".env.old", "sub/.env.test", "secrets/a key", "build/out", "notes.txt"] {
            sandbox.write(path, path);
        }
        let linked = sandbox.linked_worktree("linked");
        std::fs::create_dir_all(linked.join("sub")).unwrap();
        std::fs::write(linked.join("sub/.env.test"), "own").unwrap();
        let copied = copy_included(&sandbox.repo(), &sandbox.env(), &linked).unwrap();
        assert_eq!(copied, [Path::new(".env"), Path::new("secrets/a key")]);
        assert_eq!(std::fs::read_to_string(linked.join("secrets/a key")).unwrap(), "secrets/a key");
        assert_eq!(std::fs::read_to_string(linked.join("sub/.env.test")).unwrap(), "own");
    }
}
