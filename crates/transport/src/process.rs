//! Processes: running one to its end within a deadline, and recognising one again later.

use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use process_wrap::tokio::{CommandWrap, ProcessGroup};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process, test_kill_process_group};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

/// Most bytes of output that are kept.
const OUTPUT_LIMIT: u64 = 4 * 1024 * 1024;

/// How long the output of a program that has ended is still read.
const PIPE_GRACE: Duration = Duration::from_millis(300);

/// How long a group that was told to end may take.
const END_GRACE: Duration = Duration::from_secs(1);

/// What a program that ran to its end left.
pub(crate) struct Ran {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

/// Why there is no [`Ran`].
pub(crate) enum NotRun {
    /// It could not be started.
    Start(io::Error),
    /// It was still running at the deadline and was ended with its whole group.
    TimedOut,
    /// Its end could not be waited for.
    Wait(io::Error),
}

/// Ends a process group when dropped before the process was seen to end.
struct EndGroup(Option<u32>);

impl Drop for EndGroup {
    fn drop(&mut self) {
        if let Some(leader) = self.0 {
            signal_group(leader, Signal::KILL);
        }
    }
}

/// Runs `command` in a process group of its own, with `input` on its stdin, for at most `deadline`.
///
/// The group is killed at the deadline, and also when the caller stops waiting. What it leaves running in the
/// background on purpose stays, and is not waited for.
pub(crate) async fn run(command: Command, input: Option<&[u8]>, deadline: Duration) -> Result<Ran, NotRun> {
    let mut wrap = CommandWrap::from(command);
    let stdin = if input.is_some() { Stdio::piped() } else { Stdio::null() };
    wrap.command_mut().stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
    wrap.wrap(ProcessGroup::leader());
    let mut child = wrap.spawn().map_err(NotRun::Start)?;
    let mut end_group = EndGroup(child.id());
    let stdin = child.stdin().take();
    let (stdout_pipe, stderr_pipe) = (child.stdout().take(), child.stderr().take());
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let feed = async {
        if let (Some(mut pipe), Some(input)) = (stdin, input) {
            // A program that does not read its input has its reasons; its exit status tells.
            let _ = pipe.write_all(input).await;
        }
    };
    let status = {
        let pipes = async {
            tokio::join!(feed, drain(stdout_pipe, &mut stdout), drain(stderr_pipe, &mut stderr));
        };
        tokio::pin!(pipes);
        let all = async {
            tokio::select! {
                status = child.wait() => {
                    // A background process may keep the pipes open for ever.
                    let _ = tokio::time::timeout(PIPE_GRACE, &mut pipes).await;
                    status
                }
                () = &mut pipes => child.wait().await,
            }
        };
        tokio::time::timeout(deadline, all).await.map_err(|_| NotRun::TimedOut)?.map_err(NotRun::Wait)?
    };
    end_group.0 = None;
    Ok(Ran { status, stdout, stderr })
}

async fn drain(pipe: Option<impl AsyncRead + Unpin>, bytes: &mut Vec<u8>) {
    if let Some(pipe) = pipe {
        // What was read before a pipe broke is what there is.
        let _ = pipe.take(OUTPUT_LIMIT).read_to_end(bytes).await;
    }
}

/// Sends a signal to a process group; `false` when there is none.
pub(crate) fn signal_group(leader: u32, signal: Signal) -> bool {
    group(leader).is_some_and(|group| kill_process_group(group, signal).is_ok())
}

/// Whether any process of the group is left.
pub(crate) fn group_lives(leader: u32) -> bool {
    group(leader).is_some_and(|group| test_kill_process_group(group).is_ok())
}

/// Ends a group as a terminal that goes away does, and whoever does not listen by force.
pub(crate) async fn hang_up(leader: u32) {
    signal_group(leader, Signal::HUP);
    end_group(leader).await;
}

/// Ends what is left of the group of a leader that has ended. Its number stays its own as long as anybody is left in
/// its group; a process that has it now is another's, and so is the group.
pub(crate) async fn end_leftovers(leader: u32) {
    if group(leader).is_some_and(|leader| test_kill_process(leader) == Err(Errno::SRCH)) {
        hang_up(leader).await;
    }
}

/// Ends a group that has been told to end by a hang-up, if that was not enough.
pub(crate) async fn end_group(leader: u32) {
    if ended(leader).await {
        return;
    }
    signal_group(leader, Signal::TERM);
    if !ended(leader).await {
        signal_group(leader, Signal::KILL);
    }
}

/// Waits a moment for the end of a group; `false` when it still lives.
async fn ended(leader: u32) -> bool {
    let deadline = tokio::time::Instant::now() + END_GRACE;
    while group_lives(leader) {
        if tokio::time::Instant::now() >= deadline {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    true
}

fn group(leader: u32) -> Option<Pid> {
    // Group 1 and "our own group" (0) are never ours to signal.
    i32::try_from(leader).ok().filter(|leader| *leader > 1).and_then(Pid::from_raw)
}

/// A process that is recognised again although the system gives its number to others later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProcessId {
    pub(crate) pid: u32,
    /// When it started, in the system's own form.
    pub(crate) start_time: String,
}

impl ProcessId {
    /// The process that has this number now.
    pub(crate) async fn of(pid: u32) -> Option<Self> {
        Some(Self { pid, start_time: start_time(pid).await? })
    }

    /// Whether it still runs.
    pub(crate) async fn lives(&self) -> bool {
        start_time(self.pid).await.is_some_and(|now| now == self.start_time)
    }
}

/// When the process with this number started; `None` when it has ended, reaped or not.
async fn start_time(pid: u32) -> Option<String> {
    if Path::new("/proc/self/stat").exists() {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        return linux_start_time(&stat);
    }
    let mut command = Command::new("ps");
    command.args(["-o", "stat=", "-o", "lstart=", "-p", &pid.to_string()]);
    let ran = run(command, None, Duration::from_secs(5)).await.ok()?;
    let line = String::from_utf8_lossy(&ran.stdout).trim().to_owned();
    let (state, since) = line.split_once(char::is_whitespace)?;
    (!state.starts_with('Z')).then(|| since.trim().to_owned())
}

/// Field 22 of `/proc/PID/stat`. The program's name in field 2 may hold blanks and brackets.
fn linux_start_time(stat: &str) -> Option<String> {
    let (_, behind_name) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = behind_name.split_whitespace().collect();
    let state = *fields.first()?;
    (!matches!(state, "Z" | "X")).then_some(())?;
    fields.get(19).map(|field| (*field).to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn command(program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments);
        command
    }

    #[test]
    fn the_start_time_is_field_22() {
        let stat = "42 (a) b) S 1 42 42 0 -1 4 5 6 7 8 9 10 11 12 20 0 1 0 987 22 23";
        assert_eq!(linux_start_time(stat).as_deref(), Some("987"));
        assert_eq!(linux_start_time(&stat.replace(" S ", " Z ")), None);
        assert_eq!(linux_start_time(""), None);
    }

    #[tokio::test]
    async fn a_process_is_recognised_until_it_ends() {
        let mut child = Command::new("sleep").arg("60").kill_on_drop(true).spawn().unwrap();
        let id = ProcessId::of(child.id().unwrap()).await.unwrap();
        assert!(id.lives().await);
        assert!(!ProcessId { start_time: "0".into(), ..id.clone() }.lives().await);
        child.kill().await.unwrap();
        assert!(!id.lives().await);
    }

    #[tokio::test]
    async fn the_deadline_ends_the_whole_group() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script");
        std::fs::write(&script, "sleep 60 & echo $! > pid; wait\n").unwrap();
        let mut slow = command("sh", &["script"]);
        slow.current_dir(folder.path());
        let ran = run(slow, None, Duration::from_millis(500)).await;
        assert!(matches!(ran, Err(NotRun::TimedOut)));
        let inner: u32 = std::fs::read_to_string(folder.path().join("pid")).unwrap().trim().parse().unwrap();
        loop_testkit::eventually_async("the inner process to end", Duration::from_secs(5), || async {
            start_time(inner).await.map_or(Ok(()), |since| Err(format!("running since {since}")))
        })
        .await;
    }

    #[tokio::test]
    async fn input_reaches_the_program() {
        let ran = run(command("cat", &[]), Some(b"hello"), Duration::from_secs(5)).await;
        assert_eq!(ran.ok().unwrap().stdout, b"hello");
    }
}
