//! `loop accept`.

use loop_router::steer::Steer;

use crate::failure::Done;
use crate::output;
use crate::steering::Helm;
use crate::world::World;

/// End the loop as passed by you
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
    let mut helm = Helm::take(world, "accept").await?;
    let (after_turn, commit) = helm.seen(world).await?;
    let by = helm.here.person(world);
    let short = commit.as_deref().map_or("the tip", |commit| &commit[..7.min(commit.len())]).to_owned();
    let said = format!("accepted by {by} at {short}; `loop archive` puts the loop away.");
    let done =
        helm.steer(&Steer::Accept { by, why: args.message, after_turn, commit }, args.json, &said).await?;
    // What the person has not seen is not accepted.
    for delivery in helm.here.known.deliveries.iter().filter(|delivery| delivery.state.is_out()) {
        output::note(format!(
            "{} is still at work: a section of it would reopen the loop. `loop stop` interrupts it; then accept again.",
            delivery.agent
        ));
    }
    Ok(done)
}
