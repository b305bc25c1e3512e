//! `loop trust`.

use crate::failure::{Done, Failure};
use crate::world::World;

/// Show a changed loop.yaml and approve it
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Approve without asking
    #[arg(long)]
    pub(crate) yes: bool,
}

/// Runs the command.
pub(crate) async fn run(world: &World, args: Args) -> Done {
    let _ = (world, args);
    Err(Failure::say("not built yet"))
}
