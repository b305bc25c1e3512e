//! `loop key`.

use crate::failure::{Done, Failure};
use crate::world::World;

/// Print the name of a file for curl -K that carries the key
#[derive(Debug, clap::Args)]
pub(crate) struct Args {

}

/// Runs the command.
pub(crate) async fn run(world: &World, args: Args) -> Done {
    let _ = (world, args);
    Err(Failure::say("not built yet"))
}
