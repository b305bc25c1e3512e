//! `loop run`.

use std::time::Duration;

use loop_core::decide::{Decision, Hold};
use loop_core::plain::plain;
use loop_router::reading::Reading;

use crate::client::Client;
use crate::commands::{DONE, init, up};
use crate::failure::{Done, Failure, LIMIT, NOTHING};
use crate::here::Here;
use crate::output;
use crate::world::World;

/// Init if needed, up, and follow until the loop passes or needs you
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What is to be done, in a few words
    pub(crate) task: Option<String>,
    /// An agent of the rotation, in order: NAME or NAME=KIND
    #[arg(long = "agent", value_name = "NAME[=KIND]")]
    pub(crate) agents: Vec<String>,
    /// No windows: run each turn as one headless process (for CI)
    #[arg(long)]
    pub(crate) headless: bool,
    /// Approve loop.yaml without asking
    #[arg(long)]
    pub(crate) yes: bool,
}

/// Runs the command.
pub(crate) async fn run(world: &World, args: Args) -> Done {
    let has_loop = matches!(
        Here::with_store(world).await?.read(world),
        Ok(Reading::Loop(_) | Reading::Unreadable { .. } | Reading::Underway(_))
    );
    if !has_loop {
        let init = init::Args { task: args.task, agents: args.agents, ..init::Args::default() };
        init::run(world, init).await?;
    } else if args.task.is_some() {
        output::note("there is a loop here already; going on with it.");
    }
    let up = up::Args { headless: args.headless, yes: args.yes, ..up::Args::default() };
    up::run(world, up).await?;
    follow(world).await
}

/// Prints what happens until the loop ends or needs a person. Ctrl-C detaches: the loop goes on.
async fn follow(world: &World) -> Done {
    let client = Client::open(world).await?;
    let here = Here::open(world, Some(&client.store)).await?;
    let row = here.known_row()?.clone();
    let mut after = client.store.last_events(&row.id, 1).await?.last().map_or(0, |event| event.id);
    output::note("following; Ctrl-C detaches and leaves the loop running.");
    loop {
        for event in client.store.events(&row.id, after, 1000).await? {
            after = event.id;
            if matches!(event.kind.as_str(), "turn" | "decision" | "delivery" | "told") {
                output::line(format!("{:9} {}", event.kind, plain(&event.text)));
            }
        }
        let mut here = Here::open(world, Some(&client.store)).await?;
        match here.read(world)? {
            Reading::Loop(observed) => match &observed.decided.decision {
                Decision::Wake { .. } | Decision::Held { why: Hold::Verifying, .. } => {}
                Decision::Passed { .. } => return Ok(DONE),
                Decision::Held { why: Hold::Rounds | Hold::Hours | Hold::TurnMinutes | Hold::Tokens, reason, next, .. } => {
                    return Err(Failure::say(reason).code(LIMIT).next(next.clone()));
                }
                Decision::Held { reason, next, .. } => return Err(Failure::say(reason).next(next.clone())),
            },
            Reading::Unreadable { why, .. } => return Err(Failure::say(why)),
            Reading::Idle { .. } => return Err(Failure::say("the loop is gone: there is no STATUS.md any more").code(NOTHING)),
            Reading::Underway(_) => {}
        }
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(300)) => {}
            _ = tokio::signal::ctrl_c() => {
                output::note("detached; `loop status` tells how it stands, `loop down` ends it.");
                return Ok(DONE);
            }
        }
    }
}
