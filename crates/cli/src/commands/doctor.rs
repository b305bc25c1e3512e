//! `loop doctor`.

use crate::doctor::examine;
use crate::failure::Done;
use crate::world::World;

/// Prove, by doing, that each piece works here
///
/// Nothing stays behind: trial commits, windows and writes are made where nothing sees them, or taken back.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Runs the command.
pub(crate) async fn run(world: &World, args: Args) -> Done {
    Ok(examine(world, args.json).await)
}
