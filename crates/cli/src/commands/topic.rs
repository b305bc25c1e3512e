//! `loop topic`.

use crate::failure::{Done, Failure};
use crate::world::World;

/// Print a longer text
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The topic; without one, the list
    pub(crate) topic: Option<String>,
}

/// Runs the command.
pub(crate) async fn run(world: &World, args: Args) -> Done {
    let _ = (world, args);
    Err(Failure::say("not built yet"))
}
