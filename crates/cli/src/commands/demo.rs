//! `loop demo`.

use crate::failure::{Done, Failure};
use crate::world::World;

/// Play a whole loop with scripted agents in a scratch repository
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// No windows, even where tmux is there
    #[arg(long)]
    pub(crate) headless: bool,
    /// Keep the scratch folder and say where it is
    #[arg(long)]
    pub(crate) keep: bool,
}

/// Runs the command.
pub(crate) async fn run(world: &World, args: Args) -> Done {
    let _ = (world, args);
    Err(Failure::say("not built yet"))
}

/// One of the demo's agents.
#[derive(Debug, clap::Args)]
pub(crate) struct AgentArgs {
    /// Its name
    pub(crate) name: String,
    /// One headless turn with this text
    #[arg(long)]
    pub(crate) turn: Option<String>,
}

/// Runs one of the demo's agents.
pub(crate) async fn agent(world: &World, args: AgentArgs) -> Done {
    let _ = (world, args);
    Err(Failure::say("not built yet"))
}
