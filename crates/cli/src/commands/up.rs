//! `loop up`.

use crate::failure::{Done, Failure};
use crate::world::World;

/// Start the router and the agents' windows, and wake the first agent
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Every loop that is known, not only the one here
    #[arg(long)]
    pub(crate) all: bool,
    /// No windows: run each turn as one headless process
    #[arg(long)]
    pub(crate) headless: bool,
    /// Approve loop.yaml without asking
    #[arg(long)]
    pub(crate) yes: bool,
    /// Go on in the agents' old conversations although the loop is new
    #[arg(long)]
    pub(crate) keep_conversations: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Runs the command.
pub(crate) async fn run(world: &World, args: Args) -> Done {
    let _ = (world, args);
    Err(Failure::say("not built yet"))
}
