//! `loop pause`.

use loop_router::steer::Steer;

use crate::failure::Done;
use crate::steering::Helm;
use crate::world::World;

/// No more wakes until loop resume
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Why
    #[arg(short, long, value_name = "WHY")]
    pub(crate) message: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Runs the command.
pub(crate) async fn run(world: &World, args: Args) -> Done {
    let helm = Helm::take(world, "pause").await?;
    let said = "paused: nobody is woken until `loop resume`; who works now finishes its turn.";
    helm.steer(&Steer::Pause { why: args.message }, args.json, said).await
}
