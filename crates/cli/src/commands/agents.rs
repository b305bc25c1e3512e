//! `loop agents`.

use crate::failure::{Done, Failure};
use crate::world::World;

/// List, add, remove and register agents
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) action: Option<Action>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Runs the command.
pub(crate) async fn run(world: &World, args: Args) -> Done {
    let _ = (world, args);
    Err(Failure::say("not built yet"))
}

/// What to do with agents.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Action {
    /// List the agents and how each is reached
    List,
    /// Add an agent to loop.yaml
    Add {
        /// NAME or NAME=KIND
        name: String,
        /// Behind this agent instead of at the end
        #[arg(long, value_name = "NAME")]
        after: Option<String>,
    },
    /// Remove an agent from loop.yaml
    Remove {
        /// The agent
        name: String,
    },
    /// Register how an agent is reached, for example after its window was opened by hand
    Register {
        /// The agent
        name: String,
        /// tmux, exec, command or wait
        #[arg(long, default_value = "tmux")]
        transport: String,
        /// The address: a tmux pane id (`%3`), or what your command understands
        #[arg(long)]
        address: Option<String>,
    },
    /// Forget how an agent is reached
    Forget {
        /// The agent
        name: String,
    },
    /// List the kinds of agents that are known
    Profiles {
        /// Explain this kind
        kind: Option<String>,
    },
}
