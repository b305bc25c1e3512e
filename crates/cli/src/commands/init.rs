//! `loop init`.

use crate::failure::{Done, Failure};
use crate::world::World;

/// Open a loop in this repository: STATUS.md, loop.yaml, the skill and the hook
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Args {
    /// What is to be done, in a few words
    pub(crate) task: Option<String>,
    /// Read the task from a file (`-`: standard input); its first line is the title
    #[arg(long, value_name = "F", conflicts_with = "task")]
    pub(crate) task_file: Option<std::path::PathBuf>,
    /// An agent of the rotation, in order: NAME or NAME=KIND
    #[arg(long = "agent", value_name = "NAME[=KIND]")]
    pub(crate) agents: Vec<String>,
    /// Who plans: opens and closes the loop
    #[arg(long, value_name = "NAME")]
    pub(crate) planner: Option<String>,
    /// Who may end the loop: any, other, all, or names separated by commas
    #[arg(long, value_name = "P")]
    pub(crate) pass: Option<String>,
    /// Stay on the present branch instead of making loop/<slug>
    #[arg(long)]
    pub(crate) here: bool,
    /// Use a linked worktree of HEAD for the loop
    #[arg(long, conflicts_with = "here")]
    pub(crate) worktree: bool,
    /// Commit your own changes first, in one commit of yours
    #[arg(long)]
    pub(crate) take_changes: bool,
    /// Track the skill in git instead of leaving it untracked and excluded
    #[arg(long)]
    pub(crate) share: bool,
    /// Only say what would be done
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Runs the command.
pub(crate) async fn run(world: &World, args: Args) -> Done {
    let _ = (world, args);
    Err(Failure::say("not built yet"))
}
