//! `loop turn`.

use crate::failure::{Done, Failure};
use crate::world::World;

/// Print what an agent needs for its turn now
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The agent
    pub(crate) name: String,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Runs the command.
pub(crate) async fn run(world: &World, args: Args) -> Done {
    let _ = (world, args);
    Err(Failure::say("not built yet"))
}
