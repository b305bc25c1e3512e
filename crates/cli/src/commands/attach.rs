//! `loop attach`.

use crate::failure::{Done, Failure};
use crate::world::World;

/// Show the agents' windows
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Whose window to show first
    pub(crate) name: Option<String>,
}

/// Runs the command.
pub(crate) async fn run(world: &World, args: Args) -> Done {
    let _ = (world, args);
    Err(Failure::say("not built yet"))
}
