//! Running the `git` program: no terminal, no inherited `GIT_*`, its own process group, a deadline.

use std::ffi::{OsStr, OsString};
use std::io::{ErrorKind, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::env::GitEnv;
use crate::error::GitError;
use crate::words::words;

/// How long git may take to clean up (its lock files) once it was asked to end.
const END_GRACE: Duration = Duration::from_secs(2);

/// How long is read on from git's streams after its end. A background child of a hook may keep them open for ever.
const STREAM_GRACE: Duration = Duration::from_millis(200);

/// The most that is kept of one stream.
const MAX_STREAM: u64 = 256 * 1024 * 1024;

/// The `git` program, in one folder, with one environment.
#[derive(Debug, Clone)]
pub struct Git {
    program: PathBuf,
    dir: PathBuf,
    env: GitEnv,
}

/// What a run of git gave.
#[derive(Debug, Clone)]
pub struct Output {
    /// How it ended.
    pub status: ExitStatus,
    /// What it wrote to standard output.
    pub stdout: Vec<u8>,
    /// What it wrote to standard error.
    pub stderr: Vec<u8>,
}

impl Output {
    /// Whether git exited with 0.
    pub fn ok(&self) -> bool {
        self.status.success()
    }

    /// What git said on both streams, without control characters and at most some KB: fit to be shown.
    pub fn words(&self) -> String {
        let words = words(&self.stderr, &self.stdout);
        match self.status.signal() {
            Some(signal) if words.is_empty() => format!("ended by signal {signal}"),
            _ if words.is_empty() && !self.ok() => format!("exit {}", self.status.code().unwrap_or(-1)),
            _ => words,
        }
    }

    /// The first line of standard output.
    pub fn line(&self) -> String {
        let text = String::from_utf8_lossy(&self.stdout);
        text.lines().next().unwrap_or_default().to_owned()
    }
}

/// What is watched while git runs.
pub(crate) struct Watch<'a> {
    pub(crate) deadline: Duration,
    pub(crate) slow_after: Duration,
    pub(crate) on_slow: &'a mut dyn FnMut(),
}

impl Git {
    /// Prepares `git`, as found on the environment's `PATH`, to run in `dir`.
    pub fn at(dir: &Path, env: &GitEnv) -> Self {
        Self { program: PathBuf::from("git"), dir: dir.to_owned(), env: env.clone() }
    }

    /// Takes another program for git.
    #[must_use]
    pub fn with_program(mut self, program: &Path) -> Self {
        program.clone_into(&mut self.program);
        self
    }

    /// The folder in which git runs.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Runs git and returns what it gave, however it ended.
    ///
    /// # Errors
    /// Fails when git cannot be started, or was ended at the deadline.
    pub fn run<A: AsRef<OsStr>>(&self, args: &[A], deadline: Duration) -> Result<Output, GitError> {
        self.run_watched(args, &[], Watch { deadline, slow_after: deadline, on_slow: &mut || {} })
    }

    /// Runs git and returns what it gave when it exited with 0. `what` is an infinitive for the error: "git refused
    /// to {what}".
    ///
    /// # Errors
    /// Fails as [`Git::run`] does, and when git exits with anything else.
    pub fn succeed<A: AsRef<OsStr>>(
        &self,
        what: &str,
        args: &[A],
        deadline: Duration,
    ) -> Result<Output, GitError> {
        let output = self.run(args, deadline)?;
        if output.ok() {
            return Ok(output);
        }
        Err(GitError::Refused { what: what.to_owned(), words: output.words() })
    }

    /// Returns the name and e-mail address in whose name git would commit here, environment included.
    ///
    /// # Errors
    /// Fails with [`GitError::NoIdentity`] when git knows none.
    pub fn identity(&self) -> Result<(String, String), GitError> {
        let mut identity = None;
        for who in ["GIT_COMMITTER_IDENT", "GIT_AUTHOR_IDENT"] {
            let output = self.run(&["var", who], Duration::from_secs(10))?;
            if !output.ok() {
                return Err(GitError::NoIdentity { words: output.words() });
            }
            identity = split_identity(&output.line());
        }
        identity.ok_or_else(|| GitError::NoIdentity { words: "git's answer cannot be read".to_owned() })
    }

    pub(crate) fn run_watched<A: AsRef<OsStr>>(
        &self,
        args: &[A],
        extra_env: &[(&str, &str)],
        mut watch: Watch<'_>,
    ) -> Result<Output, GitError> {
        let mut command = Command::new(&self.program);
        command
            .args(args)
            .current_dir(&self.dir)
            .env_clear()
            .envs(self.env.pairs())
            .envs(extra_env.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let mut child = command.spawn().map_err(|source| self.cannot_start(source))?;
        let stdout = collect(child.stdout.take());
        let stderr = collect(child.stderr.take());
        let in_time = wait(&child, &mut watch);
        if !in_time {
            end(&child);
        }
        let status = child.wait().map_err(GitError::io("wait for", &self.program))?;
        let until = Instant::now() + STREAM_GRACE;
        let output = Output { status, stdout: received(&stdout, until), stderr: received(&stderr, until) };
        if in_time {
            return Ok(output);
        }
        let what = args.iter().map(AsRef::as_ref).find(|arg| !arg.as_encoded_bytes().starts_with(b"-"));
        let what = what.map_or_else(|| "finish".to_owned(), |arg: &OsStr| arg.to_string_lossy().into_owned());
        let words = words(&output.stderr, &output.stdout);
        Err(GitError::TimedOut { what, after: watch.deadline, words })
    }

    fn cannot_start(&self, source: std::io::Error) -> GitError {
        // A missing folder gives the same error as a missing program.
        if source.kind() == ErrorKind::NotFound && !self.dir.is_dir() {
            return GitError::Io { doing: "enter", path: self.dir.clone(), source };
        }
        GitError::Program { program: self.program.clone(), source }
    }
}

/// Joins arguments of mixed kinds.
pub(crate) fn args(parts: &[&dyn AsRef<OsStr>]) -> Vec<OsString> {
    parts.iter().map(|part| part.as_ref().to_owned()).collect()
}

/// Splits `Name <email> time zone`.
fn split_identity(line: &str) -> Option<(String, String)> {
    let (name, rest) = line.rsplit_once(" <")?;
    let (email, _) = rest.split_once('>')?;
    Some((name.to_owned(), email.to_owned()))
}

/// Reads a stream in a thread of its own, in pieces, so that what came is there even if the stream never ends.
fn collect(stream: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    if let Some(stream) = stream {
        thread::spawn(move || forward(stream.take(MAX_STREAM), &sender));
    }
    receiver
}

fn forward(mut stream: impl Read, sender: &Sender<Vec<u8>>) {
    let mut piece = vec![0; 64 * 1024];
    loop {
        match stream.read(&mut piece) {
            Ok(0) => return,
            Ok(read) if sender.send(piece[..read].to_vec()).is_err() => return,
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

fn received(stream: &Receiver<Vec<u8>>, until: Instant) -> Vec<u8> {
    let mut all = Vec::new();
    loop {
        match stream.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(piece) => all.extend(piece),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return all,
        }
    }
}

/// Waits for the child's end and returns whether it came in time. The child is not reaped, so that its process id
/// still is its own when its group must be ended.
fn wait(child: &Child, watch: &mut Watch<'_>) -> bool {
    let started = Instant::now();
    let ended = watch_end(child);
    if watch.slow_after < watch.deadline {
        match ended.recv_timeout(watch.slow_after) {
            Err(RecvTimeoutError::Timeout) => (watch.on_slow)(),
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return true,
        }
    }
    let left = watch.deadline.saturating_sub(started.elapsed());
    !matches!(ended.recv_timeout(left), Err(RecvTimeoutError::Timeout))
}

fn watch_end(child: &Child) -> Receiver<()> {
    let (sender, receiver) = channel();
    let pid = pid(child);
    thread::spawn(move || {
        while let Some(pid) = pid {
            match waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
                Err(rustix::io::Errno::INTR) => {}
                _ => break,
            }
        }
        // The receiver may have given up.
        let _ = sender.send(());
    });
    receiver
}

/// Ends the child and everything that it started.
fn end(child: &Child) {
    let Some(pid) = pid(child) else { return };
    // Errors mean that the group is gone already, which is what is wanted.
    let _ = kill_process_group(pid, Signal::TERM);
    let _ = watch_end(child).recv_timeout(END_GRACE);
    let _ = kill_process_group(pid, Signal::KILL);
}

fn pid(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::testing::Sandbox;

    const MINUTE: Duration = Duration::from_secs(60);

    /// A program that is run instead of git.
    fn script(sandbox: &Sandbox, text: &str) -> Git {
        let program = sandbox.program("fake-git", text);
        sandbox.git().with_program(&program)
    }

    #[test]
    fn streams_and_status_come_back() {
        let sandbox = Sandbox::empty();
        let git = script(&sandbox, "cat; echo out; echo \"err $1\" >&2; exit 3");
        let output = git.run(&["x y"], MINUTE).unwrap();
        assert_eq!((output.status.code(), output.line().as_str()), (Some(3), "out"));
        assert_eq!(output.words(), "err x y\nout");
    }

    #[test]
    fn a_background_child_does_not_hold_the_run() {
        let sandbox = Sandbox::empty();
        let git = script(&sandbox, "sleep 30 & echo $!");
        let started = Instant::now();
        let output = git.run(&["x"], MINUTE).unwrap();
        assert!(started.elapsed() < Duration::from_secs(10));
        let pid = Pid::from_raw(output.line().parse().unwrap()).unwrap();
        rustix::process::kill_process(pid, Signal::KILL).unwrap();
    }

    #[test]
    fn the_whole_group_ends_at_the_deadline() {
        let sandbox = Sandbox::empty();
        let git = script(&sandbox, "echo before; sleep 600 & echo $! > pid; wait");
        let mut slow = 0;
        let watch = Watch {
            deadline: Duration::from_millis(900),
            slow_after: Duration::from_millis(300),
            on_slow: &mut || slow += 1,
        };
        let error = git.run_watched(&["-c", "x=y", "commit"], &[], watch).unwrap_err();
        assert!(matches!(&error, GitError::TimedOut { words, .. } if words == "before"), "{error}");
        assert_eq!(slow, 1);
        let pid = std::fs::read_to_string(sandbox.path().join("pid")).unwrap();
        let pid = Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
        crate::testing::eventually("the child of the script ends", || is_gone(pid));
    }

    /// Gone, or a zombie that nobody reaps (as in a container whose first process does not).
    fn is_gone(pid: Pid) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
        rustix::process::test_kill_process(pid).is_err() || stat.is_ok_and(|stat| stat.contains(") Z "))
    }

    #[test]
    fn what_is_missing_is_named() {
        let sandbox = Sandbox::empty();
        let missing = sandbox.git().with_program(Path::new("/nowhere/git"));
        assert!(matches!(missing.run(&["x"], MINUTE), Err(GitError::Program { .. })));
        let elsewhere = Git::at(&sandbox.path().join("nowhere"), &sandbox.env());
        assert!(matches!(elsewhere.run(&["x"], MINUTE), Err(GitError::Io { .. })));
    }
}
