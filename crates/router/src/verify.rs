//! Running the `verify` command: in a clean checkout of the passed commit, with a clean environment.

use std::collections::HashSet;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use loop_core::decide::Verify;
use loop_git::Git;
use loop_store::LoopRow;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::desk::Desk;
use crate::reading::Observed;

/// How many bytes of output are shown when the command fails.
const TAIL: usize = 2_000;

/// One run of the command, to be made.
pub(crate) struct Job {
    row: LoopRow,
    commit: String,
    command: Vec<String>,
}

impl Desk {
    /// Asks for a run on the newest turn's commit.
    pub(crate) fn start_verify(&self, row: &LoopRow, observed: &Observed) {
        let Some(command) = observed.config.verify.clone() else { return };
        let commit =
            observed.commit_of(observed.status.turns.len()).unwrap_or_else(|| observed.tip.to_string());
        // The other end is gone only while the router stops; the next one asks again.
        let _ = self.verify_jobs.send(Job { row: row.clone(), commit, command });
    }

    /// Runs what is asked for, each commit once at a time, until the router stops; runs are cut off then.
    pub(crate) async fn verifier(self: Arc<Self>, mut jobs: mpsc::UnboundedReceiver<Job>) {
        let mut running: HashSet<String> = HashSet::new();
        let mut runs = JoinSet::new();
        loop {
            tokio::select! {
                () = self.stop.cancelled() => break,
                Some(ended) = runs.join_next() => {
                    if let Ok((id, loop_id)) = ended {
                        running.remove(&id);
                        let loop_id: String = loop_id;
                        self.ring(&loop_id, "verify");
                    }
                }
                job = jobs.recv() => {
                    let Some(job) = job else { break };
                    let id = format!("{}/{}", job.row.id, job.commit);
                    if running.insert(id.clone()) {
                        let desk = Arc::clone(&self);
                        runs.spawn(async move {
                            desk.verify(&job.row, &job.commit, &job.command).await;
                            (id, job.row.id)
                        });
                    }
                }
            }
        }
        while runs.join_next().await.is_some() {}
    }

    async fn verify(&self, row: &LoopRow, commit: &str, command: &[String]) {
        let short = &commit[..7.min(commit.len())];
        let scratch = self.options.state_dir.join("verify").join(format!("{}-{short}", row.id));
        let outputs = self.options.state_dir.join("outputs").join(&row.id);
        let output = outputs.join(format!("verify-{short}.out"));
        let result = match self.checkout(row, commit, &scratch).await {
            Ok(()) => match private_folder(&outputs) {
                Ok(()) => {
                    let run = run(command, &scratch, &output, self.verify_env(), self.options.verify_limit);
                    tokio::select! {
                        result = run => Some(result),
                        () = self.stop.cancelled() => None,
                    }
                }
                Err(error) => Some(Verify::Failed(format!("cannot write to {}: {error}", outputs.display()))),
            },
            Err(why) => Some(Verify::Failed(format!("no clean checkout of {commit}: {why}"))),
        };
        self.remove_checkout(row, &scratch).await;
        // Cut off by the end of the router: the next one runs it again.
        let Some(result) = result else { return };
        let text = to_event(commit, &result);
        if let Err(error) = self.say(Some(&row.id), "verify", &text).await {
            tracing::error!(%error, "the result of verify cannot be recorded");
        }
    }

    fn verify_env(&self) -> Vec<(String, String)> {
        let wanted = [
            "PATH",
            "HOME",
            "USER",
            "LOGNAME",
            "LANG",
            "LC_ALL",
            "TMPDIR",
            "TZ",
            "CARGO_HOME",
            "RUSTUP_HOME",
        ];
        wanted
            .iter()
            .filter_map(|name| {
                self.options.agent_env.get(*name).map(|value| ((*name).to_owned(), value.clone()))
            })
            .collect()
    }

    async fn checkout(&self, row: &LoopRow, commit: &str, scratch: &Path) -> Result<(), String> {
        self.remove_checkout(row, scratch).await;
        let git = Git::at(&row.worktree, &self.options.git_env);
        let (scratch, commit) = (scratch.to_owned(), commit.to_owned());
        let added = tokio::task::spawn_blocking(move || {
            if let Some(parent) = scratch.parent() {
                std::fs::create_dir_all(parent).map_err(|error| error.to_string())?;
            }
            loop_git::worktree_add_detached(&git, &scratch, &commit).map_err(|error| error.to_string())
        });
        added.await.map_err(|error| error.to_string())?
    }

    async fn remove_checkout(&self, row: &LoopRow, scratch: &Path) {
        let git = Git::at(&row.worktree, &self.options.git_env);
        let scratch = scratch.to_owned();
        let removed = tokio::task::spawn_blocking(move || {
            if scratch.exists() {
                loop_git::worktree_remove(&git, &scratch).map_err(|e| e.to_string())
            } else {
                Ok(())
            }
        })
        .await;
        if let Ok(Err(error)) = removed {
            tracing::warn!(error, "a scratch worktree cannot be removed");
        }
    }
}

async fn run(
    command: &[String],
    folder: &Path,
    output: &PathBuf,
    env: Vec<(String, String)>,
    limit: Duration,
) -> Verify {
    let Some((program, arguments)) = command.split_first() else {
        return Verify::Failed("verify names no program".to_owned());
    };
    let (file, second) =
        match std::fs::File::create(output).and_then(|file| file.try_clone().map(|second| (file, second))) {
            Ok(files) => files,
            Err(error) => return Verify::Failed(format!("cannot write {}: {error}", output.display())),
        };
    let mut process = std::process::Command::new(program);
    process
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .envs(env)
        .stdin(Stdio::null())
        .stdout(Stdio::from(file))
        .stderr(Stdio::from(second))
        .process_group(0);
    let mut child = match tokio::process::Command::from(process).spawn() {
        Ok(child) => child,
        Err(error) => return Verify::Failed(format!("cannot start {program}: {error}")),
    };
    // However this ends, also when it is dropped: what the command started must not go on behind it.
    let group = Group(child.id());
    let ended = tokio::time::timeout(limit, child.wait()).await;
    drop(group);
    match ended {
        Ok(Ok(status)) if status.success() => Verify::Passed,
        Ok(Ok(status)) => Verify::Failed(format!("{status}: {}", tail(output))),
        Ok(Err(error)) => Verify::Failed(format!("lost sight of {program}: {error}")),
        Err(_) => Verify::Failed(format!("took over {} and was killed: {}", in_words(limit), tail(output))),
    }
}

/// A process group that ends with it.
struct Group(Option<u32>);

impl Drop for Group {
    fn drop(&mut self) {
        let leader = self.0.and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        if let Some(leader) = leader {
            // Gone already, as it should be.
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}

fn private_folder(folder: &Path) -> std::io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn in_words(time: Duration) -> String {
    if time.as_secs() >= 120 {
        format!("{} min", time.as_secs() / 60)
    } else {
        format!("{} s", time.as_secs_f32())
    }
}

fn tail(output: &Path) -> String {
    let bytes = std::fs::read(output).unwrap_or_default();
    let start = bytes.len().saturating_sub(TAIL);
    String::from_utf8_lossy(&bytes[start..]).trim().to_owned()
}

fn to_event(commit: &str, result: &Verify) -> String {
    let (passed, text) = match result {
        Verify::Passed => (true, String::new()),
        Verify::Failed(text) => (false, text.clone()),
        Verify::Running => (false, "still running".to_owned()),
    };
    serde_json::json!({"commit": commit, "passed": passed, "text": text}).to_string()
}

/// Reads a result back from a loop's log.
pub(crate) fn from_event(text: &str) -> Option<(String, Verify)> {
    let event: serde_json::Value = serde_json::from_str(text).ok()?;
    let commit = event.get("commit")?.as_str()?.to_owned();
    let passed = event.get("passed")?.as_bool()?;
    let text = event.get("text")?.as_str()?.to_owned();
    Some((commit, if passed { Verify::Passed } else { Verify::Failed(text) }))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    async fn run_here(command: &[&str], limit: Duration) -> Verify {
        let folder = tempfile::tempdir().unwrap();
        let words: Vec<String> = command.iter().map(ToString::to_string).collect();
        run(&words, folder.path(), &folder.path().join("out"), Vec::new(), limit).await
    }

    #[tokio::test]
    async fn the_exit_decides_and_the_last_words_are_kept() {
        assert_eq!(run_here(&["/bin/true"], Duration::from_secs(20)).await, Verify::Passed);
        let failed =
            run_here(&["/bin/sh", "-c", "echo 2 tests failed; exit 4"], Duration::from_secs(20)).await;
        let Verify::Failed(words) = failed else { panic!("{failed:?}") };
        assert!(words.contains('4') && words.contains("2 tests failed"), "{words}");
        assert!(matches!(run_here(&["/no/such"], Duration::from_secs(20)).await, Verify::Failed(_)));
    }

    #[tokio::test]
    async fn what_takes_too_long_is_killed_with_its_children() {
        let slow = run_here(&["/bin/sh", "-c", "sleep 1000 & wait"], Duration::from_millis(200)).await;
        assert!(matches!(slow, Verify::Failed(words) if words.contains("killed")));
    }

    #[test]
    fn results_read_back() {
        for result in [Verify::Passed, Verify::Failed("no".into())] {
            assert_eq!(from_event(&to_event("abc", &result)), Some(("abc".into(), result)));
        }
    }
}
