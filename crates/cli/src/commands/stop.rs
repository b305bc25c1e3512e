//! `loop stop`.

use loop_router::steer::Steer;

use crate::failure::Done;
use crate::steering::Helm;
use crate::world::World;

/// Interrupt whoever works now, and pause
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
    let helm = Helm::take(world, "stop").await?;
    let said = if helm.client.router.is_some() {
        "stopped: who worked was interrupted, and nobody is woken until `loop resume`."
    } else {
        "paused: no router runs that could interrupt anybody; nobody is woken until `loop resume`."
    };
    helm.steer(&Steer::Stop { why: args.message }, args.json, said).await
}
