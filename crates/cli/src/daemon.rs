//! Starting the router behind the user's back, and stopping it.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::client::RouterLine;
use crate::failure::Failure;
use crate::output;
use crate::world::World;

/// How long a router may take to answer.
const ANSWERS: Duration = Duration::from_secs(15);
/// A log larger than this is put aside before a new router writes to it.
const LOG_LIMIT: u64 = 10_000_000;

/// Returns the running router, started now unless it ran already.
pub(crate) async fn ensure_router(world: &World) -> Result<RouterLine, Failure> {
    if let Some(router) = RouterLine::find(world).await? {
        return Ok(router);
    }
    std::fs::create_dir_all(&world.state_dir).map_err(Failure::ours)?;
    let log = world.state_dir.join("router.log");
    if std::fs::metadata(&log).is_ok_and(|meta| meta.len() > LOG_LIMIT) {
        std::fs::rename(&log, log.with_extension("log.1")).map_err(Failure::ours)?;
    }
    let start_of_log = std::fs::metadata(&log).map(|meta| meta.len()).unwrap_or(0);
    let file = OpenOptions::new().create(true).append(true).mode(0o600).open(&log).map_err(Failure::ours)?;
    let second = file.try_clone().map_err(Failure::ours)?;
    let git_variables: Vec<&String> = world.env.keys().filter(|name| name.starts_with("GIT_")).collect();
    let mut command = Command::new(&world.exe);
    command.args(["router", "--background"]);
    for name in git_variables {
        // What a hook or an alias handed down leads git astray; what says how git works for this user may stay.
        if !matches!(
            name.as_str(),
            "GIT_CONFIG_GLOBAL" | "GIT_CONFIG_NOSYSTEM" | "GIT_CONFIG_SYSTEM" | "GIT_SSH" | "GIT_SSH_COMMAND"
        ) {
            command.env_remove(name);
        }
    }
    let mut child = command
        .current_dir(&world.state_dir)
        .stdin(Stdio::null())
        .stdout(Stdio::from(file))
        .stderr(Stdio::from(second))
        // Its own group: Ctrl-C in this terminal is not meant for it.
        .process_group(0)
        .spawn()
        .map_err(|error| Failure::ours(anyhow::Error::new(error).context("cannot start the router")))?;
    let start = Instant::now();
    let mut told = false;
    loop {
        if let Some(router) = RouterLine::find(world).await? {
            return Ok(router);
        }
        if let Ok(Some(status)) = child.try_wait() {
            // Of two that start one at once, the other's router serves both.
            if let Some(router) = RouterLine::find(world).await? {
                return Ok(router);
            }
            let words = std::fs::read(&log).unwrap_or_default();
            let words = words.get(usize::try_from(start_of_log).unwrap_or(0)..).unwrap_or_default();
            let words = String::from_utf8_lossy(words);
            return Err(Failure::ours(anyhow::anyhow!(
                "the router ended at once ({status}): {}",
                words.trim()
            ))
            .next(format!("its log is {}", log.display())));
        }
        if start.elapsed() > ANSWERS {
            return Err(Failure::ours(anyhow::anyhow!(
                "the router does not answer after {} s",
                ANSWERS.as_secs()
            ))
            .next(format!("its log is {}", log.display())));
        }
        if !told && start.elapsed() > Duration::from_secs(1) {
            output::note("starting the router …");
            told = true;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Stops the router and waits until it is gone.
pub(crate) async fn stop_router(world: &World, router: &RouterLine) -> Result<(), Failure> {
    router.post::<serde_json::Value>("/api/router/stop", &serde_json::json!({})).await?;
    let start = Instant::now();
    while RouterLine::find(world).await?.is_some_and(|now| now.file == router.file)
        || world.router_file().exists()
    {
        if start.elapsed() > ANSWERS {
            return Err(Failure::ours(anyhow::anyhow!("the router (pid {}) does not stop", router.file.pid))
                .next(format!("`kill {}` ends it; nothing is lost", router.file.pid)));
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}
