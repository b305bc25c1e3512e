//! What `loop notify` does: reads the new commit, rings the router, and says what became of it.
//!
//! A ring is a courtesy: the router sees every commit by itself. What matters here is that it costs a commit
//! milliseconds, ends within half a second whatever hangs, and tells the one who committed what they can still
//! mend. Hence no runtime, no logger, no TLS: a thread for git, which may hang on a slow disk, and a plain socket.

mod lines;
mod read;
pub(crate) mod ring;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use loop_core::Profile;
use loop_core::rendezvous::Ring;

use crate::probe::answer_probe;
use read::Reading;
pub use ring::router_lives;
use ring::{Rung, ring};

/// The most that a commit waits for us.
const WHOLE: Duration = Duration::from_millis(450);

/// What `loop notify` knows.
#[derive(Debug, Clone)]
pub struct NotifyInput {
    /// Where it was called: for a hook, the root of the worktree.
    pub cwd: PathBuf,
    /// `GIT_DIR`, as git gave it to the hook. It is only compared: a commit in another repository than the one
    /// around `cwd` is none of ours.
    pub git_dir: Option<PathBuf>,
    /// `LOOP_PROBE`: the token file of a trial commit.
    pub probe: Option<PathBuf>,
    /// The router's `router.json`.
    pub router_file: PathBuf,
    /// The file with the router's key.
    pub key_file: PathBuf,
    /// Who acts, where the caller says so (`loop notify CC`).
    pub name: Option<String>,
    /// Further kinds of agents, from the user's own settings.
    pub kinds: BTreeMap<String, Profile>,
}

/// Rings the router for HEAD and returns the lines for the one who committed, fit to be shown: none where no loop
/// is concerned.
///
/// Returns within half a second. It never fails: whatever goes wrong is a line, or silence.
pub fn run(input: NotifyInput) -> Vec<String> {
    run_within(input, WHOLE)
}

/// Does what [`run`] does, within another time, of which reading git may take two thirds.
pub fn run_within(input: NotifyInput, whole: Duration) -> Vec<String> {
    if let Some(token) = &input.probe {
        answer_probe(token);
        return Vec::new();
    }
    let start = Instant::now();
    let until = start + whole;
    let NotifyInput { cwd, git_dir, router_file, key_file, name, kinds, .. } = input;
    let (sender, receiver) = mpsc::channel();
    let reader = {
        let cwd = cwd.clone();
        move || {
            // Nobody listens any more when it took too long.
            let _ = sender.send(read::read(&cwd, git_dir.as_deref(), name.as_deref(), &kinds));
        }
    };
    if thread::Builder::new().name("read git".to_owned()).spawn(reader).is_err() {
        return Vec::new();
    }
    match receiver.recv_timeout(whole * 2 / 3) {
        Ok(Reading::NotOurs) => Vec::new(),
        Ok(Reading::Failed(why)) => vec![lines::failed(&why)],
        Ok(Reading::Commit(seen)) => {
            let rung = ring(&router_file, &key_file, &seen.ring(), until);
            lines::compose(&seen, &rung)
        }
        // The router is told at least where to look; it reads without haste.
        Err(_) => {
            let message = Ring { repo: Some(cwd.to_string_lossy().into_owned()), ..Ring::default() };
            match ring(&router_file, &key_file, &message, until) {
                Rung::Answered(_) => vec![lines::slow()],
                _ => Vec::new(),
            }
        }
    }
}
