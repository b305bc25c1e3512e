//! One headless run of the agent's CLI per turn: no terminal needed.
//!
//! The run is a process group of its own that goes on when the router ends; its output goes to files, so that
//! nothing is lost then. Who it is stands in the address: process id and start time, which together never name
//! another process.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use loop_core::{DeliveryState, Name};
use process_wrap::tokio::{CommandWrap, ProcessGroup};
use regex::Regex;
use rustix::process::Signal;
use serde::{Deserialize, Serialize};

use super::{Options, Row};
use crate::neutral;
use crate::process::{ProcessId, group_lives, signal_group};
use crate::search_path;
use crate::transport::{Finished, Presence, Progress, Receipt, Session, Transport, TransportError, Wake};

pub(super) const ROW: Row = Row {
    name: "exec",
    about: "one headless run of the agent's CLI per turn, no terminal needed",
    open: |_: &Options| Arc::new(Exec::default()),
};

/// How long a run may take to end after SIGTERM.
const TERM_GRACE: Duration = Duration::from_secs(5);

/// How long the exit status of a run that has ended is waited for.
const EXIT_IS_WRITTEN: Duration = Duration::from_secs(1);

/// How much of an output's begin and end is searched for the conversation's id.
const SEARCHED: u64 = 1024 * 1024;

/// How much of an output's end is shown.
const TAIL: u64 = 16 * 1024;

#[derive(Default)]
struct Exec {
    /// The newest run of each agent, also when its address was never stored.
    runs: Mutex<HashMap<(String, Name), Run>>,
    /// Deliveries whose run was started here and whose exit status is not written down yet.
    unseen: Arc<Mutex<HashSet<String>>>,
}

/// One run, as it stands in the address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Run {
    #[serde(flatten)]
    process: ProcessId,
    delivery: String,
}

/// A run as it stands beside its output from its first moment on.
#[derive(Debug, Serialize, Deserialize)]
struct Begun {
    agent: Name,
    #[serde(flatten)]
    run: Run,
}

impl Exec {
    fn newest(&self, session: &Session) -> Option<Run> {
        let place = (session.loop_id.clone(), session.agent.clone());
        let known = self.runs.lock().unwrap_or_else(PoisonError::into_inner).get(&place).cloned();
        if known.is_some() {
            return known;
        }
        // After a restart. A router that was killed between the start of a run and writing its address down left a
        // newer one beside the outputs; ids of deliveries grow.
        let stored = serde_json::from_value::<Run>(session.address.clone()).ok();
        let begun = begun_last(&session.outputs, &session.agent);
        let newest =
            stored.into_iter().chain(begun).max_by(|left, right| left.delivery.cmp(&right.delivery))?;
        self.remember(session, newest.clone());
        Some(newest)
    }

    /// The newest run, if it still runs.
    async fn running(&self, session: &Session) -> Option<Run> {
        let run = self.newest(session)?;
        run.process.lives().await.then_some(run)
    }

    /// The exit status of a run that has ended. It is written down a moment after the process is gone.
    async fn exit(&self, files: &Outputs) -> Option<String> {
        let is_coming =
            || self.unseen.lock().unwrap_or_else(PoisonError::into_inner).contains(&files.delivery);
        let deadline = tokio::time::Instant::now() + EXIT_IS_WRITTEN;
        while is_coming() && tokio::time::Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        files.read_exit()
    }

    fn remember(&self, session: &Session, run: Run) {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.insert((session.loop_id.clone(), session.agent.clone()), run);
    }
}

#[async_trait]
impl Transport for Exec {
    async fn probe(&self, session: &Session) -> Result<Presence, TransportError> {
        Ok(if self.running(session).await.is_some() { Presence::Busy } else { Presence::Idle })
    }

    async fn wake(
        &self,
        session: &Session,
        wake: &Wake,
        _progress: &dyn Progress,
    ) -> Result<Receipt, TransportError> {
        if self.running(session).await.is_some() {
            return Err(TransportError::NotNow(Presence::Busy));
        }
        let files = Outputs::of(session, &wake.delivery_id)?;
        let argv = session.headless(&wake.text).ok_or_else(|| {
            TransportError::Failed(format!(
                "nothing says how to run {} without a window: its kind `{}` has no `headless` command; set `command:` \
                 in loop.yaml, or another transport",
                session.agent, session.profile.kind
            ))
        })?;
        let program = argv.first().cloned().unwrap_or_default();
        let mut process = tokio::process::Command::new(&program);
        process
            .args(argv.iter().skip(1))
            .env_clear()
            .envs(&session.env)
            .current_dir(&session.workdir)
            .stdin(Stdio::null())
            .stdout(files.create("out")?)
            .stderr(files.create("err")?);
        let mut wrap = CommandWrap::from(process);
        wrap.wrap(ProcessGroup::leader());
        let mut child = wrap.spawn().map_err(|error| not_started(session, &program, &error))?;
        let pid = child.id().unwrap_or_default();
        // A run that has ended before it could be looked at has no start time any more, and needs none.
        let process =
            ProcessId::of(pid).await.unwrap_or_else(|| ProcessId { pid, start_time: "ended".to_owned() });
        let run = Run { process, delivery: wake.delivery_id.clone() };
        files.write_run(&session.agent, &run);
        self.remember(session, run.clone());
        let unseen = Arc::clone(&self.unseen);
        unseen.lock().unwrap_or_else(PoisonError::into_inner).insert(wake.delivery_id.clone());
        tokio::spawn(async move {
            match child.wait().await {
                Ok(status) => files.write_exit(status),
                Err(error) => tracing::warn!(%error, pid, "the end of a run cannot be seen"),
            }
            unseen.lock().unwrap_or_else(PoisonError::into_inner).remove(&files.delivery);
        });
        Ok(Receipt {
            state: DeliveryState::Started,
            conversation: None,
            note: format!("`{program}` runs as process {pid}"),
            address: serde_json::to_value(&run).ok(),
        })
    }

    async fn interrupt(&self, session: &Session) -> Result<(), TransportError> {
        let Some(run) = self.running(session).await else { return Ok(()) };
        let leader = run.process.pid;
        signal_group(leader, Signal::TERM);
        let gone = async {
            while run.process.lives().await || group_lives(leader) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        if tokio::time::timeout(TERM_GRACE, gone).await.is_err() {
            signal_group(leader, Signal::KILL);
        }
        Ok(())
    }

    async fn capture(&self, session: &Session) -> Result<String, TransportError> {
        let Some(run) = self.newest(session) else { return Ok(String::new()) };
        Ok(Outputs::of(session, &run.delivery)?.tail())
    }

    async fn finished(&self, session: &Session) -> Result<Option<Finished>, TransportError> {
        let Some(run) = self.newest(session) else { return Ok(None) };
        if run.process.lives().await {
            return Ok(None);
        }
        let files = Outputs::of(session, &run.delivery)?;
        let exit = self.exit(&files).await;
        Ok(Some(Finished {
            success: exit.as_deref() == Some("exit 0"),
            exit,
            conversation: session
                .profile
                .conversation
                .as_deref()
                .and_then(|pattern| files.conversation(pattern)),
            tail: files.tail(),
            output: Some(files.telling()),
            delivery_id: run.delivery,
        }))
    }
}

/// Whether the program that `exec` or `command` would run for an agent is missing: in words with the mend, as a wake
/// would say it. `None`: it is there, or nothing names one.
pub fn program_missing(session: &Session) -> Option<String> {
    let program = session.headless("")?.into_iter().next()?;
    missing(session, &program).map(|error| error.to_string())
}

fn missing(session: &Session, program: &str) -> Option<TransportError> {
    let why = match search_path::find(program, &session.env, &session.workdir) {
        None if program.contains('/') => "there is no such file",
        None => "it was not found in the agent's PATH",
        Some(path) if !search_path::is_executable(&path) => "it is not executable",
        Some(_) => return None,
    };
    Some(TransportError::ToolMissing {
        tool: program.to_owned(),
        why: why.to_owned(),
        hint: format!("install it, or set `command:` of {} in loop.yaml", session.agent),
    })
}

/// Says which program could not be started, why, and what to do.
fn not_started(session: &Session, program: &str, error: &io::Error) -> TransportError {
    let what = format!("cannot start `{program}` for {}", session.agent);
    if !session.workdir.is_dir() {
        return TransportError::Failed(format!(
            "{what}: the folder {} is not there",
            session.workdir.display()
        ));
    }
    missing(session, program).unwrap_or_else(|| {
        TransportError::Failed(format!("{what}: {error}; check that the file is executable"))
    })
}

/// The newest run of this agent that left its mark beside the outputs.
fn begun_last(outputs: &Path, agent: &Name) -> Option<Run> {
    let marks = fs::read_dir(outputs).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    let marks = marks.filter(|path| path.extension().is_some_and(|ending| ending == "run"));
    let runs = marks.filter_map(|path| serde_json::from_slice::<Begun>(&fs::read(path).ok()?).ok());
    let its = runs.filter(|begun| begun.agent == *agent).map(|begun| begun.run);
    its.max_by(|left, right| left.delivery.cmp(&right.delivery))
}

/// The files of one run: `ID.out`, `ID.err`, `ID.run` with its process, and `ID.exit` once it has ended.
struct Outputs {
    folder: PathBuf,
    delivery: String,
}

impl Outputs {
    fn of(session: &Session, delivery: &str) -> Result<Self, TransportError> {
        let harmless = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if delivery.is_empty() || !delivery.chars().all(harmless) {
            return Err(TransportError::Failed(format!("{delivery:?} is no delivery's id")));
        }
        Ok(Self { folder: session.outputs.clone(), delivery: delivery.to_owned() })
    }

    fn path(&self, ending: &str) -> PathBuf {
        self.folder.join(format!("{}.{ending}", self.delivery))
    }

    fn create(&self, ending: &str) -> Result<File, TransportError> {
        let path = self.path(ending);
        let folder = fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder);
        folder
            .and_then(|()| OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(&path))
            .map_err(|error| {
                TransportError::Failed(format!(
                    "cannot write the turn's output to {}: {error}",
                    path.display()
                ))
            })
    }

    fn write_run(&self, agent: &Name, run: &Run) {
        let begun = Begun { agent: agent.clone(), run: run.clone() };
        let written = serde_json::to_vec(&begun).map_err(io::Error::from).and_then(|text| {
            let mut options = OpenOptions::new();
            options
                .create(true)
                .write(true)
                .truncate(true)
                .mode(0o600)
                .open(self.path("run"))?
                .write_all(&text)
        });
        if let Err(error) = written {
            tracing::warn!(%error, delivery = self.delivery, "where the run is found cannot be written");
        }
    }

    fn write_exit(&self, status: ExitStatus) {
        let words = match (status.code(), status.signal()) {
            (Some(code), _) => format!("exit {code}"),
            (None, Some(signal)) => format!("signal {signal}"),
            (None, None) => status.to_string(),
        };
        if let Err(error) = fs::write(self.path("exit"), words) {
            tracing::warn!(%error, delivery = self.delivery, "the exit status cannot be written");
        }
    }

    fn read_exit(&self) -> Option<String> {
        fs::read_to_string(self.path("exit")).ok()
    }

    /// The conversation's id: the first group of `pattern` where it matches first.
    fn conversation(&self, pattern: &str) -> Option<String> {
        let pattern = Regex::new(pattern).ok()?;
        ["out", "err"].iter().find_map(|ending| {
            let path = self.path(ending);
            let texts = [read_part(&path, SeekFrom::Start(0), SEARCHED), read_end(&path, SEARCHED)];
            texts.iter().find_map(|text| Some(pattern.captures(text)?.get(1)?.as_str().to_owned()))
        })
    }

    /// The file that says why a run ended as it did: what it printed, or its errors where it printed nothing.
    fn telling(&self) -> PathBuf {
        let said = |path: &Path| fs::metadata(path).is_ok_and(|metadata| metadata.len() > 0);
        let (out, err) = (self.path("out"), self.path("err"));
        if said(&out) || !said(&err) { out } else { err }
    }

    fn tail(&self) -> String {
        neutral(&[read_end(&self.path("out"), TAIL), read_end(&self.path("err"), TAIL)].join("\n"))
    }
}

fn read_end(path: &Path, length: u64) -> String {
    let size = fs::metadata(path).map_or(0, |metadata| metadata.len());
    read_part(path, SeekFrom::Start(size.saturating_sub(length)), length)
}

/// What cannot be read is shown as nothing.
fn read_part(path: &Path, from: SeekFrom, length: u64) -> String {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|mut file| {
        file.seek(from)?;
        file.take(length).read_to_end(&mut bytes)
    });
    if read.is_err() {
        return String::new();
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use loop_testkit::eventually_async;

    use super::*;
    use crate::kinds::testing::session;
    use crate::transport::NoProgress;

    const WAIT: Duration = Duration::from_secs(10);

    fn shell_session(folder: &Path, script: &str) -> Session {
        let mut session = session("exec");
        session.outputs = folder.join("outputs");
        session.command = Some(["sh", "-c", script, "sh", "{text}"].map(str::to_owned).into());
        session
    }

    fn wake() -> Wake {
        Wake { delivery_id: "d-1".into(), attempt: 1, text: "/agent-loop CC".into() }
    }

    async fn end(exec: &Exec, session: &Session) -> Finished {
        eventually_async("the run to end with its exit known", WAIT, || async {
            let finished = exec.finished(session).await.unwrap();
            finished.filter(|finished| finished.exit.is_some()).ok_or_else(|| "still running".to_owned())
        })
        .await
    }

    #[tokio::test]
    async fn a_run_is_busy_until_it_ends_and_its_end_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let gate = folder.path().join("gate");
        let script =
            format!("echo \"id=c-42 $1\"; while ! test -e {}; do sleep 0.02; done; exit 3", gate.display());
        let mut session = shell_session(folder.path(), &script);
        session.profile.conversation = Some("id=([a-z0-9-]+)".into());
        let exec = Exec::default();
        assert_eq!(exec.probe(&session).await, Ok(Presence::Idle));
        let receipt = exec.wake(&session, &wake(), &NoProgress).await.unwrap();
        assert_eq!(receipt.state, DeliveryState::Started);
        session.address = receipt.address.unwrap();
        // Another transport, as after a restart, knows it by its address.
        for exec in [&exec, &Exec::default()] {
            assert_eq!(exec.probe(&session).await, Ok(Presence::Busy));
            let again = exec.wake(&session, &wake(), &NoProgress).await;
            assert_eq!(again, Err(TransportError::NotNow(Presence::Busy)));
        }
        fs::write(&gate, "").unwrap();
        let finished = end(&exec, &session).await;
        assert_eq!(finished.exit.as_deref(), Some("exit 3"));
        assert!(!finished.success);
        assert_eq!(finished.output, Some(session.outputs.join("d-1.out")));
        assert_eq!(finished.conversation.as_deref(), Some("c-42"));
        assert_eq!(finished.tail, "id=c-42 /agent-loop CC");
        assert_eq!(Exec::default().probe(&session).await, Ok(Presence::Idle));
    }

    #[tokio::test]
    async fn a_run_whose_address_was_never_stored_is_found_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let gate = folder.path().join("gate");
        let script = format!("while ! test -e {}; do sleep 0.02; done", gate.display());
        let session = shell_session(folder.path(), &script);
        let first = Exec::default();
        first.wake(&session, &wake(), &NoProgress).await.unwrap();
        // The router was killed here: the session has no address.
        let restarted = Exec::default();
        assert_eq!(restarted.probe(&session).await, Ok(Presence::Busy));
        let again = restarted.wake(&session, &wake(), &NoProgress).await;
        assert_eq!(again, Err(TransportError::NotNow(Presence::Busy)));
        let mut other = session.clone();
        other.agent = Name::new("Codex").unwrap();
        assert_eq!(Exec::default().probe(&other).await, Ok(Presence::Idle), "it is not another agent's");
        fs::write(&gate, "").unwrap();
        end(&first, &session).await;
        let finished = Exec::default().finished(&session).await.unwrap().unwrap();
        assert_eq!(finished.delivery_id, "d-1", "that it ran is known too");
    }

    #[tokio::test]
    async fn outputs_are_for_the_user_only() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let session = shell_session(folder.path(), "true");
        let exec = Exec::default();
        exec.wake(&session, &wake(), &NoProgress).await.unwrap();
        end(&exec, &session).await;
        let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(session.outputs.clone()), 0o700);
        assert_eq!(mode(session.outputs.join("d-1.out")), 0o600);
    }

    #[tokio::test]
    async fn interrupting_ends_the_whole_group() {
        let folder = tempfile::tempdir().unwrap();
        let session = shell_session(folder.path(), "sleep 600 & sleep 600; true");
        let exec = Exec::default();
        exec.wake(&session, &wake(), &NoProgress).await.unwrap();
        let leader = exec.newest(&session).unwrap().process.pid;
        exec.interrupt(&session).await.unwrap();
        assert_eq!(exec.probe(&session).await, Ok(Presence::Idle));
        assert!(!group_lives(leader));
        assert_eq!(end(&exec, &session).await.exit.as_deref(), Some("signal 15"));
        // Nothing runs: nothing to interrupt.
        exec.interrupt(&session).await.unwrap();
    }

    #[tokio::test]
    async fn what_cannot_start_says_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let mut session = shell_session(folder.path(), "true");
        session.command = Some(vec!["no-such-agent".into()]);
        let exec = Exec::default();
        let error = exec.wake(&session, &wake(), &NoProgress).await.unwrap_err();
        assert!(
            matches!(&error, TransportError::ToolMissing { tool, .. } if tool == "no-such-agent"),
            "{error}"
        );
        assert_eq!(program_missing(&session), Some(error.to_string()), "known without a try");
        session.command = Some(vec!["true".into()]);
        assert_eq!(program_missing(&session), None);
        session.workdir = folder.path().join("missing");
        let error = exec.wake(&session, &wake(), &NoProgress).await.unwrap_err();
        assert!(error.to_string().contains("missing is not there"), "{error}");
        session.command = None;
        let error = exec.wake(&session, &wake(), &NoProgress).await.unwrap_err();
        assert!(error.to_string().contains("no `headless` command"), "{error}");
    }
}
