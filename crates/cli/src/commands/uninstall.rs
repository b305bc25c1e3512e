//! `loop uninstall`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use loop_git::Repo;
use loop_store::LoopRow;
use serde_json::json;

use crate::client::Client;
use crate::commands::DONE;
use crate::daemon::stop_router;
use crate::failure::{Done, Failure};
use crate::giving_back::{Given, give_back};
use crate::output;
use crate::people::only_people;
use crate::world::World;

/// Give back every byte that loop wrote outside git's objects
///
/// In this repository and all of its worktrees: the hook, the entries in .git/info/exclude, the skill, and loop's
/// own folder in .git. What was changed since is kept and named. Branches and commits stay.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// In every repository, and the router and the state folder too; your config.yaml stays
    #[arg(long)]
    pub(crate) all: bool,
    /// Only say what would be done
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Runs the command.
pub(crate) async fn run(world: &World, args: Args) -> Done {
    if args.all {
        return everywhere(world, &args).await;
    }
    let repo = Repo::discover(&world.cwd)?;
    let client = Client::open(world).await?;
    let mut loops = client.store.loops(false).await?;
    loops.retain(|row| row.common_dir == repo.place().common_dir);
    may(&client, &loops, &args).await?;
    let given = give_back(world, &client, &repo, args.dry_run).await?;
    if args.json {
        output::json(&json!({"status": status(&args), "repositories": [given], "state": null}));
        return Ok(DONE);
    }
    if given.is_nothing() {
        output::line("nothing of loop's is left in this repository, outside of git's commits.");
        return Ok(DONE);
    }
    output::print(&given.text(args.dry_run));
    output::line(closing(&args, &repo));
    Ok(DONE)
}

fn status(args: &Args) -> &'static str {
    if args.dry_run { "dry-run" } else { "ok" }
}

/// What stays, and how it goes.
fn closing(args: &Args, repo: &Repo) -> String {
    let did = if args.dry_run { "Nothing was done. Branches" } else { "Branches" };
    let head = repo.head().ok();
    match head.as_ref().and_then(|head| head.branch()).filter(|branch| branch.starts_with("loop/")) {
        Some(branch) => {
            format!(
                "{did} and commits stay; you are on {branch}: `git switch` to another branch leaves its files behind."
            )
        }
        None => format!("{did} and commits stay."),
    }
}

/// Only a person may, and only while nothing runs.
async fn may(client: &Client, loops: &[LoopRow], args: &Args) -> Result<(), Failure> {
    for row in loops {
        only_people(client, row, "uninstall").await?;
    }
    let Some(up) = loops.iter().find(|row| row.up) else { return Ok(()) };
    if args.dry_run {
        return Ok(());
    }
    let down = if args.all { "loop down --all" } else { "loop down" };
    Err(Failure::say(format!("the loop in {} is up", up.worktree.display()))
        .next(format!("`{down}` first, then again")))
}

async fn everywhere(world: &World, args: &Args) -> Done {
    if !world.state_dir.exists() && world.settings.store.is_none() {
        // Opening the store would make the very folder that is to go.
        if args.json {
            output::json(&json!({"status": status(args), "repositories": [], "state": null}));
        } else {
            output::line("nothing of loop's is left.");
        }
        return Ok(DONE);
    }
    let client = Client::open(world).await?;
    let loops = client.store.loops(false).await?;
    may(&client, &loops, args).await?;
    let (repositories, missing) = repositories(&client).await?;
    let mut all: Vec<Given> = Vec::new();
    for repo in &repositories {
        all.push(give_back(world, &client, repo, args.dry_run).await?);
    }
    all.retain(|given| !given.is_nothing());
    let state = state_files(world, client.store.path());
    if !args.dry_run {
        if let Some(router) = &client.router {
            stop_router(world, router).await?;
        }
        client.store.close().await;
        remove(&state)?;
    }
    if args.json {
        output::json(
            &json!({"status": status(args), "repositories": all, "missing": missing, "state": state}),
        );
        return Ok(DONE);
    }
    for given in &all {
        output::print(&given.text(args.dry_run));
    }
    for path in &missing {
        output::line(format!(
            "{}\n  stays      it is not there any more, or cannot be opened",
            path.display()
        ));
    }
    let word = if args.dry_run { "would go" } else { "gone" };
    for path in &state {
        output::line(format!("{word}: {}", path.display()));
    }
    let settings = world.config_dir.join("config.yaml");
    let yours = if settings.exists() { format!(" So does {}.", settings.display()) } else { String::new() };
    let did = if args.dry_run { "Nothing was done. " } else { "" };
    output::line(format!("{did}Branches and commits stay.{yours}"));
    Ok(DONE)
}

/// Every repository that the journal or a loop names, each once; and the folders that are none any more.
async fn repositories(client: &Client) -> Result<(Vec<Repo>, Vec<PathBuf>), Failure> {
    let writes = client.store.list_writes(None).await?.into_iter().filter_map(|row| row.write.repo);
    let loops = client.store.loops(true).await?.into_iter();
    let mut folders: Vec<PathBuf> =
        writes.chain(loops.flat_map(|row| [row.worktree, row.common_dir])).collect();
    folders.sort();
    folders.dedup();
    let mut found: BTreeMap<PathBuf, Repo> = BTreeMap::new();
    let mut missing = Vec::new();
    for folder in folders {
        match Repo::discover(&folder) {
            Ok(repo) => {
                found.entry(repo.place().common_dir.clone()).or_insert(repo);
            }
            Err(_) => missing.push(folder),
        }
    }
    // A git directory is no working tree; and a linked worktree that is gone has its repository still.
    missing.retain(|folder| !found.contains_key(folder) && !folder.ends_with(".git"));
    Ok((found.into_values().collect(), missing))
}

/// The state folder, and the store's files where the user has put them elsewhere.
fn state_files(world: &World, store: &Path) -> Vec<PathBuf> {
    let mut files = vec![world.state_dir.clone()];
    if !store.starts_with(&world.state_dir) {
        files.extend(["", "-wal", "-shm"].map(|end| {
            let mut name = store.as_os_str().to_owned();
            name.push(end);
            PathBuf::from(name)
        }));
    }
    files.retain(|file| file.exists());
    files
}

fn remove(paths: &[PathBuf]) -> Result<(), Failure> {
    for path in paths {
        let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        match removed {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Failure::users(
                    anyhow::Error::new(error).context(format!("cannot remove {}", path.display())),
                ));
            }
            _ => {}
        }
    }
    Ok(())
}
