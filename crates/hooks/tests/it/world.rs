//! A home, a repository and a stand-in for `loop`, all of their own.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use loop_git::GitEnv;
use loop_hooks::{HookEnv, InstallOptions, Installed, Proof, Uninstalled};
use tempfile::TempDir;

/// Does what `loop notify` does for the hook: answers a trial, or rings (here: writes a line down), and fails.
const STAND_IN: &str = r#"#!/bin/sh
if [ -n "${LOOP_PROBE-}" ]; then
  if [ "$(cat "$LOOP_PROBE")" = "loop probe: waiting" ]; then echo "loop probe: rang" >"$LOOP_PROBE"; fi
  exit 0
fi
echo "$PWD $*" >>"$HOME/rung"
echo "loop: turn 3 by CC -> Codex" >&2
exit 7
"#;

/// Paths with their modes, and bytes or targets.
pub(crate) type Bytes = BTreeMap<PathBuf, (u32, Vec<u8>)>;

pub(crate) struct World {
    _folder: TempDir,
    pub(crate) home: PathBuf,
    pub(crate) repo: PathBuf,
    pub(crate) env: HookEnv,
}

impl World {
    /// A repository with one commit.
    pub(crate) fn new() -> Self {
        let world = Self::unborn();
        world.write("README", "hello\n");
        world.git(&["add", "README"]);
        world.git(&["commit", "-q", "-m", "first"]);
        world
    }

    /// A repository without a commit.
    pub(crate) fn unborn() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let home = root.join("home of dana's");
        fs::create_dir_all(home.join("tmp")).unwrap();
        let loop_binary = home.join("loop $x`y");
        put(&loop_binary, STAND_IN, 0o755);
        let pairs = [
            ("PATH", std::env::var("PATH").unwrap()),
            ("HOME", home.to_str().unwrap().to_owned()),
            ("GIT_CONFIG_GLOBAL", home.join("gitconfig").to_str().unwrap().to_owned()),
            ("GIT_CONFIG_NOSYSTEM", "1".to_owned()),
            ("GIT_AUTHOR_NAME", "Dana".to_owned()),
            ("GIT_AUTHOR_EMAIL", "dana@example.org".to_owned()),
            ("GIT_COMMITTER_NAME", "Dana".to_owned()),
            ("GIT_COMMITTER_EMAIL", "dana@example.org".to_owned()),
            ("TZ", "UTC".to_owned()),
        ];
        fs::write(home.join("gitconfig"), "[init]\n\tdefaultBranch = main\n").unwrap();
        let temp = home.join("tmp");
        let env = HookEnv { git_env: GitEnv::from_vars(pairs), loop_binary, home: home.clone(), temp };
        let repo = root.join("repo");
        fs::create_dir(&repo).unwrap();
        let world = Self { _folder: folder, home, repo, env };
        world.git(&["init", "-q"]);
        world
    }

    pub(crate) fn git_in(&self, folder: &Path, args: &[&str]) -> Output {
        let mut command = Command::new("git");
        command.args(args).current_dir(folder).stdin(Stdio::null()).env_clear();
        command.env("PATH", std::env::var("PATH").unwrap()).env("HOME", &self.home).env("TZ", "UTC");
        command.env("GIT_CONFIG_GLOBAL", self.home.join("gitconfig")).env("GIT_CONFIG_NOSYSTEM", "1");
        for who in ["AUTHOR", "COMMITTER"] {
            command
                .env(format!("GIT_{who}_NAME"), "Dana")
                .env(format!("GIT_{who}_EMAIL"), "dana@example.org");
        }
        command.output().unwrap()
    }

    /// Runs git in the repository, and returns what it said; it must succeed.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        let output = self.git_in(&self.repo, args);
        let words =
            String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "git {args:?}: {words}");
        words.trim_end().to_owned()
    }

    /// Makes an empty commit in a worktree, and returns what git and the hooks said.
    pub(crate) fn commit_in(&self, worktree: &Path) -> String {
        let output = self.git_in(worktree, &["commit", "-q", "--allow-empty", "-m", "work"]);
        let words =
            String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{words}");
        if is_busy(&words) { self.commit_in(worktree) } else { words }
    }

    /// How often the stand-in rang since the last question.
    pub(crate) fn rung(&self) -> usize {
        let path = self.home.join("rung");
        let count = fs::read_to_string(&path).unwrap_or_default().lines().count();
        let _ = fs::remove_file(path);
        count
    }

    /// Commits, and checks how often that rang.
    pub(crate) fn check_rings(&self, worktree: &Path, times: usize) -> String {
        self.rung();
        let words = self.commit_in(worktree);
        assert_eq!(self.rung(), times, "rings in {}: {words}", worktree.display());
        words
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        put(&self.repo.join(path), text, 0o644);
    }

    pub(crate) fn script(&self, path: &str, text: &str) {
        put(&self.repo.join(path), text, 0o755);
    }

    pub(crate) fn install(&self) -> Installed {
        self.install_in(&self.repo)
    }

    pub(crate) fn install_in(&self, worktree: &Path) -> Installed {
        loop_hooks::install(worktree, &self.env, InstallOptions::default()).unwrap()
    }

    pub(crate) fn uninstall(&self) -> Uninstalled {
        loop_hooks::uninstall(&self.repo, &self.env).unwrap()
    }

    pub(crate) fn proof_in(&self, worktree: &Path) -> Proof {
        let proof = loop_hooks::status(worktree, &self.env, true).unwrap().proof.unwrap();
        match &proof {
            Proof::Bypassed { why } if is_busy(why) => self.proof_in(worktree),
            _ => proof,
        }
    }

    pub(crate) fn works_in(&self, worktree: &Path) -> bool {
        matches!(self.proof_in(worktree), Proof::Works { .. })
    }

    /// Every file and folder of home and repository outside git's objects: mode, and bytes or target.
    pub(crate) fn bytes(&self) -> Bytes {
        let mut all = BTreeMap::new();
        for root in [&self.repo, &self.home] {
            walk(root, &mut all);
        }
        all
    }
}

/// Whether a script could not be run because another test of this process was just starting a program, which for a
/// moment had the script open for writing, as we had. It has nothing to do with hooks, and passes.
fn is_busy(words: &str) -> bool {
    words.contains("Text file busy")
}

fn walk(folder: &Path, all: &mut Bytes) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let metadata = fs::symlink_metadata(&path).unwrap();
        let bytes = if metadata.is_symlink() {
            fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
        } else if metadata.is_dir() {
            Vec::new()
        } else {
            fs::read(&path).unwrap()
        };
        // An index is rewritten when git only looks at it.
        if path.file_name().is_some_and(|name| name == "index") {
            continue;
        }
        if metadata.is_dir() && !path.ends_with("tmp") {
            walk(&path, all);
        }
        all.insert(path, (metadata.mode(), bytes));
    }
}

pub(crate) fn put(path: &Path, text: &str, mode: u32) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let _ = fs::remove_file(path);
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}
