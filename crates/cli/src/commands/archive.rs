//! `loop archive`.

use crate::failure::{Done, Failure};
use crate::world::World;

/// Move the finished loop to the archive folder and say how to merge
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Another archive folder
    #[arg(long, value_name = "D")]
    pub(crate) dir: Option<String>,
    /// Wait until the loop has passed
    #[arg(long)]
    pub(crate) when_passed: bool,
    /// Make one commit of the loop's commits on a branch of its own, for a tidy merge
    #[arg(long)]
    pub(crate) squash: bool,
    /// Archive although the loop has not passed, or code changed after the pass
    #[arg(long)]
    pub(crate) force: bool,
    /// Only say what would be done
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Runs the command.
pub(crate) async fn run(world: &World, args: Args) -> Done {
    let _ = (world, args);
    Err(Failure::say("not built yet"))
}
