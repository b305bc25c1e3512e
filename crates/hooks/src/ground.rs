//! What git itself says about the hooks of one worktree.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use loop_git::Output;

use crate::env::HookEnv;
use crate::error::HookError;
use crate::git;

/// Where the hooks of one worktree are, in git's own words. All paths are absolute and free of symlinks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ground {
    /// The root of the working tree.
    pub(crate) root: PathBuf,
    /// This worktree's git directory.
    pub(crate) git_dir: PathBuf,
    /// The git directory that all worktrees share.
    pub(crate) common_dir: PathBuf,
    /// The folder in which git looks for hooks here; it need not exist.
    pub(crate) folder: PathBuf,
    /// The file that names what git does not show as untracked.
    pub(crate) exclude: PathBuf,
    /// `core.hooksPath`, where it is set.
    pub(crate) hooks_path: Option<HooksPath>,
}

/// A `core.hooksPath`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HooksPath {
    /// As it was written.
    pub(crate) value: String,
    /// Whether it stands in the user's or the machine's configuration, so that other repositories have it too.
    pub(crate) shared: bool,
}

impl HooksPath {
    /// Whether each worktree has a folder of its own.
    pub(crate) fn is_relative(&self) -> bool {
        !self.value.starts_with('/') && !self.value.starts_with('~') && !self.value.starts_with("%(prefix)")
    }
}

impl Ground {
    /// Asks git about `worktree`.
    pub(crate) fn read(worktree: &Path, env: &HookEnv) -> Result<Self, HookError> {
        let no = |words: String| HookError::NoWorktree { worktree: worktree.to_owned(), words };
        let top = git::ask(worktree, env, &["rev-parse", "--show-toplevel"])?;
        if !top.ok() {
            return Err(no(top.words()));
        }
        // From the root, since a relative hooksPath is relative to it.
        let root = PathBuf::from(OsString::from_vec(one_line(&top)));
        let questions =
            ["--absolute-git-dir", "--git-common-dir", "--git-path", "hooks", "--git-path", "info/exclude"];
        let args: Vec<&str> = ["rev-parse", "--path-format=absolute"].into_iter().chain(questions).collect();
        let answer = git::ask(&root, env, &args)?;
        if !answer.ok() {
            return Err(no(answer.words()));
        }
        let lines = answer.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let paths: Vec<PathBuf> =
            lines.map(|line| PathBuf::from(OsString::from_vec(line.to_vec()))).collect();
        let [git_dir, common_dir, folder, exclude] = <[PathBuf; 4]>::try_from(paths)
            .map_err(|_| no("the paths of its git folders hold line breaks".to_owned()))?;
        let hooks_path = hooks_path(&root, env)?;
        Ok(Self { root, git_dir, common_dir, folder, exclude, hooks_path })
    }

    /// Whether this is a linked worktree.
    pub(crate) fn linked(&self) -> bool {
        self.git_dir != self.common_dir
    }

    /// The file that git runs.
    pub(crate) fn hook(&self) -> PathBuf {
        self.folder.join("post-commit")
    }

    /// Returns `path` relative to the working tree, where it lies in it and not in a git directory.
    pub(crate) fn in_worktree<'path>(&self, path: &'path Path) -> Option<&'path Path> {
        if path.starts_with(&self.git_dir) || path.starts_with(&self.common_dir) {
            return None;
        }
        path.strip_prefix(&self.root).ok()
    }

    /// Whether git ignores `path` already.
    pub(crate) fn ignores(&self, path: &Path, env: &HookEnv) -> Result<bool, HookError> {
        let path = path.to_string_lossy();
        Ok(git::ask(&self.root, env, &["check-ignore", "--quiet", "--no-index", "--", &path])?.ok())
    }
}

/// Whether some repository (this one, or the one that a hooksPath elsewhere lies in) tracks `path`, or something
/// below it.
pub(crate) fn tracked(path: &Path, env: &HookEnv) -> Result<bool, HookError> {
    let is_folder = path.is_dir();
    let (folder, name) = if is_folder {
        (path, ".".into())
    } else {
        (path.parent().unwrap_or(path), path.file_name().unwrap_or_default().to_string_lossy())
    };
    if !folder.is_dir() {
        return Ok(false);
    }
    // In a git directory `ls-files` would list the whole index.
    if git::ask(folder, env, &["rev-parse", "--is-inside-work-tree"])?.line() != "true" {
        return Ok(false);
    }
    let name = format!("./{name}");
    let listed = git::ask(folder, env, &["--literal-pathspecs", "ls-files", "-z", "--", &name])?;
    Ok(listed.ok() && !listed.stdout.is_empty())
}

fn hooks_path(root: &Path, env: &HookEnv) -> Result<Option<HooksPath>, HookError> {
    let answer = git::ask(root, env, &["config", "-z", "--show-scope", "--get", "core.hooksPath"])?;
    if !answer.ok() {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(&answer.stdout).into_owned();
    let mut fields = text.split('\0');
    let (scope, value) = (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
    Ok(Some(HooksPath { value: value.to_owned(), shared: matches!(scope, "global" | "system") }))
}

fn one_line(answer: &Output) -> Vec<u8> {
    answer.stdout.strip_suffix(b"\n").unwrap_or(&answer.stdout).to_vec()
}
