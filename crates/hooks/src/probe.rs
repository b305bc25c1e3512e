//! Whether a commit really rings: one is made, out of sight, and the answer is what happened.
//!
//! The trial commit must run exactly what a commit in this worktree runs, and leave nothing. So it is made *in*
//! the worktree, where a relative `core.hooksPath` leads to this worktree's folder, but with a git directory of its
//! own in a temporary folder: a HEAD (detached at the real one), an index, and an object folder that only borrows
//! from the real one. It shares the real configuration through `commondir`, as linked worktrees do. No branch, no
//! object, no list of worktrees ever knows of it, not even after a crash in the middle.
//!
//! `LOOP_PROBE` names a token file. `loop notify` that finds it there writes into it and does nothing else
//! ([`answer_probe`]); our section then ends the hook, so that the user's own part is not run for a trial.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use loop_git::{Git, GitEnv, GitError, Output};

use crate::env::HookEnv;
use crate::error::HookError;
use crate::git;
use crate::ground::Ground;
use crate::write::read;

/// Names the token file of a trial commit.
pub const PROBE_VARIABLE: &str = "LOOP_PROBE";

/// What a token file holds before anything rang.
const WAITING: &str = "loop probe: waiting\n";
/// What it holds afterwards.
const RANG: &str = "loop probe: rang\n";
/// How long the trial commit may take: managers of hooks can be slow to start.
const DEADLINE: Duration = Duration::from_secs(60);

/// How a trial commit ended.
pub(crate) enum Trial {
    /// It rang.
    Rang(Duration),
    /// It was made, and nothing rang; what git and the hooks said.
    Silent(String),
    /// It could not be made.
    Failed(String),
}

/// Answers a trial commit: writes into the token file that `token` names. Returns whether it was one.
///
/// Only a file that waits for it is written to, so that a stray variable does no harm.
pub fn answer_probe(token: &Path) -> bool {
    let waits = fs::read(token).is_ok_and(|bytes| bytes == WAITING.as_bytes());
    waits && fs::write(token, RANG).is_ok()
}

/// Makes a trial commit in the worktree.
pub(crate) fn probe(ground: &Ground, env: &HookEnv) -> Result<Trial, HookError> {
    let scratch = tempfile::Builder::new().prefix("loop-probe-").tempdir_in(&env.temp);
    let scratch = scratch.map_err(HookError::io("make a folder in", &env.temp))?;
    let token = scratch.path().join("token");
    let started = Instant::now();
    let committed = match commit(ground, env, scratch.path(), &token) {
        Ok(committed) => committed,
        Err(HookError::Git(error @ (GitError::TimedOut { .. } | GitError::Refused { .. }))) => {
            return Ok(Trial::Failed(error.to_string()));
        }
        Err(error) => return Err(error),
    };
    let took = started.elapsed();
    // Also when the commit failed: a ring is a ring.
    if read(&token)?.as_deref() == Some(RANG.as_bytes()) {
        return Ok(Trial::Rang(took));
    }
    let words = committed.words();
    Ok(if committed.ok() { Trial::Silent(words) } else { Trial::Failed(words) })
}

fn commit(ground: &Ground, env: &HookEnv, scratch: &Path, token: &Path) -> Result<Output, HookError> {
    let write = |name: &str, text: &[u8]| {
        let path = scratch.join(name);
        fs::write(&path, text).map_err(HookError::io("write", path))
    };
    let git_dir = scratch.join("git");
    for folder in ["git", "git/refs", "git/objects"] {
        let path = scratch.join(folder);
        fs::create_dir(&path).map_err(HookError::io("make", path))?;
    }
    let head = git::ask(&ground.root, env, &["rev-parse", "--quiet", "--verify", "HEAD^{commit}"])?;
    // On a branch without commits there is nothing to detach at: a ref that only this git directory has.
    let head_line = if head.ok() { head.stdout.clone() } else { b"ref: refs/worktree/loop-probe\n".to_vec() };
    write("git/HEAD", &head_line)?;
    let common = [ground.common_dir.as_os_str().as_encoded_bytes(), b"\n"].concat();
    write("git/commondir", &common)?;
    if let Some(config) = read(&ground.git_dir.join("config.worktree"))? {
        write("git/config.worktree", &config)?;
    }
    write("token", WAITING.as_bytes())?;

    let trial_env = in_scratch(ground, env, &git_dir, token);
    let trial = Git::at(&ground.root, &trial_env);
    if head.ok() {
        // Without the files of HEAD the trial commit would look like one that deletes everything.
        trial.succeed("read HEAD into an index", &["read-tree", "HEAD"], DEADLINE)?;
    }
    let settings = [
        "user.name=loop",
        "user.email=loop@localhost",
        "gc.auto=0",
        "maintenance.auto=false",
        "core.fsmonitor=false",
        "core.untrackedCache=false",
    ];
    let mut args: Vec<OsString> = Vec::new();
    for setting in settings {
        args.extend(["-c".into(), setting.into()]);
    }
    if let Some(hooks_path) = &ground.hooks_path {
        // As git in this worktree reads it: `includeIf "gitdir:…"` does not see the scratch folder.
        args.extend(["-c".into(), format!("core.hooksPath={}", hooks_path.value).into()]);
    }
    let rest = ["commit", "--quiet", "--allow-empty", "--no-verify", "--no-gpg-sign", "--no-status"];
    args.extend(rest.map(OsString::from));
    args.extend(["-m", "loop: probe"].map(OsString::from));
    Ok(trial.run(&args, DEADLINE)?)
}

fn in_scratch(ground: &Ground, env: &HookEnv, git_dir: &Path, token: &Path) -> GitEnv {
    let alternates: PathBuf = ground.common_dir.join("objects");
    env.for_git()
        .with("GIT_DIR", git_dir)
        .with("GIT_WORK_TREE", &ground.root)
        .with("GIT_OBJECT_DIRECTORY", git_dir.join("objects"))
        .with("GIT_ALTERNATE_OBJECT_DIRECTORIES", quoted_alternate(&alternates))
        .with(PROBE_VARIABLE, token)
}

/// The variable is a list; a path with its separator in it must stand in quotes.
fn quoted_alternate(path: &Path) -> OsString {
    let bytes = path.as_os_str().as_encoded_bytes();
    if !bytes.contains(&b':') && !bytes.starts_with(b"\"") {
        return path.as_os_str().to_owned();
    }
    let mut quoted = vec![b'"'];
    for byte in bytes {
        if matches!(byte, b'"' | b'\\') {
            quoted.push(b'\\');
        }
        quoted.push(*byte);
    }
    quoted.push(b'"');
    OsString::from_vec(quoted)
}
