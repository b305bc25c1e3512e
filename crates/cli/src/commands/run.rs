//! `loop run`.

use std::time::{Duration, Instant};

use loop_core::decide::{Decision, Hold};
use loop_core::plain::plain;
use loop_router::reading::Reading;

use crate::client::Client;
use crate::commands::{DONE, init, up};
use crate::failure::{Done, Failure, LIMIT, NOTHING};
use crate::here::Here;
use crate::opening::present::{Present, look};
use crate::output;
use crate::world::World;

/// How often the loop is looked at.
const PAUSE: Duration = Duration::from_millis(300);
/// How long the router may take to put on record what git says already.
const ON_RECORD: Duration = Duration::from_secs(5);

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
    let (client, mut here) = Here::with_client(world).await?;
    // A loop on another branch is none to go on with here; `init` says what can be done about it.
    let has_loop = matches!(look(world, &client, &mut here).await, Ok(Present::Loop { .. }));
    if !has_loop {
        let init = init::Args { task: args.task, agents: args.agents, ..init::Args::default() };
        init::run(world, init).await?;
    } else if args.task.is_some() {
        output::note("there is a loop here already; going on with it.");
    }
    // The first wake is made while `up` still looks at risks: what happens from here on is told.
    let before = newest_event(world).await?;
    let up = up::Args { headless: args.headless, yes: args.yes, ..up::Args::default() };
    up::run(world, up).await?;
    follow(world, before).await
}

/// The newest line of the loop's log; 0 before there is one.
async fn newest_event(world: &World) -> Result<i64, Failure> {
    let client = Client::open(world).await?;
    let here = Here::open(world, Some(&client.store)).await?;
    let Some(row) = &here.row else { return Ok(0) };
    Ok(client.store.last_events(&row.id, 1).await?.last().map_or(0, |event| event.id))
}

/// Prints what happens after event `after` until the loop ends or needs a person. Ctrl-C detaches: the loop goes on.
async fn follow(world: &World, mut after: i64) -> Done {
    let client = Client::open(world).await?;
    let here = Here::open(world, Some(&client.store)).await?;
    let row = here.known_row()?.clone();
    output::note("following; Ctrl-C detaches and leaves the loop running.");
    let mut ended: Option<Instant> = None;
    loop {
        // Read before the events are: what is on record then has been printed when it ends.
        let recorded = client.store.loop_row(&row.id).await?.map(|row| row.state);
        for event in client.store.events(&row.id, after, 1000).await? {
            after = event.id;
            if matches!(event.kind.as_str(), "turn" | "decision" | "delivery" | "told" | "person") {
                output::line(format!("{:9} {}", event.kind, plain(&event.text)));
            }
        }
        let mut here = Here::open(world, Some(&client.store)).await?;
        if let Some((state, end)) = end_of(here.read(world)?) {
            // Git tells of the last turn before the router has put it on record; its lines are worth a moment.
            let since = *ended.get_or_insert_with(Instant::now);
            if recorded.as_deref() == Some(state) || since.elapsed() > ON_RECORD {
                return end;
            }
        } else {
            ended = None;
        }
        tokio::select! {
            () = tokio::time::sleep(PAUSE) => {}
            _ = tokio::signal::ctrl_c() => {
                output::note("detached; `loop status` tells how it stands, `loop down` ends it.");
                return Ok(DONE);
            }
        }
    }
}

/// Whether there is nothing more to follow: the loop's state, and how the command ends.
fn end_of(reading: Reading) -> Option<(&'static str, Done)> {
    let observed = match reading {
        Reading::Loop(observed) => observed,
        Reading::Unreadable { why, .. } => return Some(("held", Err(Failure::say(why)))),
        Reading::Idle { .. } => {
            let gone = Failure::say("the loop is gone: there is no STATUS.md any more").code(NOTHING);
            return Some(("idle", Err(gone)));
        }
        Reading::Underway(_) => return None,
    };
    let end = match &observed.decided.decision {
        Decision::Wake { .. } | Decision::Held { why: Hold::Verifying, .. } => return None,
        Decision::Passed { .. } => Ok(DONE),
        Decision::Held { why, reason, next, .. } => {
            let failure = Failure::say(reason).next(next.clone());
            let limit = matches!(why, Hold::Rounds | Hold::Hours | Hold::TurnMinutes | Hold::Tokens);
            Err(if limit { failure.code(LIMIT) } else { failure })
        }
    };
    Some((observed.report().state, end))
}
