//! `loop pause`.

use crate::failure::{Done, Failure};
use crate::world::World;

/// No more wakes until loop resume
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Why
    #[arg(short, long, value_name = "WHY")]
    pub(crate) message: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Runs the command.
pub(crate) async fn run(world: &World, args: Args) -> Done {
    let _ = (world, args);
    Err(Failure::say("not built yet"))
}
