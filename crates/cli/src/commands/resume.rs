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
    #[arg(long, value_name = "N", value_parser = hours)]
    pub(crate) hours: Option<f64>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

fn hours(text: &str) -> Result<f64, String> {
    let hours: f64 = text.parse().map_err(|_| "give a number, like 1.5".to_owned())?;
    if hours.is_finite() && hours > 0.0 { Ok(hours) } else { Err("give more than 0".to_owned()) }
}

/// Runs the command.
pub(crate) async fn run(world: &World, args: Args) -> Done {
    let mut helm = Helm::take(world, "resume").await?;
    let (after_turn, _) = helm.seen(world).await?;
    let to = args.to.as_deref().map(|name| helm.agent(world, name)).transpose()?;
    let said = match &to {
        Some(name) => format!("resumed: the turn goes to {name}; limits start afresh."),
        None => "resumed: limits start afresh.".to_owned(),
    };
    let command = Steer::Resume { after_turn, to, rounds: args.rounds, hours: args.hours };
    helm.steer(&command, args.json, &said).await
}
