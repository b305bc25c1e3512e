//! A git repository inside a sandbox.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A repository with a first commit on the branch `main`.
#[derive(Debug, Clone)]
pub struct TestRepo {
    path: PathBuf,
    env: Vec<(OsString, OsString)>,
}

impl TestRepo {
    pub(crate) fn create(path: PathBuf, env: Vec<(OsString, OsString)>) -> Self {
        fs::create_dir_all(&path).unwrap_or_else(|error| panic!("cannot create {}: {error}", path.display()));
        let repo = Self { path, env };
        repo.git(&["init", "--quiet", "--initial-branch", "main"]);
        repo.write("README.md", "# A project\n");
        repo.git(&["add", "README.md"]);
        repo.git(&["commit", "--quiet", "-m", "first commit"]);
        repo
    }

    pub(crate) fn open(path: PathBuf, env: Vec<(OsString, OsString)>) -> Self {
        Self { path, env }
    }

    /// The same in another folder that is there already, for example a linked worktree of it.
    #[must_use]
    pub fn at(&self, path: &Path) -> Self {
        Self { path: path.to_owned(), env: self.env.clone() }
    }

    /// Its working tree.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Runs git in the working tree and returns its output without the final newline.
    ///
    /// # Panics
    /// Panics with git's words when it fails.
    #[track_caller]
    pub fn git(&self, args: &[&str]) -> String {
        let output = self.try_git(args);
        assert!(
            output.status.success(),
            "git {} failed: {}{}",
            args.join(" "),
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).trim_end_matches('\n').to_owned()
    }

    /// Runs git in the working tree, whatever it answers.
    ///
    /// # Panics
    /// Panics when there is no git.
    pub fn try_git(&self, args: &[&str]) -> Output {
        self.command("git").args(args).output().unwrap_or_else(|error| panic!("cannot run git: {error}"))
    }

    /// A command with the sandbox's environment and this working tree as its folder.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(self.env.iter().cloned()).current_dir(&self.path);
        command
    }

    /// Writes a file, with its folders.
    ///
    /// # Panics
    /// Panics when it cannot be written.
    pub fn write(&self, file: &str, content: impl AsRef<[u8]>) {
        let path = self.path.join(file);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)
                .unwrap_or_else(|error| panic!("cannot create {}: {error}", folder.display()));
        }
        fs::write(&path, content).unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
    }

    /// Reads a text file.
    ///
    /// # Panics
    /// Panics when it cannot be read.
    pub fn read(&self, file: &str) -> String {
        let path = self.path.join(file);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()))
    }

    /// Writes a file, commits it alone and returns the commit's full id.
    ///
    /// # Panics
    /// Panics when git refuses.
    pub fn commit(&self, file: &str, content: impl AsRef<[u8]>, message: &str) -> String {
        self.write(file, content);
        self.git(&["add", "--", file]);
        self.git(&["commit", "--quiet", "-m", message, "--", file]);
        self.tip()
    }

    /// The full id of HEAD.
    ///
    /// # Panics
    /// Panics when git refuses.
    pub fn tip(&self) -> String {
        self.git(&["rev-parse", "HEAD"])
    }
}
