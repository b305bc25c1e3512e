//! Calling a program that puts a message before a person. Never through a shell.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

use super::error::TellError;

/// How long a program may take.
const DEADLINE: Duration = Duration::from_secs(20);

/// Runs `program` to its end.
///
/// # Errors
/// Fails when it cannot be started, fails, or takes over 20 s; then it is killed.
pub(super) async fn run(
    program: &str,
    arguments: &[String],
    env: &BTreeMap<String, String>,
    more: &[(&str, &str)],
) -> Result<(), TellError> {
    let start = |source| TellError::Start { program: program.to_owned(), source };
    let child = Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(env)
        .envs(more.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(start)?;
    let failed = |outcome: String, words: &[u8]| TellError::Failed {
        program: program.to_owned(),
        outcome,
        words: loop_core::plain::line(&String::from_utf8_lossy(words), 400),
    };
    match tokio::time::timeout(DEADLINE, child.wait_with_output()).await {
        Err(_) => Err(failed(format!("took over {} s", DEADLINE.as_secs()), b"")),
        Ok(Err(source)) => Err(start(source)),
        Ok(Ok(output)) if output.status.success() => Ok(()),
        Ok(Ok(output)) => Err(failed(format!("ended with {}", output.status), &output.stderr)),
    }
}
