//! `loop down`.

use crate::failure::{Done, Failure};
use crate::world::World;

/// Stop the windows that loop started, and the router when no other loop needs it
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Every loop that is known, not only the one here
    #[arg(long)]
    pub(crate) all: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Runs the command.
pub(crate) async fn run(world: &World, args: Args) -> Done {
    let _ = (world, args);
    Err(Failure::say("not built yet"))
}
