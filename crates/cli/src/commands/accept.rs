//! `loop accept`.

use loop_core::decide::{Accept, Decision};
use loop_router::reading::Reading;
use loop_router::steer::Steer;
use serde_json::json;

use crate::commands::DONE;
use crate::failure::{Done, Failure};
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
    if let Some(accept) = accepted(&mut helm, world, after_turn, commit.as_deref())? {
        let said = format!(
            "this loop is accepted already, by {}, and nothing has come since; `loop archive` puts it away.",
            accept.by
        );
        if args.json {
            output::json(&json!({"status": "unchanged", "loop": helm.row.id, "done": said}));
        } else {
            output::line(said);
        }
        return Ok(DONE);
    }
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

/// The acceptance that still holds: no turn and no commit came after it.
fn accepted(
    helm: &mut Helm,
    world: &World,
    turns: usize,
    commit: Option<&str>,
) -> Result<Option<Accept>, Failure> {
    let Some(accept) = helm.row.accepted.clone() else { return Ok(None) };
    let holds = accept.after_turn == turns && accept.commit.as_deref() == commit;
    let has_passed = matches!(
        helm.here.read(world)?,
        Reading::Loop(observed) if matches!(observed.decided.decision, Decision::Passed { .. })
    );
    Ok(Some(accept).filter(|_| holds && has_passed))
}
