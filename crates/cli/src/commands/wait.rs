//! `loop wait`.

use crate::failure::{Done, Failure};
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
    let _ = (world, args);
    Err(Failure::say("not built yet"))
}
