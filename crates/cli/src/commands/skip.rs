//! `loop skip`.

use crate::failure::{Done, Failure};
use crate::world::World;

/// Leave an agent out of the rotation without editing it
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The agent
    pub(crate) name: String,
    /// Take it in again
    #[arg(long)]
    pub(crate) undo: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Runs the command.
pub(crate) async fn run(world: &World, args: Args) -> Done {
    let _ = (world, args);
    Err(Failure::say("not built yet"))
}
