//! `loop hooks`.

use crate::failure::{Done, Failure};
use crate::world::World;

/// Install, remove or prove the post-commit notifier
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) action: Action,
}

/// Runs the command.
pub(crate) async fn run(world: &World, args: Args) -> Done {
    let _ = (world, args);
    Err(Failure::say("not built yet"))
}

/// What to do with the hook.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Action {
    /// Install the notifier; existing hooks are kept
    Install {
        /// Also edit a hooks folder that is tracked in git
        #[arg(long)]
        tracked: bool,
    },
    /// Remove the notifier and give every byte back
    Uninstall,
    /// Prove with a probe commit that the notifier runs
    Status {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
}
