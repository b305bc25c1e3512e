//! `loop log`.

use crate::failure::{Done, Failure};
use crate::world::World;

/// Print every turn and delivery with times
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Follow
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Runs the command.
pub(crate) async fn run(world: &World, args: Args) -> Done {
    let _ = (world, args);
    Err(Failure::say("not built yet"))
}
