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
    let name = helm.agent(world, &args.name)?;
    let said = if args.undo {
        format!("{name} takes part again.")
    } else {
        format!("{name} is left out; `loop skip {name} --undo` takes it in again.")
    };
    helm.steer(&Steer::Skip { name, undo: args.undo }, args.json, &said).await
}
