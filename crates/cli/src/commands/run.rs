//! `loop run`.

use crate::failure::{Done, Failure};
use crate::world::World;

/// Init if needed, up, and follow until the loop passes or needs you
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What is to be done, in a few words
    pub(crate) task: Option<String>,
    /// An agent of the rotation, in order: NAME or NAME=KIND
    #[arg(long = "agent", value_name = "NAME[=KIND]")]
    pub(crate) agents: Vec<String>,
    /// No windows: run each turn as one headless process (for CI)
    #[arg(long)]
    pub(crate) headless: bool,
    /// Approve loop.yaml without asking
    #[arg(long)]
    pub(crate) yes: bool,
}

/// Runs the command.
pub(crate) async fn run(world: &World, args: Args) -> Done {
    let _ = (world, args);
    Err(Failure::say("not built yet"))
}
