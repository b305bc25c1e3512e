//! `loop hooks`.

use std::path::PathBuf;
use std::process::ExitCode;

use loop_git::Repo;
use loop_hooks::{HookStatus, InstallOptions, Installed, Outcome, Proof};
use loop_store::Store;
use serde_json::json;

use crate::commands::DONE;
use crate::failure::{Done, Failure, USERS};
use crate::notifier::{self, old_way};
use crate::output;
use crate::scribe::{BY_HOOKS, Scribe, rows_of};
use crate::world::World;

/// Install, remove or prove the post-commit notifier
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) action: Action,
}

/// What to do with the hook.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Action {
    /// Install the notifier; existing hooks are kept
    Install {
        /// Also edit a hooks folder that is tracked in git
        #[arg(long)]
        tracked: bool,
    },
    /// Remove the notifier and give every byte back
    Uninstall,
    /// Prove with a probe commit that the notifier runs
    Status {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
}

/// Runs the command.
pub(crate) async fn run(world: &World, args: Args) -> Done {
    // Outside a repository nothing is made: it is looked for before the store is opened.
    let repo = Repo::discover(&world.cwd)?;
    match args.action {
        Action::Install { tracked } => install(world, &repo, tracked).await,
        Action::Uninstall => uninstall(world, &repo).await,
        Action::Status { json } => status(world, &repo, json),
    }
}

async fn install(world: &World, repo: &Repo, tracked: bool) -> Done {
    let store = Store::open(&world.store_url()).await?;
    let worktree = &repo.place().worktree;
    let mut scribe = Scribe::new(&store, worktree);
    let options = InstallOptions { force_tracked: tracked };
    let installed = notifier::install(world, worktree, &mut scribe, options).await?.map_err(|error| {
        Failure::users(error).next("mend that and try again; until then the router finds commits within 10 s")
    })?;
    output::print(&installed_words(&installed));
    let stands = matches!(installed.outcome, Outcome::Installed | Outcome::Updated | Outcome::AlreadyThere);
    Ok(if stands { DONE } else { ExitCode::from(USERS) })
}

fn installed_words(installed: &Installed) -> String {
    let file = installed.file.display();
    let by =
        installed.manager.map(|manager| format!(" ({manager} manages the hooks here)")).unwrap_or_default();
    let mut text = match &installed.outcome {
        Outcome::Installed => format!("installed: {file} rings the router after every commit{by}.\n"),
        Outcome::Updated => format!("updated: {file} rings the router after every commit{by}.\n"),
        Outcome::AlreadyThere => format!("nothing to do: {file} has the notifier already{by}.\n"),
        Outcome::ByHand { file, lines, why } => {
            let lines: String = lines.lines().map(|line| format!("    {line}\n")).collect();
            let tracked =
                if why.contains("tracks") { "; or `loop hooks install --tracked` adds them" } else { "" };
            format!(
                "not installed: {why}.\nAdd these lines to {} yourself{tracked}:\n{lines}",
                file.display()
            )
        }
        Outcome::Off { why } => format!("not installed: {why}.\n"),
    };
    for note in &installed.notes {
        text.push_str(&format!("note: {note}\n"));
    }
    for old in &installed.old_ways {
        text.push_str(&format!("note: {}\n", old_way(old)));
    }
    if matches!(installed.outcome, Outcome::Installed | Outcome::Updated | Outcome::AlreadyThere) {
        text.push_str("`loop hooks status` proves with a trial commit that it runs.\n");
    }
    text
}

async fn uninstall(world: &World, repo: &Repo) -> Done {
    let store = Store::open(&world.store_url()).await?;
    let worktree = &repo.place().worktree;
    let out = loop_hooks::uninstall(worktree, &world.hook_env()).map_err(Failure::users)?;
    for row in rows_of(&store, repo).await? {
        if row.write.after_hash.as_deref() == Some(BY_HOOKS) {
            store.remove_write(row.id).await?;
        }
    }
    if out.writes.is_empty() {
        output::line("nothing to do: the notifier is not installed here.");
    } else {
        let mut files: Vec<PathBuf> = out.writes.into_iter().map(|write| write.path).collect();
        files.dedup();
        output::line("removed; these are as they were before:");
        files.iter().for_each(|file| output::line(format!("  {}", file.display())));
    }
    out.notes.iter().for_each(|note| output::line(format!("note: {note}")));
    Ok(DONE)
}

fn status(world: &World, repo: &Repo, json: bool) -> Done {
    let status =
        loop_hooks::status(&repo.place().worktree, &world.hook_env(), true).map_err(Failure::users)?;
    let works = matches!(status.proof, Some(Proof::Works { .. }));
    if json {
        let mut value = serde_json::to_value(&status).map_err(Failure::ours)?;
        value["works"] = json!(works);
        output::json(&value);
    } else {
        output::print(&status_words(&status));
    }
    Ok(if works { DONE } else { ExitCode::from(USERS) })
}

fn status_words(status: &HookStatus) -> String {
    let mut text = match &status.proof {
        Some(Proof::Works { took_ms }) => {
            format!("works: a trial commit rang ({took_ms} ms, commit included).\n")
        }
        Some(Proof::NotRun { why }) => format!("does not work: {why}.\n"),
        Some(Proof::Bypassed { why }) => format!("does not work: the notifier is not reached: {why}\n"),
        Some(Proof::Unproven { why }) => format!("unproven: the trial commit could not be made: {why}\n"),
        None => String::new(),
    };
    text.push_str(&format!("  hooks folder  {}\n", status.folder.display()));
    if let Some(hooks_path) = &status.hooks_path {
        text.push_str(&format!("  set by        core.hooksPath = {hooks_path}\n"));
    }
    if let Some(manager) = status.manager {
        text.push_str(&format!("  managed by    {manager}\n"));
    }
    for file in &status.sections {
        text.push_str(&format!("  notifier in   {}\n", file.display()));
    }
    if !status.sections.is_empty() && !status.current {
        text.push_str("note: it calls another `loop`, or in an older form; `loop hooks install` renews it\n");
    }
    for note in &status.notes {
        text.push_str(&format!("note: {note}\n"));
    }
    for old in &status.old_ways {
        text.push_str(&format!("note: {}\n", old_way(old)));
    }
    text
}
