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
    let open = helm.client.store.open_deliveries(Some(&helm.row.id)).await?;
    let at_work: Vec<&str> = open
        .iter()
        .filter(|delivery| delivery.state.is_out())
        .map(|delivery| delivery.agent.as_str())
        .collect();
    let said = match (&helm.client.router, at_work.as_slice()) {
        (_, []) => "stopped: nobody was at work, and nobody is woken until `loop resume`.".to_owned(),
        (Some(_), agents) => format!(
            "stopped: {} was interrupted, and nobody is woken until `loop resume`.",
            agents.join(" and ")
        ),
        (None, agents) => format!(
            "paused, but no router runs that could interrupt {}; nobody is woken until `loop resume`.",
            agents.join(" and ")
        ),
    };
    helm.steer(&Steer::Stop { why: args.message }, args.json, &said).await
}
