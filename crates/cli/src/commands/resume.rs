//! `loop resume`.

use loop_router::steer::Steer;

use crate::failure::Done;
use crate::steering::Helm;
use crate::world::World;

/// Go on: limits start afresh, a block is answered, dead wakes are tried again
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Give the turn to this agent
    #[arg(long, value_name = "NAME")]
    pub(crate) to: Option<String>,
    /// Allow so many rounds more
    #[arg(long, value_name = "N")]
    pub(crate) rounds: Option<u32>,
    /// Allow so many hours more
    #[arg(long, value_name = "N")]
    pub(crate) hours: Option<f64>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Runs the command.
pub(crate) async fn run(world: &World, args: Args) -> Done {
    let mut helm = Helm::take(world, "resume").await?;
    let (after_turn, _) = helm.seen(world).await?;
    let said = match &args.to {
        Some(name) => format!("resumed: the turn goes to {name}; limits start afresh."),
        None => "resumed: limits start afresh.".to_owned(),
    };
    let command = Steer::Resume { after_turn, to: args.to, rounds: args.rounds, hours: args.hours };
    helm.steer(&command, args.json, &said).await
}
