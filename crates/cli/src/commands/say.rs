//! `loop say`.

use crate::failure::{Done, Failure};
use crate::world::World;

/// Add a section of your own; also reopens a passed loop
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What to say
    pub(crate) text: String,
    /// Hand the turn to this agent
    #[arg(long, value_name = "NAME")]
    pub(crate) to: Option<String>,
    /// Your name, when loop.yaml has several people
    #[arg(long = "as", value_name = "NAME")]
    pub(crate) author: Option<String>,
}

/// Runs the command.
pub(crate) async fn run(world: &World, args: Args) -> Done {
    let _ = (world, args);
    Err(Failure::say("not built yet"))
}
