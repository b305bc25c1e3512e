//! `loop completions`.

use clap::CommandFactory;

use crate::commands::{Cli, DONE};
use crate::failure::Done;
use crate::world::World;

/// Print a completion script for your shell
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// bash, zsh, fish, elvish or powershell
    pub(crate) shell: clap_complete::Shell,
}

/// Runs the command.
pub(crate) async fn run(_world: &World, args: Args) -> Done {
    clap_complete::generate(args.shell, &mut Cli::command(), "loop", &mut std::io::stdout());
    Ok(DONE)
}
