//! `loop resume`.

use crate::failure::{Done, Failure};
use crate::world::World;

/// Go on: limits start afresh, a block is answered, dead wakes are tried again
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Give the turn to this agent
    #[arg(long, value_name = "NAME")]
    pub(crate) to: Option<String>,
    /// Allow so many rounds more
    #[arg(long, value_name = "N")]
    pub(crate) rounds: Option<u32>,
    /// Allow so many hours more
    #[arg(long, value_name = "N")]
    pub(crate) hours: Option<f64>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Runs the command.
pub(crate) async fn run(world: &World, args: Args) -> Done {
    let _ = (world, args);
    Err(Failure::say("not built yet"))
}
