//! Whether an agent can commit: a trial commit with its own environment, in its own sandbox, signing included.
//!
//! The commit is made with a git directory of its own in loop's folder under the real one, so that it writes where
//! the agent's commits write: a sandbox that closes the repository's git folder refuses it. It shares the
//! repository's configuration; no branch, no object and no list of worktrees ever knows of it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use loop_core::Config;
use loop_core::config::{Agent, Fill, Permissions};
use loop_git::{Git, GitEnv, GitError, Place, Repo};

/// How long the trial may take, with the start of a sandbox and a signature.
const DEADLINE: Duration = Duration::from_secs(20);

/// How long another git's lock is waited for.
const LOCKED: Duration = Duration::from_secs(2);

/// What was proved, or why a commit cannot be made.
pub(crate) type Proof = Result<String, Refused>;

/// Why a commit cannot be made, and what to do.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) says: String,
    pub(crate) next: String,
}

impl Refused {
    fn new(says: impl Into<String>, next: impl Into<String>) -> Self {
        Self { says: says.into(), next: next.into() }
    }
}

/// Proves for each agent, side by side, that it can commit in this repository; in their order.
pub(crate) async fn prove(
    repo: &Repo,
    config: &Config,
    agents: Vec<(&Agent, BTreeMap<String, String>)>,
) -> Vec<Proof> {
    let trials = agents.into_iter().map(|(agent, env)| {
        let trial = Trial::new(repo, config, agent, &env);
        tokio::task::spawn_blocking(move || trial.prove())
    });
    let running: Vec<_> = trials.collect();
    let mut proofs = Vec::new();
    for proof in running {
        let broke =
            |error| Err(Refused::new(format!("no trial commit: {error}"), "`loop doctor` tries it again"));
        proofs.push(proof.await.unwrap_or_else(broke));
    }
    proofs
}

/// One agent's trial.
struct Trial {
    place: Place,
    env: GitEnv,
    name: String,
    permissions: Permissions,
    /// Its sandbox: a program with its arguments, in front of the command.
    sandbox: Option<(PathBuf, Vec<String>)>,
}

impl Trial {
    fn new(repo: &Repo, config: &Config, agent: &Agent, env: &BTreeMap<String, String>) -> Self {
        let place = repo.place().clone();
        let sandbox = sandbox(&place, config, agent, env);
        let mut git_env = GitEnv::from_vars(env.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        if !env.contains_key("SSH_ASKPASS") {
            // A passphrase that is asked for is one that nobody types: no terminal, no window.
            git_env = git_env.with("SSH_ASKPASS_REQUIRE", "force").with("SSH_ASKPASS", "false");
        }
        Self { place, env: git_env, name: agent.name.to_string(), permissions: agent.permissions, sandbox }
    }

    fn prove(&self) -> Proof {
        writable(&self.place)?;
        unlocked(&self.place)?;
        let real = Git::at(&self.place.worktree, &self.env);
        self.prove_in(&real).map(|said| match unproved_hooks(&real) {
            Some(hooks) => format!("{said}, {hooks} aside"),
            None => said,
        })
    }

    fn prove_in(&self, real: &Git) -> Proof {
        let signs = real
            .run(&["config", "--type=bool", "--get", "commit.gpgSign"], DEADLINE)
            .is_ok_and(|output| output.line() == "true");
        let settings = identity_and_signing(real)?;
        let signed = if signs { ", signed" } else { "" };
        let Some(sandbox) = &self.sandbox else {
            self.commit(&settings, None).map_err(|words| refused(&words, signs))?;
            return Ok(format!("a trial commit was made{signed}"));
        };
        let Err(words) = self.commit(&settings, Some(sandbox)) else {
            return Ok(format!("a trial commit was made in its sandbox{signed}"));
        };
        // What fails without the sandbox too has another cause.
        self.commit(&settings, None).map_err(|words| refused(&words, signs))?;
        Err(self.closed(&words, signs))
    }

    /// Makes the trial commit, or says what was said.
    fn commit(&self, settings: &[String], sandbox: Option<&(PathBuf, Vec<String>)>) -> Result<(), String> {
        let broken = |error: std::io::Error| format!("no trial commit: {error}");
        let folder = self.place.loop_dir();
        fs::create_dir_all(&folder).map_err(broken)?;
        let scratch = tempfile::Builder::new().prefix("trial-").tempdir_in(&folder).map_err(broken)?;
        let git_dir = scratch.path();
        for name in ["refs", "objects"] {
            fs::create_dir(git_dir.join(name)).map_err(broken)?;
        }
        let common = self.place.common_dir.as_os_str().as_encoded_bytes();
        // A reference that only this git directory has: a first commit on it, beside everything.
        fs::write(git_dir.join("HEAD"), "ref: refs/worktree/loop-trial\n").map_err(broken)?;
        fs::write(git_dir.join("commondir"), [common, b"\n"].concat()).map_err(broken)?;
        let own = self.place.git_dir.join("config.worktree");
        if own.exists() {
            fs::copy(own, git_dir.join("config.worktree")).map_err(broken)?;
        }
        let env = self
            .env
            .clone()
            .with("GIT_DIR", git_dir)
            .with("GIT_WORK_TREE", &self.place.worktree)
            .with("GIT_OBJECT_DIRECTORY", git_dir.join("objects"));
        let own = ["core.hooksPath=/dev/null", "gc.auto=0", "maintenance.auto=false", "core.fsmonitor=false"];
        let mut args: Vec<String> = Vec::new();
        let mut git = Git::at(&self.place.worktree, &env);
        if let Some((program, arguments)) = sandbox {
            git = git.with_program(program);
            args.extend(arguments.iter().cloned());
            args.push("git".to_owned());
        }
        for setting in own.into_iter().chain(settings.iter().map(String::as_str)) {
            args.extend(["-c".to_owned(), setting.to_owned()]);
        }
        let commit = [
            "commit",
            "--quiet",
            "--allow-empty",
            "--no-verify",
            "--no-status",
            "-m",
            "loop: a trial commit",
        ];
        args.extend(commit.map(str::to_owned));
        match git.run(&args, DEADLINE) {
            Ok(output) if output.ok() => Ok(()),
            Ok(output) => {
                let words = output.words();
                // Behind the asterisks git explains how to set a name, which the way out says too.
                let lines = words.lines().map(str::trim).take_while(|line| !line.starts_with("***"));
                let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
                Err(format!("a trial commit was refused: {}", lines.join(" / ")))
            }
            Err(GitError::TimedOut { .. }) => {
                let seconds = DEADLINE.as_secs();
                Err(format!(
                    "a trial commit did not end within {seconds} s: it waits for a prompt that nobody sees"
                ))
            }
            Err(error) => Err(error.to_string()),
        }
    }

    /// Only the sandbox stands in the way.
    fn closed(&self, words: &str, signs: bool) -> Refused {
        let says = format!("in its sandbox {words}");
        let shut = ["Read-only file system", "Permission denied", "Operation not permitted"];
        let here = [&self.place.git_dir, &self.place.common_dir];
        let here = here.iter().any(|folder| words.contains(&*folder.to_string_lossy()));
        if signs && !(here && shut.iter().any(|shut| words.contains(shut))) {
            return Refused::new(
                says,
                format!(
                    "start the key's agent (gpg-agent, ssh-agent) before `loop up` and name its socket under `env:` of \
                     {}, or sign nothing in this repository: git config commit.gpgSign false",
                    self.name
                ),
            );
        }
        let next = match self.permissions {
            Permissions::Edits => format!(
                "open {} to its sandbox in the settings of its CLI, or set `permissions: all` for {} in loop.yaml, \
                 which switches the sandbox off",
                self.place.common_dir.display(),
                self.name
            ),
            _ => format!("set `permissions: edits` for {} in loop.yaml", self.name),
        };
        Refused::new(says, next)
    }
}

/// The agent's sandbox, where it has one that is known and can be started.
///
/// With `all` there is none; with `ask` a person allows a commit, and what a person allows runs outside of it. What a
/// `command:` of the user's runs in is not known.
fn sandbox(
    place: &Place,
    config: &Config,
    agent: &Agent,
    env: &BTreeMap<String, String>,
) -> Option<(PathBuf, Vec<String>)> {
    if agent.command.is_some() || agent.permissions != Permissions::Edits {
        return None;
    }
    let flags = agent.profile.flags(agent.permissions);
    let words = agent.profile.sandbox.iter();
    let template: Vec<String> =
        words.flat_map(|word| if word == "{flags}" { flags.to_vec() } else { vec![word.clone()] }).collect();
    let (repo, git_dir) = (place.worktree.to_string_lossy(), place.common_dir.to_string_lossy());
    let verify = config.verify.as_ref().map(|words| words.join(" "));
    let fill = Fill {
        name: agent.name.as_str(),
        text: "",
        repo: &repo,
        session: "",
        git_dir: Some(&git_dir),
        verify: verify.as_deref(),
    };
    let argv = fill.command(&template);
    let (program, arguments) = argv.split_first()?;
    // A program that is missing is told of elsewhere.
    let path = env.get("PATH").cloned().unwrap_or_default();
    let program = which::which_in(program, Some(path), &place.worktree).ok()?;
    Some((program, arguments.to_vec()))
}

/// What says in whose name is committed, and how a commit is signed, as `key=value`: as git in the real worktree reads
/// it, since `includeIf "gitdir:…"` may see another folder in the trial.
fn identity_and_signing(git: &Git) -> Result<Vec<String>, Refused> {
    let wanted = r"^(user|author|committer|commit|gpg)\.";
    let output = git
        .run(&["config", "--null", "--get-regexp", wanted], DEADLINE)
        .map_err(|error| refused(&error.to_string(), false))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    // Without a value a key stands alone, which `-c` reads in the same way.
    Ok(text.split('\0').filter(|entry| !entry.is_empty()).map(|entry| entry.replacen('\n', "=", 1)).collect())
}

fn refused(words: &str, signs: bool) -> Refused {
    let next = if signs {
        "name a key that is there and needs no prompt (git config user.signingKey KEY), give the agent what signing needs \
         under `env:` in loop.yaml (SSH_AUTH_SOCK, GNUPGHOME, …), or sign nothing here: git config commit.gpgSign false"
    } else {
        "the same must work in a plain terminal: git config --global user.name NAME, and user.email"
    };
    Refused::new(words, next)
}

/// Whether new objects and branches can be written at all; nothing of it stays.
fn writable(place: &Place) -> Result<(), Refused> {
    for folder in
        [&place.git_dir, &place.common_dir.join("objects"), &place.common_dir.join("refs").join("heads")]
    {
        try_file(folder).map_err(|error| {
            let says = format!("{} cannot be written to: {error}", folder.display());
            Refused::new(says, "make the repository yours: `chown`, or a file system that is not read-only")
        })?;
    }
    Ok(())
}

/// Whether no git holds what every commit needs. A commit of somebody's is over soon; what a git that was killed left
/// behind stays.
fn unlocked(place: &Place) -> Result<(), Refused> {
    let locks = ["index.lock", "HEAD.lock"].map(|name| place.git_dir.join(name));
    let deadline = Instant::now() + LOCKED;
    while let Some(lock) = locks.iter().find(|lock| lock.exists()) {
        if Instant::now() >= deadline {
            let lock = lock.display();
            return Err(Refused::new(
                format!("another git process holds {lock}"),
                format!("wait for it; if no git runs any more, delete {lock}"),
            ));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// The hooks that may still refuse a commit, in words. They are not run for a trial: they check what is committed, and
/// may take minutes.
fn unproved_hooks(git: &Git) -> Option<String> {
    let folder = git.run(&["rev-parse", "--path-format=absolute", "--git-path", "hooks"], DEADLINE).ok()?;
    let folder = PathBuf::from(folder.line());
    let runs = |name: &&str| {
        let mode = fs::metadata(folder.join(name)).map(|file| file.permissions().mode());
        mode.is_ok_and(|mode| mode & 0o111 != 0)
    };
    let found: Vec<&str> =
        ["pre-commit", "prepare-commit-msg", "commit-msg"].into_iter().filter(runs).collect();
    (!found.is_empty()).then(|| format!("your {}", found.join(", ")))
}

fn try_file(folder: &Path) -> std::io::Result<()> {
    tempfile::Builder::new().prefix("loop-trial-").suffix(".lock").tempfile_in(folder).map(drop)
}

#[cfg(test)]
mod tests;
