//! `loop store`.

use loop_store::Store;

use crate::commands::DONE;
use crate::failure::{Done, Failure};
use crate::output;
use crate::world::World;

/// Where the state is, and whether it is whole
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) action: Action,
}

/// Runs the command.
pub(crate) async fn run(world: &World, args: Args) -> Done {
    match args.action {
        Action::Where => {
            output::line(world.store_url());
            Ok(DONE)
        }
        Action::Check { json } => {
            let store = Store::open(&world.store_url()).await?;
            let report = store.check().await?;
            if json {
                output::json(&report);
            } else {
                output::line(format!(
                    "{}: {}",
                    world.store_url(),
                    if report.problems.is_empty() { "whole" } else { "damaged" }
                ));
                output::line(format!(
                    "  schema {} of {}, {} bytes, {} loops ({} open), {} turns, {} deliveries ({} open)",
                    report.schema,
                    report.newest_schema,
                    report.bytes,
                    report.loops,
                    report.open_loops,
                    report.turns,
                    report.deliveries,
                    report.open_deliveries
                ));
                for problem in &report.problems {
                    output::line(format!("  {problem}"));
                }
            }
            if report.problems.is_empty() {
                return Ok(DONE);
            }
            Err(Failure::ours(anyhow::anyhow!("the store is damaged"))
                .next("keep a copy of the file, then move it away; git holds every turn, and `loop up` makes a new store"))
        }
    }
}

/// What to do with the store.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Action {
    /// Print where the store is
    Where,
    /// Check the store
    Check {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
}
