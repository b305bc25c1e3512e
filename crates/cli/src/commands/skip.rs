//! `loop skip`.

use loop_router::steer::Steer;

use crate::failure::Done;
use crate::steering::Helm;
use crate::world::World;

/// Leave an agent out of the rotation without editing it
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The agent
    pub(crate) name: String,
    /// Take it in again
    #[arg(long)]
    pub(crate) undo: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Runs the command.
pub(crate) async fn run(world: &World, args: Args) -> Done {
    let helm = Helm::take(world, "skip").await?;
    let said = if args.undo {
        format!("{} takes part again.", args.name)
    } else {
        format!("{} is left out; `loop skip {} --undo` takes it in again.", args.name, args.name)
    };
    helm.steer(&Steer::Skip { name: args.name, undo: args.undo }, args.json, &said).await
}
