//! `loop demo`: a whole loop with scripted agents, through the very commands that a user types.

use crate::commands::DONE;
use crate::demo::{agent as demo_agent, play};
use crate::failure::Done;
use crate::world::World;

/// Play a whole loop with scripted agents in a scratch repository
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// No windows, even where tmux is there
    #[arg(long)]
    pub(crate) headless: bool,
    /// Keep the whole scratch folder, state and settings too
    #[arg(long)]
    pub(crate) keep: bool,
}

/// Runs the command.
pub(crate) async fn run(world: &World, args: Args) -> Done {
    play::play(world, args.headless, args.keep).await?;
    Ok(DONE)
}

/// One of the demo's agents.
#[derive(Debug, clap::Args)]
pub(crate) struct AgentArgs {
    /// Its name
    pub(crate) name: String,
    /// One headless turn with this text; empty: run in a window
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) turn: Option<String>,
}

/// Runs one of the demo's agents.
pub(crate) async fn agent(world: &World, args: AgentArgs) -> Done {
    demo_agent::run(world, &args.name, args.turn.as_deref().filter(|text| !text.is_empty()))
}
