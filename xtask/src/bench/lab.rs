//! Where measurements happen: a scratch folder with a HOME of its own, and the program that users get.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::process::{cargo, command, output, succeeds};
use crate::tools::target_dir;

/// The scratch folder and the built program. Dropping it removes the folder.
pub(super) struct Lab {
    root: PathBuf,
    dir: PathBuf,
    program: PathBuf,
}

impl Lab {
    /// Builds the program and makes the folder.
    pub(super) fn open(root: &Path) -> Result<Self> {
        if !succeeds(cargo(root).args(["build", "--release", "--package", "loop-cli"]))? {
            bail!("the program could not be built");
        }
        let target = target_dir(root)?;
        let dir = target.join(format!("bench-{}", std::process::id()));
        std::fs::create_dir_all(dir.join("home"))?;
        Ok(Self { root: root.to_owned(), dir, program: target.join("release/loop") })
    }

    /// The repository.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The built program.
    pub(super) fn program(&self) -> &Path {
        &self.program
    }

    /// A command that sees nothing of the user's: not the settings, not the state, not git's configuration.
    pub(super) fn command(&self, program: &Path, dir: &Path) -> Command {
        let mut command = command(&program.to_string_lossy(), dir);
        for variable in ["XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "TMUX"] {
            command.env_remove(variable);
        }
        command.env("HOME", self.dir.join("home")).env("TZ", "UTC");
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        command
    }

    /// The program under test, in `dir`.
    pub(super) fn subject(&self, dir: &Path) -> Command {
        self.command(&self.program, dir)
    }

    /// A new folder.
    pub(super) fn folder(&self, name: &str) -> Result<PathBuf> {
        let dir = self.dir.join(name);
        std::fs::create_dir_all(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
        Ok(dir)
    }

    /// A new repository with one commit and a loop of two agents.
    pub(super) fn repository(&self, name: &str) -> Result<PathBuf> {
        let dir = self.folder(name)?;
        for words in [
            &["init", "--quiet", "--initial-branch", "main"][..],
            &["config", "user.name", "Bench"],
            &["config", "user.email", "bench@example.invalid"],
        ] {
            output(self.git(&dir).args(words))?;
        }
        std::fs::write(dir.join("loop.yaml"), LOOP_YAML)?;
        std::fs::write(dir.join("STATUS.md"), "# Bench\n\n<!-- loop: bench -->\n")?;
        output(self.git(&dir).args(["add", "."]))?;
        output(self.git(&dir).args(["commit", "--quiet", "--message", "start"]))?;
        Ok(dir)
    }

    /// git, in `dir`.
    pub(super) fn git(&self, dir: &Path) -> Command {
        self.command(Path::new("git"), dir)
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// The settings of every measurement's loop.
pub(super) const LOOP_YAML: &str = "\
agents:
  CC: {kind: claude-code}
  Codex: {kind: codex}
rotation: [CC, Codex]
pass: other
";

/// Runs `command` to its end and returns how long that took.
///
/// # Errors
/// Fails when it cannot be started, or does not succeed: the time of an error is no measurement.
pub(super) fn time(command: &mut Command) -> Result<Duration> {
    let start = Instant::now();
    let output = command.output()?;
    let took = start.elapsed();
    if !output.status.success() {
        bail!("{command:?}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(took)
}
