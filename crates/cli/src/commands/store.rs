//! `loop store`.

use crate::failure::{Done, Failure};
use crate::world::World;

/// Where the state is, and whether it is whole
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) action: Action,
}

/// Runs the command.
pub(crate) async fn run(world: &World, args: Args) -> Done {
    let _ = (world, args);
    Err(Failure::say("not built yet"))
}

/// What to do with the store.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Action {
    /// Print where the store is
    Where,
    /// Check the store
    Check {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
}
