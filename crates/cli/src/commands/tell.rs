//! `loop tell`.

use crate::failure::{Done, Failure};
use crate::world::World;

/// Try the channels that reach a person
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Send a test message
    #[arg(long, required = true)]
    pub(crate) test: bool,
}

/// Runs the command.
pub(crate) async fn run(world: &World, args: Args) -> Done {
    let _ = (world, args);
    Err(Failure::say("not built yet"))
}
