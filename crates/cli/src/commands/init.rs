//! `loop init`.

use std::path::PathBuf;
use std::time::Duration;

use loop_git::{Repo, StatusLock};
use serde_json::json;

use crate::commands::DONE;
use crate::failure::Done;
use crate::here::{Here, under_way};
use crate::opening::present::{Present, look};
use crate::opening::{Plan, command_line};
use crate::output;
use crate::people::only_people;
use crate::world::World;

/// How long another `loop init` of the same repository may take.
const OPENING_WAIT: Duration = Duration::from_secs(120);

/// Open a loop in this repository: STATUS.md, loop.yaml, the skill and the hook
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Args {
    /// What is to be done, in a few words
    pub(crate) task: Option<String>,
    /// Read the task from a file (`-`: standard input); its first line is the title
    #[arg(long, value_name = "F", conflicts_with = "task")]
    pub(crate) task_file: Option<PathBuf>,
    /// An agent of the rotation, in order: NAME or NAME=KIND
    #[arg(long = "agent", value_name = "NAME[=KIND]")]
    pub(crate) agents: Vec<String>,
    /// Who plans: opens and closes the loop
    #[arg(long, value_name = "NAME")]
    pub(crate) planner: Option<String>,
    /// Who may end the loop: any, other, all, or names separated by commas
    #[arg(long, value_name = "P")]
    pub(crate) pass: Option<String>,
    /// Stay on the present branch instead of making loop/SLUG
    #[arg(long)]
    pub(crate) here: bool,
    /// Use a linked worktree for the loop: of HEAD, or of the default branch where a loop lives on HEAD
    #[arg(long, conflicts_with_all = ["here", "take_changes"])]
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
    command_line::check(world, &args)?;
    let place = Repo::discover(&world.cwd)?.place().clone();
    // Of two at the same time the second sees the loop of the first.
    let _lock = if args.dry_run { None } else { Some(StatusLock::take_opening(&place, OPENING_WAIT)?) };
    let (client, mut here) = Here::with_client(world).await?;
    if let Some(row) = &here.row {
        only_people(&client, row, "init").await?;
    }
    if let Some(operation) = here.reader.repo().operation() {
        return Err(under_way(operation));
    }
    // In a worktree of its own a loop is in nobody's way.
    if !args.worktree
        && let Present::Loop { said, next } = look(world, &client, &mut here).await?
    {
        if args.json {
            let id = here.row.as_ref().map(|row| &row.id);
            output::json(&json!({"status": "unchanged", "loop": id, "said": said, "next": next}));
        } else {
            output::line(format!("{said}\nnext: {next}"));
        }
        return Ok(DONE);
    }
    let plan = Plan::make(world, &client, &here, &args).await?;
    if args.dry_run {
        if args.json {
            output::json(&plan.json());
        } else {
            output::print(&plan.text());
        }
        return Ok(DONE);
    }
    let opened = plan.carry_out(world, &client, &here).await?;
    if args.json {
        output::json(&json!({
            "status": "ok", "loop": opened.row.id, "branch": opened.row.branch,
            "worktree": opened.row.worktree, "commit": opened.commit, "notes": opened.notes,
        }));
    } else {
        output::print(&opened.text(&plan));
    }
    Ok(DONE)
}
