//! `loop archive`.

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use loop_core::decide::{Decision, Hold};
use loop_core::manifest::{Manifest, ManifestCommit};
use loop_core::plain::plain;
use loop_git::{ARCHIVE_TRAILER, Blob, CommitId, CommitOpts, ID_TRAILER, Repo, commit_paths};
use loop_router::reading::{Observed, unreadable};
use loop_router::relay::headline;
use serde_json::json;

use crate::casting;
use crate::client::Client;
use crate::commands::commit::on_the_loops_branch;
use crate::commands::{DONE, down};
use crate::failure::{COMMAND_LINE, Done, Failure};
use crate::here::Here;
use crate::output;
use crate::people::only_people;
use crate::world::World;

/// Move the finished loop to the archive folder and say how to merge
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Another archive folder
    #[arg(long, value_name = "D")]
    pub(crate) dir: Option<String>,
    /// Wait until the loop has passed
    #[arg(long)]
    pub(crate) when_passed: bool,
    /// Make one commit of the loop's commits on a branch of its own, for a tidy merge
    #[arg(long)]
    pub(crate) squash: bool,
    /// Archive although the loop has not passed, or code changed after the pass
    #[arg(long)]
    pub(crate) force: bool,
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
    if let Some(row) = &here.row {
        only_people(&client, row, "archive").await?;
    }
    if args.when_passed {
        wait_until_passed(world, &client).await?;
        here = Here::open(world, Some(&client.store)).await?;
    }
    let observed = here.observed(world)?;
    on_the_loops_branch(&here)?;
    refuse_unfinished(&observed, args.force)?;
    let plan = Plan::make(&here, &observed, &args)?;
    if args.dry_run {
        if args.json {
            output::json(
                &json!({"status": "dry-run", "folder": plan.folder, "files": plan.files.iter().map(|(name, _)| name).collect::<Vec<_>>()}),
            );
        } else {
            output::line(format!("this would go to {}, and nothing was done:", plan.folder));
            for (name, bytes) in &plan.files {
                output::line(format!("  {name}  {} bytes", bytes.len()));
            }
        }
        return Ok(DONE);
    }
    let commit = plan.carry_out(world, here.reader.repo(), &observed)?;
    let squashed = if args.squash { Some(squash(world, here.reader.repo(), &plan, &commit)?) } else { None };
    let mut closed = 0;
    if let Some(row) = &here.row {
        closed = down::close(world, &client, row).await?;
        client.end_loop(&row.id).await?;
    }
    let branch = here.reader.repo().head()?.branch().unwrap_or("HEAD").to_owned();
    let merge = merge_words(world, here.reader.repo(), &branch, squashed.as_deref());
    if args.json {
        output::json(&json!({
            "status": "ok", "folder": plan.folder, "commit": commit, "branch": branch, "squashed": squashed, "merge": merge,
            "windows": closed,
        }));
    } else {
        output::line(format!("archived: {} ({})", plan.folder, commit.short()));
        if let Some(squashed) = &squashed {
            output::line(format!("one commit of the whole loop is on {squashed}"));
        }
        if closed > 0 {
            output::line(format!("closed: {} of the agents", down::windows(closed)));
        }
        output::line(format!("to merge: {merge}"));
    }
    Ok(DONE)
}

/// Only a loop that has passed, and whose code is the passed one, is put away without `--force`.
fn refuse_unfinished(observed: &Observed, force: bool) -> Result<(), Failure> {
    match &observed.decided.decision {
        _ if force => Ok(()),
        Decision::Passed { unreviewed: 0, .. } => Ok(()),
        Decision::Passed { unreviewed, commit, .. } => {
            let passed =
                commit.as_deref().map_or("the pass", |commit| &commit[..7.min(commit.len())]).to_owned();
            let commits = if *unreviewed == 1 { "1 commit" } else { &format!("{unreviewed} commits") };
            Err(Failure::say(format!("passed at {passed}, {commits} since are unreviewed"))
                .next("`loop say` reopens the loop for a review; --force archives all the same"))
        }
        decision => {
            let (text, _) = headline(decision);
            Err(Failure::say(format!("the loop has not passed: {}", plain(&text)))
                .next("`loop accept` ends it as passed by you; --force archives it unfinished"))
        }
    }
}

async fn wait_until_passed(world: &World, client: &Client) -> Result<(), Failure> {
    loop {
        let mut here = Here::open(world, Some(&client.store)).await?;
        let observed = here.observed(world)?;
        match &observed.decided.decision {
            Decision::Passed { .. } => return Ok(()),
            Decision::Wake { .. } | Decision::Held { why: Hold::Verifying, .. } => {}
            Decision::Held { reason, next, .. } => return Err(Failure::say(reason).next(next.clone())),
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// What goes into the archive.
struct Plan {
    title: String,
    id: String,
    /// Relative to the repository.
    folder: String,
    files: Vec<(&'static str, Vec<u8>)>,
    status_file: String,
    base: Option<CommitId>,
}

impl Plan {
    fn make(here: &Here, observed: &Observed, args: &Args) -> Result<Self, Failure> {
        let repo = here.reader.repo();
        let status_file = observed.config.status_file.clone();
        let text = observed.status.text.as_bytes();
        match repo.worktree_file(&status_file)? {
            Blob::File(bytes) if bytes == text => {}
            Blob::File(_) => {
                return Err(Failure::say(format!(
                    "{status_file} has changes that are not committed, and they would be lost"
                ))
                .next("commit them, or `git checkout -- STATUS.md` puts the committed text back"));
            }
            Blob::Missing => {}
            blob => return Err(Failure::say(unreadable(&status_file, &blob))),
        }
        let archive = args.dir.clone().unwrap_or_else(|| observed.config.archive.clone());
        let inside = Path::new(&archive)
            .components()
            .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if !inside {
            return Err(
                Failure::say(format!("{archive} is not a folder inside the repository")).code(COMMAND_LINE)
            );
        }
        let slug = here.row.as_ref().map_or_else(
            || casting::slug(&loop_core::task::title(&observed.status).unwrap_or_default()),
            |row| row.slug.clone(),
        );
        let now = Timestamp::now();
        let date = TimeZone::system().to_datetime(now).date();
        let root = &repo.place().worktree;
        let name = |number: usize| match number {
            1 => format!("{archive}/{date}-{slug}"),
            _ => format!("{archive}/{date}-{slug}-{number}"),
        };
        let folder = (1..).map(name).find(|folder| !root.join(folder).exists()).unwrap_or_default();
        let patch = match &observed.start {
            Some(start) => repo.patch(start, &observed.tip, &|path| path == status_file)?,
            None => Vec::new(),
        };
        let manifest = manifest(here, observed, now)?;
        Ok(Self {
            title: loop_core::task::title(&observed.status).unwrap_or_else(|| slug.clone()),
            id: observed.status.loop_id.clone().unwrap_or_default(),
            folder,
            files: vec![
                ("STATUS.md", text.to_vec()),
                ("manifest.json", manifest.into_bytes()),
                ("loop.patch", patch),
            ],
            status_file,
            base: observed.start.clone(),
        })
    }

    /// Writes the files, removes STATUS.md and commits both in one commit of loop's own; taken back when git refuses.
    fn carry_out(&self, world: &World, repo: &Repo, observed: &Observed) -> Result<CommitId, Failure> {
        let root = repo.place().worktree.clone();
        let made = make_folders(&root, &self.folder)?;
        let result = self.write_and_commit(world, repo, &root);
        if result.is_err() {
            for (name, _) in &self.files {
                // Whatever was not written yet is not there.
                let _ = std::fs::remove_file(root.join(&self.folder).join(name));
            }
            for folder in made.iter().rev() {
                let _ = std::fs::remove_dir(folder);
            }
            let status = root.join(&self.status_file);
            if !status.exists() {
                std::fs::write(&status, &observed.status.text)
                    .map_err(|error| cannot("put back", &status, error))?;
            }
        }
        result
    }

    fn write_and_commit(&self, world: &World, repo: &Repo, root: &Path) -> Result<CommitId, Failure> {
        let mut paths = vec![PathBuf::from(&self.status_file)];
        for (name, bytes) in &self.files {
            let relative = Path::new(&self.folder).join(name);
            let path = root.join(&relative);
            std::fs::write(&path, bytes).map_err(|error| cannot("write", &path, error))?;
            paths.push(relative);
        }
        let status = root.join(&self.status_file);
        match std::fs::remove_file(&status) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(cannot("remove", &status, error));
            }
            _ => {}
        }
        let message = format!(
            "loop: archive {}\n\n{ARCHIVE_TRAILER}: {}\n{ID_TRAILER}: {}\n",
            self.title, self.id, self.id
        );
        let mut nothing = || {};
        let opts = CommitOpts::of_loop(&mut nothing);
        let committed = commit_paths(&repo.git(&world.git_env), &paths, &message, opts).map_err(|error| {
            let hint = error.hint();
            let failure = Failure::users(error);
            match hint {
                Some(hint) => failure.next(hint),
                None => failure.next("nothing was changed; mend the cause and try again"),
            }
        })?;
        Ok(committed.id)
    }
}

fn manifest(here: &Here, observed: &Observed, now: Timestamp) -> Result<String, Failure> {
    let repo = here.reader.repo();
    let version = env!("CARGO_PKG_VERSION");
    let mut manifest = Manifest::new(
        &observed.status,
        &observed.config,
        &observed.facts,
        &observed.decided.decision,
        version,
        now,
    );
    manifest.branch = repo.head()?.branch().map(str::to_owned);
    let log = repo.log_between(observed.start.as_ref(), &observed.tip)?;
    manifest.started_at = match &observed.start {
        Some(start) => Some(repo.commit_info(start)?.time),
        None => log.first().map(|commit| commit.time),
    };
    for turn in &mut manifest.turns {
        let commit = log.iter().find(|commit| Some(commit.id.as_str()) == turn.commit.as_deref());
        turn.at = commit.map(|commit| commit.time);
    }
    manifest.commits = log
        .into_iter()
        .map(|commit| ManifestCommit {
            id: commit.id.to_string(),
            by: commit.loop_agent.unwrap_or(commit.author_name),
            subject: commit.subject,
            at: commit.time,
        })
        .collect();
    manifest.to_json().map_err(Failure::ours)
}

/// Makes the archive's folders; returns those that were made, outermost first.
fn make_folders(root: &Path, folder: &str) -> Result<Vec<PathBuf>, Failure> {
    let mut made = Vec::new();
    let mut path = root.to_owned();
    for part in Path::new(folder).components() {
        path.push(part);
        if !path.is_dir() {
            std::fs::create_dir(&path).map_err(|error| cannot("make", &path, error))?;
            made.push(path.clone());
        }
    }
    Ok(made)
}

/// One commit with everything that the loop did, on a branch of its own that starts where the loop started.
fn squash(world: &World, repo: &Repo, plan: &Plan, tip: &CommitId) -> Result<String, Failure> {
    let Some(start) = &plan.base else {
        return Err(Failure::say(
            "the loop's first commit is not known, so there is nothing to make one commit of",
        )
        .next("`git merge --squash` does it by hand"));
    };
    let git = repo.git(&world.git_env);
    let minute = Duration::from_secs(60);
    let parents = repo.commit_info(start)?.parents;
    let branch = repo.head()?.branch().unwrap_or("loop").to_owned();
    let name =
        (1..)
            .map(|number| {
                if number == 1 { format!("{branch}-squashed") } else { format!("{branch}-squashed-{number}") }
            })
            .find(|name| repo.branch_is_free(name).unwrap_or(false))
            .unwrap_or_default();
    let tree = format!("{tip}^{{tree}}");
    let message = format!("{}\n\n{ID_TRAILER}: {}\n", plan.title, plan.id);
    let mut args = vec!["commit-tree".to_owned(), tree, "-m".to_owned(), message];
    for parent in parents.iter().take(1) {
        args.extend(["-p".to_owned(), parent.to_string()]);
    }
    let made = git.succeed("make one commit of the loop", &args, minute)?.line();
    repo.create_branch(&name, &made.trim().parse::<CommitId>()?)?;
    Ok(name)
}

/// What to paste into a shell to merge the loop.
fn merge_words(world: &World, repo: &Repo, branch: &str, squashed: Option<&str>) -> String {
    let from = shell_words::quote(squashed.unwrap_or(branch)).into_owned();
    match repo.default_branch() {
        Some(default) if default != branch => {
            let quoted = shell_words::quote(&default).into_owned();
            match checked_out_at(world, repo, &default) {
                // A branch is checked out in one worktree only.
                Some(folder) => format!("git -C {} merge {from}", shell_words::quote(&folder)),
                None => format!("git switch {quoted} && git merge {from}"),
            }
        }
        _ if squashed.is_some() => format!("git merge {from} into a branch of your choice"),
        _ => format!("nothing to merge: the loop lived on {branch}"),
    }
}

/// The other worktree in which a branch is checked out.
fn checked_out_at(world: &World, repo: &Repo, branch: &str) -> Option<String> {
    let list = ["worktree", "list", "--porcelain"];
    let listed =
        repo.git(&world.git_env).succeed("list the worktrees", &list, Duration::from_secs(60)).ok()?;
    worktree_of(&String::from_utf8_lossy(&listed.stdout), branch)
}

/// Finds a branch's worktree in what `git worktree list --porcelain` says.
fn worktree_of(listed: &str, branch: &str) -> Option<String> {
    let line = format!("branch refs/heads/{branch}");
    let entry = listed.split("\n\n").find(|entry| entry.lines().any(|other| other == line))?;
    entry.lines().find_map(|line| line.strip_prefix("worktree ")).map(str::to_owned)
}

fn cannot(what: &str, path: &Path, error: std::io::Error) -> Failure {
    Failure::users(anyhow::Error::new(error).context(format!("cannot {what} {}", path.display())))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_branch_is_found_in_its_worktree() {
        let listed = "worktree /a b\nHEAD 1\nbranch refs/heads/main\n\nworktree /c\nHEAD 2\ndetached\n\nworktree /d\nHEAD 3\nbranch refs/heads/loop/x\n\n";
        for (branch, expected) in
            [("main", Some("/a b")), ("loop/x", Some("/d")), ("x", None), ("loop", None)]
        {
            assert_eq!(worktree_of(listed, branch).as_deref(), expected);
        }
    }
}
