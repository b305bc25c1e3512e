//! Running programs: in the open, with their output passed on as it comes.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

/// How long what a program started may hold its output after it has ended.
const STRAGGLERS: Duration = Duration::from_secs(5);

/// How a watched program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// By itself, with success or not.
    Exited(bool),
    /// It was still running after its time and was killed.
    TimedOut,
    /// It exited, with success or not, but something that it started keeps its output open.
    LeftRunning(bool),
}

/// Returns a command for `program` in `dir` that does not inherit what `cargo run` set for this program.
///
/// Left in place, cargo's own variables make build scripts of the inner cargo run again; git's make every `git`
/// inside a test look at the repository of a hook that this runs in.
pub(crate) fn command(program: &str, dir: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(dir).stdin(Stdio::null());
    for (key, _) in std::env::vars_os() {
        let Some(name) = key.to_str() else { continue };
        let of_cargo = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_", "CARGO_PRIMARY_"]
            .iter()
            .any(|prefix| name.starts_with(prefix));
        if of_cargo || name.starts_with("GIT_") {
            command.env_remove(&key);
        }
    }
    command
}

/// Returns the command of the cargo that runs this program.
pub(crate) fn cargo(dir: &Path) -> Command {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    command(&cargo, dir)
}

/// Runs `command` with this program's own output streams; returns whether it succeeded.
pub(crate) fn succeeds(command: &mut Command) -> Result<bool> {
    let words = words(command);
    println!("\n$ {words}");
    let status = command.status().with_context(|| format!("cannot start {words}"))?;
    Ok(status.success())
}

/// Runs `command` and returns what it writes to stdout, or its words on stderr as the error.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let words = words(command);
    let output = command.output().with_context(|| format!("cannot start {words}"))?;
    if !output.status.success() {
        anyhow::bail!("{words}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs `command`, passes its output on and gives every line to `each`; kills it and all that it started after
/// `limit`.
pub(crate) fn watch(command: &mut Command, limit: Duration, each: impl FnMut(&str)) -> Result<End> {
    println!("\n$ {}", words(command));
    watch_into(std::io::stdout, std::io::stderr, command, limit, each)
}

fn watch_into<Out: Write + Send + 'static, Err: Write + Send + 'static>(
    out: impl FnOnce() -> Out,
    err: impl FnOnce() -> Err,
    command: &mut Command,
    limit: Duration,
    mut each: impl FnMut(&str),
) -> Result<End> {
    let words = words(command);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {words}"))?;
    let (sender, lines) = mpsc::channel();
    if let Some(stdout) = child.stdout.take() {
        pass_on(stdout, out(), sender.clone());
    }
    if let Some(stderr) = child.stderr.take() {
        pass_on(stderr, err(), sender);
    }

    let start = Instant::now();
    let mut exited: Option<(ExitStatus, Instant)> = None;
    loop {
        match lines.recv_timeout(Duration::from_millis(200)) {
            Ok(line) => each(&line),
            Err(RecvTimeoutError::Disconnected) => {
                return Ok(End::Exited(child.wait()?.success()));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        if exited.is_none() {
            exited = child.try_wait()?.map(|status| (status, Instant::now()));
        }
        if let Some((status, at)) = exited
            && at.elapsed() > STRAGGLERS
        {
            return Ok(End::LeftRunning(status.success()));
        }
        if exited.is_none() && start.elapsed() > limit {
            kill_tree(child.id());
            child.wait()?;
            return Ok(End::TimedOut);
        }
    }
}

/// Whether a program of this name is on the `PATH`.
pub(crate) fn on_path(program: &str) -> bool {
    find(program).is_some()
}

/// Where the program of this name is on the `PATH`.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(program)).find(|file| file.is_file())
}

/// The command as a person would type it.
fn words(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let mut words = program.to_string_lossy().into_owned();
    for argument in command.get_args() {
        words.push(' ');
        words.push_str(&argument.to_string_lossy());
    }
    words
}

fn pass_on(from: impl Read + Send + 'static, mut to: impl Write + Send + 'static, lines: Sender<String>) {
    thread::spawn(move || {
        let mut from = BufReader::new(from);
        let mut bytes = Vec::new();
        while from.read_until(b'\n', &mut bytes).is_ok_and(|count| count > 0) {
            // A last line without its end would run into the next line of ours.
            if !bytes.ends_with(b"\n") {
                bytes.push(b'\n');
            }
            // Losing our own output (a closed pipe) must not lose the count.
            let _ = to.write_all(&bytes).and_then(|()| to.flush());
            let line = String::from_utf8_lossy(&bytes);
            if lines.send(line.trim_end_matches(['\n', '\r']).to_owned()).is_err() {
                return;
            }
            bytes.clear();
        }
    });
}

/// Kills a process and its descendants, the youngest first, so that none is adopted before it is found.
fn kill_tree(top: u32) {
    let listing = Command::new("ps").args(["-A", "-o", "pid=,ppid="]).output();
    let listing =
        listing.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let pairs: Vec<(u32, u32)> = listing
        .lines()
        .filter_map(|line| {
            let mut numbers = line.split_whitespace().map(str::parse);
            Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
        })
        .collect();
    let mut tree = vec![top];
    let mut next = 0;
    while let Some(&parent) = tree.get(next) {
        tree.extend(pairs.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid));
        next += 1;
    }
    for pid in tree.iter().rev() {
        let _ = Command::new("kill").args(["-9", &pid.to_string()]).status();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = command("sh", Path::new("/"));
        command.args(["-c", script]);
        command
    }

    fn quietly(command: &mut Command, limit: Duration, each: impl FnMut(&str)) -> Result<End> {
        watch_into(std::io::sink, std::io::sink, command, limit, each)
    }

    #[test]
    fn what_a_program_leaves_running_is_noticed() {
        let mut leaving = shell("sleep 300 & echo $!");
        let mut pid = String::new();
        let end = quietly(&mut leaving, Duration::from_secs(60), |line| pid = line.to_owned());
        Command::new("kill").arg(&pid).status().unwrap();
        assert_eq!(end.unwrap(), End::LeftRunning(true));
    }

    #[test]
    fn every_line_of_both_streams_arrives() {
        let mut lines = Vec::new();
        let mut both = shell("echo one; echo two >&2; printf three; exit 3");
        let end = quietly(&mut both, Duration::from_secs(30), |line| lines.push(line.to_owned()));
        lines.sort();
        assert_eq!(end.unwrap(), End::Exited(false));
        assert_eq!(lines, ["one", "three", "two"]);
    }

    #[test]
    fn what_hangs_is_killed_with_its_children() {
        let mut pid = String::new();
        let mut hanging = shell("sleep 300 & echo $!; wait");
        let end = quietly(&mut hanging, Duration::from_secs(2), |line| pid = line.to_owned()).unwrap();
        assert_eq!(end, End::TimedOut);
        // Killed, it may stand in the table as a zombie (Z) until its new parent looks.
        let state = || {
            let ps = Command::new("ps").args(["-o", "stat=", "-p", &pid]).output().unwrap();
            String::from_utf8(ps.stdout).unwrap().trim().to_owned()
        };
        let deadline = Instant::now() + Duration::from_secs(10);
        while !state().is_empty() && !state().starts_with('Z') {
            assert!(Instant::now() < deadline, "process {pid} is still there: {}", state());
            thread::sleep(Duration::from_millis(10));
        }
    }
}
