//! `loop commit`.

use crate::failure::{Done, Failure};
use crate::world::World;

/// Append a section to STATUS.md and commit it with this turn's changes
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The agent
    pub(crate) name: String,
    /// What was done: the summary of the section and the subject of the commit
    #[arg(short, long, value_name = "TEXT")]
    pub(crate) message: String,
    /// The body of the section: a file, or `-` for standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) body: Option<String>,
    /// Give the verdict REVIEW-PASS
    #[arg(long, conflicts_with = "blocked")]
    pub(crate) pass: bool,
    /// Give the verdict REVIEW-BLOCKED
    #[arg(long, value_name = "REASON")]
    pub(crate) blocked: Option<String>,
    /// Hand the turn to this one instead of the next
    #[arg(long, value_name = "NAME")]
    pub(crate) to: Option<String>,
    /// Commit everything that differs from HEAD, also what was there before the turn
    #[arg(long)]
    pub(crate) all: bool,
    /// A reviewer may commit other files than STATUS.md
    #[arg(long)]
    pub(crate) fix: bool,
    /// Commit only these paths (and STATUS.md)
    #[arg(last = true)]
    pub(crate) paths: Vec<std::path::PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Runs the command.
pub(crate) async fn run(world: &World, args: Args) -> Done {
    let _ = (world, args);
    Err(Failure::say("not built yet"))
}
