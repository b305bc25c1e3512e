//! Linked worktrees: one for a loop of its own, or a clean checkout to try something in.

use std::path::Path;
use std::time::Duration;

use crate::commit_id::CommitId;
use crate::error::GitError;
use crate::program::{Git, args};

/// A checkout of a large repository takes its time.
const DEADLINE: Duration = Duration::from_secs(600);

/// Makes a linked worktree at `path`, on a new branch `name` that starts at `at`. The path must not exist, or be an
/// empty folder.
///
/// # Errors
/// Fails with git's words, for example when the branch exists.
pub fn worktree_add(git: &Git, path: &Path, name: &str, at: &CommitId) -> Result<(), GitError> {
    let command = args(&[&"worktree", &"add", &"--no-track", &"-b", &name, &path, &at.as_str()]);
    git.succeed(&format!("make the worktree {}", path.display()), &command, DEADLINE)?;
    Ok(())
}

/// Makes a linked worktree at `path` with a commit checked out on no branch, and without running hooks: a clean
/// place to try something in.
///
/// # Errors
/// Fails with git's words.
pub fn worktree_add_detached(git: &Git, path: &Path, commit: &str) -> Result<(), GitError> {
    let commit: CommitId = commit.parse()?;
    let no_hooks = "core.hooksPath=/dev/null";
    let command = args(&[&"-c", &no_hooks, &"worktree", &"add", &"--detach", &path, &commit.as_str()]);
    git.succeed(&format!("make the worktree {}", path.display()), &command, DEADLINE)?;
    Ok(())
}

/// Removes a linked worktree with everything in it, also when its folder is gone already. The branch stays.
///
/// # Errors
/// Fails with git's words.
pub fn worktree_remove(git: &Git, path: &Path) -> Result<(), GitError> {
    if !path.exists() {
        git.succeed("forget worktrees that are gone", &["worktree", "prune"], DEADLINE)?;
        return Ok(());
    }
    // Twice: also one that is locked.
    let command = args(&[&"worktree", &"remove", &"--force", &"--force", &path]);
    git.succeed(&format!("remove the worktree {}", path.display()), &command, DEADLINE)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::repo::Repo;
    use crate::testing::Sandbox;

    #[test]
    fn a_worktree_comes_and_goes() {
        let sandbox = Sandbox::new();
        sandbox.write("a", "1");
        let first = sandbox.commit_all("first");
        sandbox.hook("post-checkout", "echo ran > \"$HOME/hook-ran\"");
        let git = sandbox.git();
        let branch = sandbox.outside("branch");
        worktree_add(&git, &branch, "loop/x", &first).unwrap();
        assert_eq!(Repo::discover(&branch).unwrap().head().unwrap().branch(), Some("loop/x"));
        let hook_ran = sandbox.outside("home").join("hook-ran");
        assert!(hook_ran.exists());
        std::fs::remove_file(&hook_ran).unwrap();
        let clean = sandbox.outside("clean");
        worktree_add_detached(&git, &clean, first.as_str()).unwrap();
        assert!(!hook_ran.exists());
        assert_eq!(std::fs::read_to_string(clean.join("a")).unwrap(), "1");
        std::fs::write(clean.join("dirt"), "x").unwrap();
        worktree_remove(&git, &clean).unwrap();
        assert!(!clean.exists());
        std::fs::remove_dir_all(&branch).unwrap();
        worktree_remove(&git, &branch).unwrap();
        assert_eq!(sandbox.run(&["worktree", "list"]).lines().count(), 1);
        let again = worktree_add(&git, &branch, "loop/x", &first).unwrap_err();
        assert!(again.to_string().contains("loop/x"), "{again}");
    }
}
