//! `loop status`.

use crate::failure::{Done, Failure};
use crate::world::World;

/// Say whether you must do anything, then how the loop stands
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Every loop that is known
    #[arg(long)]
    pub(crate) all: bool,
    /// Follow it until the loop ends
    #[arg(long)]
    pub(crate) watch: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Runs the command.
pub(crate) async fn run(world: &World, args: Args) -> Done {
    let _ = (world, args);
    Err(Failure::say("not built yet"))
}
