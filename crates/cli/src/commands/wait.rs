//! `loop wait`.

use std::path::PathBuf;

use jiff::Timestamp;

use crate::failure::{COMMAND_LINE, Done, Failure};
use crate::waiting::{Patience, file, passed, settled, time, turn};
use crate::world::World;

/// Block until it is so; the exit is the signal
///
/// Exits 0 when it is so, 4 when the time is up, 1 when it cannot be (any more) or a person is asked for, 3 when the
/// loop is over.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Until it is the turn of this agent (which has no window to be woken in)
    pub(crate) name: Option<String>,
    /// Until the loop has passed
    #[arg(long, conflicts_with = "name")]
    pub(crate) passed: bool,
    /// Until this agent has really finished: nothing running, nothing asked
    ///
    /// Prints `NAME session ID has settled!`. Tells at once when it had finished before.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["name", "passed"])]
    pub(crate) settled: Option<String>,
    /// With --settled: how long nothing may move where only one witness tells (15s)
    #[arg(long, value_name = "TIME", requires = "settled", conflicts_with_all = ["name", "passed", "file"])]
    pub(crate) quiet: Option<String>,
    /// Until this hand-over file is there; takes it and prints what it says
    ///
    /// `loop signal FILE` or any other program writes it. Of several that wait exactly one takes it. Needs no
    /// repository and no router.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["name", "passed", "settled"])]
    pub(crate) file: Option<PathBuf>,
    /// With --file: leave files alone that are older (2026-11-30T10:00:00Z, 10m, now)
    #[arg(long, value_name = "TIME", requires = "file", conflicts_with_all = ["name", "passed", "settled"])]
    pub(crate) since: Option<String>,
    /// At most so long (30s, 30m, 2h)
    #[arg(long, value_name = "TIME")]
    pub(crate) timeout: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Runs the command.
pub(crate) async fn run(world: &World, args: Args) -> Done {
    let timeout = args.timeout.as_deref().map(time::duration).transpose()?;
    let since = args.since.as_deref().map(|since| time::moment(since, Timestamp::now())).transpose()?;
    let patience = Patience::new(timeout, args.json);
    if let Some(name) = &args.settled {
        let quiet = args.quiet.as_deref().map(time::duration).transpose()?;
        return settled::wait(world, name, quiet, patience).await;
    }
    match (&args.name, args.passed, &args.file) {
        (None, true, None) => passed::wait(world, patience).await,
        (Some(name), false, None) => turn::wait(world, name, patience).await,
        (None, false, Some(path)) => file::wait(world, path, since, patience).await,
        _ => Err(Failure::say(
            "say what to wait for: an agent's NAME, --settled NAME, --passed, or --file FILE",
        )
        .code(COMMAND_LINE)),
    }
}
