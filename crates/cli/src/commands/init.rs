//! `loop init`.

use std::path::PathBuf;

use loop_core::plain::plain;
use loop_git::Blob;
use loop_router::reading::Reading;
use serde_json::json;

use crate::commands::DONE;
use crate::failure::{Done, Failure};
use crate::here::Here;
use crate::opening::{Plan, foreign};
use crate::output;
use crate::people::only_people;
use crate::world::World;

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
    let (client, mut here) = Here::with_client(world).await?;
    if let Some(said) = there_already(world, &mut here)? {
        if args.json {
            output::json(
                &json!({"status": "unchanged", "loop": here.row.as_ref().map(|row| &row.id), "said": said}),
            );
        } else {
            output::line(said);
        }
        return Ok(DONE);
    }
    if let Some(row) = &here.row {
        only_people(&client, row, "init").await?;
    }
    let plan = Plan::make(world, &here, &args)?;
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

/// What stands in the place of a new loop: a loop that runs or has ended (nothing is changed), or somebody's file
/// (refused).
fn there_already(world: &World, here: &mut Here) -> Result<Option<String>, Failure> {
    match here.read(world) {
        Ok(Reading::Loop(observed)) if observed.status.loop_id.is_some() => {
            let (text, _) = loop_router::relay::headline(&observed.decided.decision);
            Ok(Some(format!("there is a loop here already, and nothing was changed. {}", plain(&text))))
        }
        Ok(Reading::Underway(operation)) => {
            Err(Failure::say(format!("{operation} is under way")).next("finish or abort it, then try again"))
        }
        Ok(Reading::Unreadable { why, .. }) => Err(Failure::say(why)),
        Ok(Reading::Idle { .. }) | Err(_) => match here.reader.repo().worktree_file("STATUS.md")? {
            Blob::Missing => Ok(None),
            _ => Err(foreign()),
        },
        Ok(Reading::Loop(_)) => Err(foreign()),
    }
}
