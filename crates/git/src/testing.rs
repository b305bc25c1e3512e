//! Real repositories in a folder of their own, with their own HOME and without anybody's configuration.
#![allow(clippy::unwrap_used)]

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::{CommitId, Git, GitEnv, Repo};

pub(crate) struct Sandbox {
    folder: TempDir,
}

impl Sandbox {
    /// A folder `repo` without a repository.
    pub(crate) fn empty() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("home")).unwrap();
        std::fs::create_dir(folder.path().join("repo")).unwrap();
        Self { folder }
    }

    /// A repository on the branch `main`, without commits.
    pub(crate) fn new() -> Self {
        let sandbox = Self::empty();
        sandbox.run(&["init", "-q", "-b", "main"]);
        sandbox.run(&["config", "user.name", "Dana"]);
        sandbox.run(&["config", "user.email", "dana@example.com"]);
        sandbox
    }

    /// The root of the working tree.
    pub(crate) fn path(&self) -> PathBuf {
        self.outside("repo")
    }

    /// A path beside the repository.
    pub(crate) fn outside(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn env(&self) -> GitEnv {
        let path = std::env::var_os("PATH").unwrap();
        GitEnv::from_vars([("PATH", path)])
            .with("HOME", self.outside("home"))
            .with("GIT_CONFIG_GLOBAL", "/dev/null")
            .with("GIT_CONFIG_NOSYSTEM", "1")
            .with("TZ", "UTC")
    }

    pub(crate) fn git(&self) -> Git {
        Git::at(&self.path(), &self.env())
    }

    pub(crate) fn repo(&self) -> Repo {
        Repo::discover(&self.path()).unwrap()
    }

    /// Runs git, which must succeed, and returns what it printed.
    pub(crate) fn run(&self, args: &[&str]) -> String {
        self.run_in(&self.path(), args)
    }

    pub(crate) fn run_in(&self, folder: &Path, args: &[&str]) -> String {
        let git = Git::at(folder, &self.env());
        let output = git.succeed(&args.join(" "), args, Duration::from_secs(60)).unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Runs git, which may fail.
    pub(crate) fn try_run(&self, args: &[&str]) {
        self.git().run(args, Duration::from_secs(60)).unwrap();
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let full = self.path().join(path);
        std::fs::create_dir_all(full.parent().unwrap()).unwrap();
        std::fs::write(full, text).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.path().join(path)).unwrap()
    }

    pub(crate) fn link(&self, path: &str, target: &str) {
        let full = self.path().join(path);
        std::fs::create_dir_all(full.parent().unwrap()).unwrap();
        symlink(target, full).unwrap();
    }

    pub(crate) fn commit_all(&self, message: &str) -> CommitId {
        self.run(&["add", "-A"]);
        self.run(&["commit", "-q", "--allow-empty", "-m", message]);
        self.run(&["rev-parse", "HEAD"]).trim().parse().unwrap()
    }

    pub(crate) fn linked_worktree(&self, name: &str) -> PathBuf {
        let path = self.outside(name);
        self.run(&["worktree", "add", "-q", "-b", name, &path.to_string_lossy()]);
        path
    }

    /// Installs a hook of the repository.
    pub(crate) fn hook(&self, name: &str, script: &str) {
        let target = self.path().join(".git/hooks").join(name);
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        self.install(&target, script);
    }

    /// Writes a program beside the repository.
    pub(crate) fn program(&self, name: &str, script: &str) -> PathBuf {
        let target = self.outside(name);
        self.install(&target, script);
        target
    }

    /// Another process writes the file: one that is open for writing here could be inherited by a child of another
    /// test, and cannot be run as long as it is.
    fn install(&self, target: &Path, script: &str) {
        let source = self.outside("script");
        std::fs::write(&source, format!("#!/bin/sh\n{script}\n")).unwrap();
        let status = Command::new("install").args(["-m", "755"]).arg(source).arg(target).status().unwrap();
        assert!(status.success());
    }
}

/// Waits for something that another process does.
pub(crate) fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(20);
    while !is_so() {
        assert!(Instant::now() < until, "not within 20 s: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
