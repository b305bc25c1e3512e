//! `loop check`.

use crate::failure::{Done, Failure};
use crate::world::World;

/// Read a STATUS.md: sections, verdicts, decision and diagnostics
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The file (default: the STATUS.md of this folder)
    pub(crate) file: Option<std::path::PathBuf>,
    /// The loop.yaml (default: beside the file)
    #[arg(long, value_name = "F")]
    pub(crate) config: Option<std::path::PathBuf>,
    /// Exit 1 unless the loop has this state
    #[arg(long, value_name = "STATE", value_parser = ["passed"])]
    pub(crate) require: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Runs the command.
pub(crate) async fn run(world: &World, args: Args) -> Done {
    let _ = (world, args);
    Err(Failure::say("not built yet"))
}
