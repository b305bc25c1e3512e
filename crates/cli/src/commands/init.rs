//! `loop init`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use loop_git::{Repo, StatusLock};
use serde_json::json;

use crate::client::Client;
use crate::commands::DONE;
use crate::failure::Done;
use crate::here::{Here, under_way};
use crate::opening::present::{Present, look};
use crate::opening::{Plan, command_line};
use crate::output;
use crate::people::only_people;
use crate::scribe::Scribe;
use crate::turn_hooks;
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
    /// Also install each CLI's own hooks, which tell the router when a turn begins and ends
    #[arg(long)]
    pub(crate) turn_hooks: bool,
    /// Track the skill and the turn hooks in git instead of leaving them untracked and excluded
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
        if args.turn_hooks {
            return turn_hooks_alone(world, &client, &mut here, &args).await;
        }
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

/// A loop is here already, and only the turn hooks of its agents are wanted.
async fn turn_hooks_alone(world: &World, client: &Client, here: &mut Here, args: &Args) -> Done {
    let (config, _) = here.config(world)?;
    let repo = here.reader.repo();
    let root = &repo.place().worktree;
    let tracked = |path: &Path| turn_hooks::is_tracked(repo, &world.git_env, path);
    let wanted = turn_hooks::look(world, repo.place(), &config, args.share, &tracked)?;
    let new: Vec<String> =
        wanted.files.iter().filter(|file| file.is_new()).map(|file| file.shown(root)).collect();
    let mut own = Vec::new();
    if !args.dry_run {
        let mut scribe = Scribe::new(&client.store, root);
        match turn_hooks::write(&mut scribe, repo, &wanted, args.share).await {
            Ok(written) => own = written,
            Err(failure) => {
                scribe.undo().await?;
                return Err(failure);
            }
        }
    }
    if args.json {
        let status = match (args.dry_run, new.is_empty()) {
            (true, _) => "dry-run",
            (false, true) => "unchanged",
            (false, false) => "ok",
        };
        let id = here.row.as_ref().map(|row| &row.id);
        output::json(&json!({"status": status, "loop": id, "turn_hooks": new, "notes": wanted.notes}));
        return Ok(DONE);
    }
    output::line("there is a loop here already; nothing but the turn hooks was looked at.");
    let word = if args.dry_run { "would write" } else { "wrote" };
    for file in &new {
        output::line(format!("  {word} {file}"));
    }
    if new.is_empty() {
        output::line("  nothing to do: they are as they should be");
    }
    for note in &wanted.notes {
        output::line(format!("note: {note}"));
    }
    if !own.is_empty() {
        output::line("Commit these files to share them.");
    }
    Ok(DONE)
}
