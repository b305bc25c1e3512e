//! Whether an agent could commit: a trial commit with its own environment, signing included.
//!
//! It is made with a git directory of its own in a temporary folder, which shares the repository's configuration and
//! borrows its objects: no branch, no object and no list of worktrees ever knows of it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use loop_git::{Git, GitEnv, GitError, Repo};

const DEADLINE: Duration = Duration::from_secs(20);

/// What was proved; or why a commit cannot be made, and what to do.
pub(super) type Trial = Result<String, (String, String)>;

/// Makes the trial commit.
pub(super) fn trial(repo: &Repo, env: &BTreeMap<String, String>) -> Trial {
    let env = GitEnv::from_vars(env.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    writable(repo)?;
    let broken = |error: std::io::Error| {
        (format!("no trial commit: {error}"), "make room for temporary files".to_owned())
    };
    let scratch = tempfile::Builder::new().prefix("loop-doctor-").tempdir().map_err(broken)?;
    let git_dir = scratch.path().join("git");
    let work = scratch.path().join("work");
    for folder in [&git_dir, &git_dir.join("refs"), &git_dir.join("objects"), &work] {
        fs::create_dir(folder).map_err(broken)?;
    }
    let common = &repo.place().common_dir;
    // A reference that only this git directory has: a first commit on it, beside everything.
    fs::write(git_dir.join("HEAD"), "ref: refs/worktree/loop-doctor\n").map_err(broken)?;
    fs::write(git_dir.join("commondir"), [common.as_os_str().as_encoded_bytes(), b"\n"].concat())
        .map_err(broken)?;
    let own = repo.place().git_dir.join("config.worktree");
    if own.exists() {
        fs::copy(own, git_dir.join("config.worktree")).map_err(broken)?;
    }
    // As git in the real worktree reads it: `includeIf "gitdir:…"` does not see the scratch folder.
    let real = repo.git(&env);
    let settings = identity_and_signing(&real)?;
    let signs = real
        .run(&["config", "--type=bool", "--get", "commit.gpgSign"], DEADLINE)
        .is_ok_and(|output| output.line() == "true");
    let env = env
        .with("GIT_DIR", &git_dir)
        .with("GIT_WORK_TREE", &work)
        .with("GIT_OBJECT_DIRECTORY", git_dir.join("objects"));
    let git = Git::at(&work, &env);
    let own = ["core.hooksPath=/dev/null", "gc.auto=0", "maintenance.auto=false", "core.fsmonitor=false"];
    let own = own.map(str::to_owned);
    let mut args: Vec<String> =
        own.into_iter().chain(settings).flat_map(|setting| ["-c".to_owned(), setting]).collect();
    let commit = ["commit", "--quiet", "--allow-empty", "--no-verify", "-m", "loop: doctor"];
    args.extend(commit.map(str::to_owned));
    let signed = if signs { ", signed" } else { "" };
    match git.run(&args, DEADLINE) {
        Ok(output) if output.ok() => Ok(format!("a trial commit was made{signed}")),
        Ok(output) => Err((format!("a trial commit was refused: {}", output.words()), mend(signs))),
        Err(GitError::TimedOut { .. }) => {
            let why = if signs { ": signing waits for a prompt that nobody sees" } else { "" };
            Err((format!("a trial commit did not end within {} s{why}", DEADLINE.as_secs()), mend(signs)))
        }
        Err(error) => Err((error.to_string(), mend(signs))),
    }
}

/// What says in whose name is committed, and how a commit is signed, as `key=value`.
fn identity_and_signing(git: &Git) -> Result<Vec<String>, (String, String)> {
    let wanted = r"^(user|author|committer|commit|gpg)\.";
    let output = git
        .run(&["config", "--null", "--get-regexp", wanted], DEADLINE)
        .map_err(|error| (error.to_string(), mend(false)))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    // Without a value a key stands alone, which `-c` reads in the same way.
    Ok(text.split('\0').filter(|entry| !entry.is_empty()).map(|entry| entry.replacen('\n', "=", 1)).collect())
}

fn mend(signs: bool) -> String {
    if signs {
        "give the agent what signing needs under `env:` in loop.yaml (SSH_AUTH_SOCK, GNUPGHOME, …), or a key without a \
         prompt"
    } else {
        "the same must work in a plain terminal: git config --global user.name NAME, and user.email"
    }
    .to_owned()
}

/// Whether new objects and branches can be written at all; nothing of it stays.
fn writable(repo: &Repo) -> Result<(), (String, String)> {
    let place = repo.place();
    for folder in
        [&place.git_dir, &place.common_dir.join("objects"), &place.common_dir.join("refs").join("heads")]
    {
        try_file(folder).map_err(|error| {
            let says = format!("{} cannot be written to: {error}", folder.display());
            (says, "make the repository yours: `chown`, or a file system that is not read-only".to_owned())
        })?;
    }
    Ok(())
}

fn try_file(folder: &Path) -> std::io::Result<()> {
    tempfile::Builder::new().prefix("loop-doctor-").suffix(".lock").tempfile_in(folder).map(drop)
}
