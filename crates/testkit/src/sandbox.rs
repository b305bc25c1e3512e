//! A place of its own for one test.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Mutex;

use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;

use crate::repo::TestRepo;

/// The kernel takes 108 bytes for a socket's path, its end marker included; tmux adds nothing with `-S`.
const SOCKET_PATH_LIMIT: usize = 104;

/// A folder with its own `HOME`, XDG folders, temporary folder, git configuration and tmux socket.
///
/// Dropping it ends the tmux server on its socket and the processes started by [`Sandbox::spawn`], and nothing
/// else.
#[derive(Debug)]
pub struct Sandbox {
    root: TempDir,
    socket_folder: Option<TempDir>,
    spawned: Mutex<Vec<Child>>,
}

impl Default for Sandbox {
    fn default() -> Self {
        Self::new()
    }
}

impl Sandbox {
    /// Makes an empty sandbox.
    ///
    /// # Panics
    /// Panics when the temporary folder cannot be written.
    pub fn new() -> Self {
        let root = tempfile::Builder::new().prefix("loop-").tempdir().expect("a temporary folder");
        for folder in ["home/.config", "home/.local/state", "home/.local/share", "home/.cache", "tmp", "run"]
        {
            fs::create_dir_all(root.path().join(folder)).expect("a folder in the sandbox");
        }
        fs::write(
            root.path().join("home/.gitconfig"),
            "[user]\n\tname = Test\n\temail = test@example.org\n[init]\n\tdefaultBranch = main\n\
             [commit]\n\tgpgSign = false\n[core]\n\tpager = cat\n",
        )
        .expect("git's configuration");
        let too_long = root.path().join("tmux.sock").as_os_str().len() > SOCKET_PATH_LIMIT;
        let socket_folder = too_long.then(|| {
            tempfile::Builder::new().prefix("loop-").tempdir_in("/tmp").expect("a folder for the socket")
        });
        Self { root, socket_folder, spawned: Mutex::new(Vec::new()) }
    }

    /// Its folder, without symlinks.
    ///
    /// # Panics
    /// Panics when the folder is gone.
    pub fn root(&self) -> PathBuf {
        self.root.path().canonicalize().expect("the sandbox's folder")
    }

    /// Its `HOME`.
    pub fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    /// The socket of its tmux server, for `tmux -S`.
    pub fn tmux_socket(&self) -> PathBuf {
        match &self.socket_folder {
            Some(folder) => folder.path().join("tmux.sock"),
            None => self.root().join("tmux.sock"),
        }
    }

    /// The whole environment of what runs in it.
    pub fn env(&self) -> Vec<(OsString, OsString)> {
        let root = self.root();
        let home = root.join("home");
        let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
        let pairs: [(&str, OsString); 15] = [
            ("PATH", path),
            ("HOME", home.clone().into()),
            ("XDG_CONFIG_HOME", home.join(".config").into()),
            ("XDG_STATE_HOME", home.join(".local/state").into()),
            ("XDG_DATA_HOME", home.join(".local/share").into()),
            ("XDG_CACHE_HOME", home.join(".cache").into()),
            ("XDG_RUNTIME_DIR", root.join("run").into()),
            ("TMPDIR", root.join("tmp").into()),
            ("TMUX_TMPDIR", root.join("run").into()),
            ("GIT_CONFIG_GLOBAL", home.join(".gitconfig").into()),
            ("GIT_CONFIG_NOSYSTEM", "1".into()),
            ("TZ", "UTC".into()),
            ("LC_ALL", "C.UTF-8".into()),
            ("TERM", "xterm-256color".into()),
            ("SHELL", "/bin/sh".into()),
        ];
        pairs.into_iter().map(|(name, value)| (name.into(), value)).collect()
    }

    /// The same as text, for what takes a map of strings.
    pub fn env_text(&self) -> std::collections::BTreeMap<String, String> {
        let text = |value: OsString| value.to_string_lossy().into_owned();
        self.env().into_iter().map(|(name, value)| (text(name), text(value))).collect()
    }

    /// A command with this environment and nothing of the caller's.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(self.env()).current_dir(self.root());
        command
    }

    /// A command for the `loop` program at `binary`.
    pub fn loop_cmd(&self, binary: &Path) -> Command {
        self.command(binary)
    }

    /// Makes a repository with a first commit.
    ///
    /// # Panics
    /// Panics when git refuses.
    pub fn repo(&self, name: &str) -> TestRepo {
        TestRepo::create(self.root().join(name), self.env())
    }

    /// The repository that stands in the folder `name` of the sandbox, made by other means than [`Sandbox::repo`].
    pub fn open_repo(&self, name: &str) -> TestRepo {
        TestRepo::open(self.root().join(name), self.env())
    }

    /// Runs git in the sandbox's folder and returns its output without the final newline.
    ///
    /// # Panics
    /// Panics with git's words when it fails.
    #[track_caller]
    pub fn git(&self, args: &[&str]) -> String {
        text_of(&format!("git {}", args.join(" ")), self.command("git").args(args).output())
    }

    /// Runs tmux on the sandbox's socket and returns its output without the final newline.
    ///
    /// # Panics
    /// Panics with tmux's words when it fails.
    #[track_caller]
    pub fn tmux(&self, args: &[&str]) -> String {
        let output = self.command("tmux").arg("-u").arg("-S").arg(self.tmux_socket()).args(args).output();
        text_of(&format!("tmux {}", args.join(" ")), output)
    }

    /// Writes a file below the sandbox's folder, with its folders, and returns its path.
    ///
    /// # Panics
    /// Panics when it cannot be written.
    pub fn write(&self, file: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.root().join(file);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)
                .unwrap_or_else(|error| panic!("cannot create {}: {error}", folder.display()));
        }
        fs::write(&path, content).unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
        path
    }

    /// Reads a text file below the sandbox's folder.
    ///
    /// # Panics
    /// Panics when it cannot be read.
    pub fn read(&self, file: &str) -> String {
        let path = self.root().join(file);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()))
    }

    /// Starts `command` in a process group of its own, which ends with the sandbox; returns its process id.
    ///
    /// # Panics
    /// Panics when it cannot be started.
    pub fn spawn(&self, command: &mut Command) -> u32 {
        let child = command.process_group(0).stdin(Stdio::null()).spawn().unwrap_or_else(|error| {
            panic!("cannot start {}: {error}", command.get_program().to_string_lossy())
        });
        let pid = child.id();
        self.spawned.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(child);
        pid
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        if self.tmux_socket().exists() {
            // Without a server, or without a tmux, there is nothing to end.
            let _ = self
                .command("tmux")
                .arg("-S")
                .arg(self.tmux_socket())
                .arg("kill-server")
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
        }
        let spawned = self.spawned.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        for child in spawned {
            if let Ok(None) = child.try_wait() {
                let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
                if let Some(group) = group {
                    let _ = kill_process_group(group, Signal::KILL);
                }
                let _ = child.wait();
            }
        }
    }
}

/// Whether `tool` can be run here. Where it cannot, says `SKIPPED`, so that a test returns loudly.
///
/// # Panics
/// Panics when it cannot and `LOOP_TEST_REQUIRE_TOOLS` is `1`.
#[must_use]
pub fn require_tool(tool: &str, version_argument: &str) -> bool {
    let runs = Command::new(tool)
        .arg(version_argument)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !runs {
        skipped(&format!("{tool} cannot be run here"));
    }
    runs
}

/// Says on the real stderr, which the test harness does not capture, that a test is left out.
///
/// # Panics
/// Panics when `LOOP_TEST_REQUIRE_TOOLS` is `1`: then nothing may be left out.
pub fn skipped(why: &str) {
    let required = std::env::var_os("LOOP_TEST_REQUIRE_TOOLS").is_some_and(|value| value == "1");
    assert!(!required, "LOOP_TEST_REQUIRE_TOOLS=1 lets no test be left out: {why}");
    // `eprintln!` would be shown only when the test fails.
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("SKIPPED: {why}\n").as_bytes());
}

#[track_caller]
fn text_of(what: &str, output: std::io::Result<Output>) -> String {
    let output = output.unwrap_or_else(|error| panic!("cannot run {what}: {error}"));
    assert!(
        output.status.success(),
        "{what} failed: {}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).trim_end_matches('\n').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_has_a_commit_and_only_the_sandbox_s_identity() {
        let sandbox = Sandbox::new();
        let repo = sandbox.repo("demo");
        assert_eq!(repo.git(&["log", "--format=%an <%ae> %s"]), "Test <test@example.org> first commit");
        assert_eq!(repo.git(&["config", "--list", "--show-origin"]).matches("gitconfig").count(), 5);
    }

    #[test]
    fn the_socket_fits_the_kernel_s_limit() {
        let sandbox = Sandbox::new();
        assert!(sandbox.tmux_socket().as_os_str().len() <= SOCKET_PATH_LIMIT);
    }

    #[test]
    fn what_it_started_ends_with_it() {
        let sandbox = Sandbox::new();
        let pid = sandbox.spawn(sandbox.command("sleep").arg("600"));
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("a process id");
        assert!(rustix::process::test_kill_process(pid).is_ok());
        drop(sandbox);
        assert!(rustix::process::test_kill_process(pid).is_err());
    }
}
