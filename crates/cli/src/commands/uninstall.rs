//! `loop uninstall`.

use crate::failure::{Done, Failure};
use crate::world::World;

/// Give back every byte that loop wrote outside git's objects
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// In every repository, and the state and settings folders too
    #[arg(long)]
    pub(crate) all: bool,
    /// Only say what would be done
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Runs the command.
pub(crate) async fn run(world: &World, args: Args) -> Done {
    let _ = (world, args);
    Err(Failure::say("not built yet"))
}
