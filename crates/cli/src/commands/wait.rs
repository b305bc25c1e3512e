//! `loop wait`.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use loop_core::decide::{Decision, Hold};
use loop_core::plain::plain;
use loop_core::report::Report;
use loop_router::reading::Reading;
use loop_router::relay::headline;
use loop_store::SessionRow;

use crate::commands::DONE;
use crate::commands::commit::nobody;
use crate::failure::{COMMAND_LINE, Done, Failure, LIMIT, NOTHING, USERS};
use crate::here::{Here, no_router};
use crate::output;
use crate::world::World;

/// Block until it is so; the exit is the signal
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Until it is the turn of this agent (which has no window to be woken in)
    pub(crate) name: Option<String>,
    /// Until the loop has passed
    #[arg(long, conflicts_with = "name")]
    pub(crate) passed: bool,
    /// At most so long (30s, 30m, 2h)
    #[arg(long, value_name = "TIME")]
    pub(crate) timeout: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Runs the command.
pub(crate) async fn run(world: &World, args: Args) -> Done {
    let deadline = args.timeout.as_deref().map(duration).transpose()?.map(|time| Instant::now() + time);
    match (&args.name, args.passed) {
        (None, true) => until_passed(world, deadline, args.json).await,
        (Some(name), false) => until_woken(world, name, deadline, args.json).await,
        _ => Err(Failure::say("say what to wait for: an agent's NAME, or --passed").code(COMMAND_LINE)),
    }
}

/// 0 passed, 1 held or blocked, 3 there is no loop (any more), 4 timed out.
async fn until_passed(world: &World, deadline: Option<Instant>, json: bool) -> Done {
    let (client, mut here) = Here::with_client(world).await?;
    loop {
        let report = match here.read(world)? {
            Reading::Loop(observed) => {
                let held = match &observed.decided.decision {
                    Decision::Held { why: Hold::Verifying, .. } | Decision::Wake { .. } => None,
                    Decision::Passed { .. } => Some(0),
                    Decision::Held { .. } => Some(USERS),
                };
                held.map(|code| (code, observed.report(), headline(&observed.decided.decision).0))
            }
            Reading::Idle { .. } => Some((NOTHING, Report::idle(), "there is no loop here".to_owned())),
            Reading::Unreadable { why, .. } => Some((USERS, Report { state: "held", ..Report::idle() }, why)),
            Reading::Underway(_) => None,
        };
        if let Some((code, report, text)) = report {
            if json {
                output::json(&report);
            } else {
                output::line(plain(&text));
            }
            return Ok(ExitCode::from(code));
        }
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            output::note("timed out: the loop is still running.");
            return Ok(ExitCode::from(LIMIT));
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
        here = Here::open(world, Some(&client.store)).await?;
    }
}

/// The `wait` transport's other end: 0 it is this agent's turn, 3 the loop is over, 4 timed out.
async fn until_woken(world: &World, name: &str, deadline: Option<Instant>, json: bool) -> Done {
    let (client, mut here) = Here::with_client(world).await?;
    let row = here.known_row()?.clone();
    let (config, _) = here.config(world)?;
    let Some((name, _)) = config.cast().find(name).map(|(name, role)| (name.clone(), role)) else {
        return Err(nobody(&config, name));
    };
    let router = client.router.as_ref().ok_or_else(no_router)?;
    let session = SessionRow {
        loop_id: row.id.clone(),
        agent: name.clone(),
        transport: "wait".to_owned(),
        address: "null".to_owned(),
        conversation: None,
        pid: None,
        started_by_loop: false,
        registered_at: jiff::Timestamp::now(),
    };
    client.put_session(&session).await?;
    loop {
        if let Reading::Loop(observed) = here.read(world)?
            && matches!(observed.decided.decision, Decision::Passed { .. })
        {
            output::note("the loop has passed.");
            return Ok(ExitCode::from(NOTHING));
        }
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            output::note(format!("timed out: it is not {name}'s turn."));
            return Ok(ExitCode::from(LIMIT));
        }
        let seconds = left.map_or(20, |left| left.as_secs().clamp(1, 20));
        let path = format!("/api/loops/{}/wait?agent={}&seconds={seconds}", row.id, percent(name.as_str()));
        if let Some(text) = router.wait(&path).await? {
            if json {
                output::json(&serde_json::json!({"agent": name, "text": text}));
            } else {
                output::line(text);
            }
            return Ok(DONE);
        }
        here = Here::open(world, Some(&client.store)).await?;
    }
}

/// A name as it may stand in a query: everything but letters and digits in `%XX`.
fn percent(name: &str) -> String {
    name.bytes()
        .map(
            |byte| {
                if byte.is_ascii_alphanumeric() {
                    char::from(byte).to_string()
                } else {
                    format!("%{byte:02X}")
                }
            },
        )
        .collect()
}

/// Reads `90`, `30s`, `30m`, `2h`.
pub(crate) fn duration(text: &str) -> Result<Duration, Failure> {
    let (figure, factor) = match text.trim().strip_suffix(['s', 'm', 'h']) {
        Some(figure) if text.trim().ends_with('m') => (figure, 60.0),
        Some(figure) if text.trim().ends_with('h') => (figure, 3600.0),
        Some(figure) => (figure, 1.0),
        None => (text.trim(), 1.0),
    };
    figure
        .parse::<f64>()
        .ok()
        .map(|figure| figure * factor)
        .filter(|seconds| seconds.is_finite() && *seconds >= 0.0 && *seconds < 1e9)
        .map(Duration::from_secs_f64)
        .ok_or_else(|| {
            Failure::say(format!("`{text}` is no time")).code(COMMAND_LINE).next("write 30s, 30m or 2h")
        })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn times_are_read() {
        for (text, seconds) in [("90", 90.0), ("30s", 30.0), ("1.5m", 90.0), ("2h", 7200.0)] {
            assert_eq!(duration(text).unwrap(), Duration::from_secs_f64(seconds), "{text}");
        }
        for bad in ["", "m", "-1s", "1e99h", "soon"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
        assert_eq!(percent("a-小"), "a%2D%E5%B0%8F");
    }
}
