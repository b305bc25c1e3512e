//! Opening a loop: everything is checked first, then done, and taken back when it cannot be finished.

pub(crate) mod command_line;
mod new_config;
mod place;
pub(crate) mod present;
mod saying;
mod task;

use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use loop_core::{Config, status};
use loop_git::{
    Blob, CommitId, CommitOpts, GitError, Head, ID_TRAILER, INIT_TRAILER, Place, Repo, commit_paths,
    copy_included, switch_new_branch, worktree_add,
};
use loop_router::reading::{CONFIG_FILE, ReadError, Reader};
use loop_router::steer::Steer;
use loop_store::{LoopRow, NewLoop};

use crate::casting;
use crate::client::Client;
use crate::commands::init::Args;
use crate::commands::trust::approve;
use crate::failure::Failure;
use crate::here::Here;
use crate::notifier;
use crate::output;
use crate::scribe::Scribe;
use crate::skills;
use crate::turn_hooks::{self, Wanted};
use crate::world::World;
use new_config::new_config;
use place::{branch, changed, sibling};
use saying::Opened;
use task::{fill_template, task};

/// What was written.
struct Written {
    commit: String,
    /// What the commit holds, relative to the repository.
    files: Vec<PathBuf>,
    /// What became of the notifier, where it is in place.
    hook: Option<&'static str>,
}

/// Everything that is going to be done, checked before anything is.
pub(crate) struct Plan {
    id: String,
    title: String,
    slug: String,
    /// Where the loop's working tree is, or will be.
    root: PathBuf,
    status: String,
    config: Config,
    config_text: String,
    /// This text holds without a further question.
    approved: bool,
    /// Whether the notifier is in place already.
    has_hook: bool,
    /// To be written; otherwise it stands there already.
    writes_config: bool,
    /// Where a worktree starts.
    start: CommitId,
    branch: Option<String>,
    worktree: Option<PathBuf>,
    take: Vec<PathBuf>,
    share: bool,
    /// Whether the CLIs' own hooks are wanted, and how they stand now.
    turn_hooks: Option<Wanted>,
    skills: Vec<String>,
    notes: Vec<String>,
}

impl Plan {
    /// Checks everything.
    pub(crate) async fn make(
        world: &World,
        client: &Client,
        here: &Here,
        args: &Args,
    ) -> Result<Self, Failure> {
        let repo = here.reader.repo();
        let head = repo.head()?;
        let Some(tip) = head.tip() else {
            return Err(Failure::say("this repository has no commit yet")
                .next("make one: git commit --allow-empty -m \"first\""));
        };
        let git = repo.git(&world.git_env);
        let (person, _) = git.identity().map_err(|error| match error.hint() {
            Some(hint) => Failure::users(error).next(hint),
            None => Failure::users(error),
        })?;
        let (title, task) = task(world, args)?;
        let slug = casting::slug(&title);
        let mut notes = Vec::new();
        let start = if args.worktree {
            let status_file = here.config(world).map(|(config, _)| config.status_file);
            place::start(repo, tip, status_file.as_deref().unwrap_or("STATUS.md"), &slug, &mut notes)?
        } else {
            tip.clone()
        };
        // What is not committed at a worktree's start does not come with it.
        let comes_along = !args.worktree || !matches!(repo.blob(&start, CONFIG_FILE)?, Blob::Missing);
        let names = !args.agents.is_empty() || args.planner.is_some() || args.pass.is_some();
        let existing = match here.reader.config_text(Some(&start)) {
            Ok(_) if names && !comes_along => None,
            Ok(text) => Some(text),
            Err(ReadError::NoConfig(_)) => None,
            Err(error) => return Err(error.into()),
        };
        let config_is_new = existing.is_none();
        let config_text = match existing {
            Some(text) => {
                if names {
                    notes.push("the loop.yaml that is here is used as it is; --agent, --planner and --pass say nothing".to_owned());
                }
                text
            }
            None => new_config(world, repo, args, &person, &mut notes)?,
        };
        let config = Config::parse(&config_text, CONFIG_FILE, &world.settings.kinds).map_err(Failure::say)?;
        let in_the_way = match args.worktree {
            true => repo.blob(&start, &config.status_file)?,
            false => repo.worktree_file(&config.status_file)?,
        };
        if !matches!(in_the_way, Blob::Missing) {
            return Err(foreign());
        }
        let id = uuid::Uuid::now_v7().to_string();
        let status = fill_template(&title, &task, &id, &config);
        let read = status::parse(status.as_bytes(), &config.cast()).map_err(Failure::say)?;
        if !read.turns.is_empty() || read.loop_id.as_deref() != Some(id.as_str()) {
            return Err(Failure::say("the task holds lines that read as sections of an agent (`## NAME: …`) or leaves a block open")
                .next("indent those lines or put them into a code block, and close what is open"));
        }
        let take = changed(world, repo, args)?;
        let branch = branch(repo, &head, args, &slug)?;
        let worktree = args.worktree.then(|| sibling(repo, &slug));
        if let Some(path) = &worktree
            && path.exists()
        {
            return Err(Failure::say(format!("{} is there already", path.display()))
                .next("move it away, or choose another title"));
        }
        let turn_hooks = match args.turn_hooks {
            true => {
                Some(turn_hooks_of(world, repo, &config, args.share, worktree.as_deref().zip(Some(&start)))?)
            }
            false => None,
        };
        let mut skills = skills::folders(&config);
        let tree = args.worktree.then_some(&start);
        for other in skills::tracked_with_other_words(repo, &world.git_env, &skills, tree)? {
            notes.push(other.note(&config));
            skills.retain(|folder| *folder != other.folder);
        }
        let approved = config_is_new || is_known(client, repo, &config_text).await?;
        if !approved {
            notes.push("this loop.yaml was not written by you here: `loop up` shows it and asks".to_owned());
        }
        let hook = loop_hooks::status(&repo.place().worktree, &world.hook_env(), false);
        Ok(Self {
            approved,
            has_hook: hook.is_ok_and(|status| status.current),
            skills,
            root: worktree.clone().unwrap_or_else(|| repo.place().worktree.clone()),
            id,
            title,
            slug,
            status,
            config,
            config_text,
            writes_config: config_is_new || !comes_along,
            start,
            branch,
            worktree,
            take,
            share: args.share,
            turn_hooks,
            notes,
        })
    }

    /// Does it all.
    pub(crate) async fn carry_out(
        &self,
        world: &World,
        client: &Client,
        here: &Here,
    ) -> Result<Opened, Failure> {
        let from = here.reader.repo();
        let before = from.head()?;
        if !self.take.is_empty() {
            let mut on_slow = || output::note("loop: git has not finished after 10 s");
            let git = from.git(&world.git_env);
            commit_paths(
                &git,
                &self.take,
                "Work in progress before the loop",
                CommitOpts::usual(&mut on_slow),
            )?;
        }
        let mut notes = self.notes.clone();
        let moved;
        let repo = match (&self.worktree, &self.branch) {
            (Some(path), Some(branch)) => {
                worktree_add(&from.git(&world.git_env), path, branch, &self.start)?;
                let copied = copy_included(from, &world.git_env, path)?;
                if !copied.is_empty() {
                    notes.push(format!("{} files of .worktreeinclude were copied", copied.len()));
                }
                moved = Reader::open(path, &world.git_env)?;
                moved.repo()
            }
            (_, Some(branch)) => {
                switch_new_branch(&from.git(&world.git_env), branch)?;
                from
            }
            _ => from,
        };
        let mut scribe = Scribe::new(&client.store, &repo.place().worktree);
        let written = self.write(world, repo, &mut scribe, &mut notes).await;
        let written = match written {
            Ok(written) => written,
            Err(failure) => {
                scribe.undo().await?;
                self.leave_branch(world, from, repo, &before)?;
                return Err(failure);
            }
        };
        let row = self.make_known(client, here, repo).await?;
        self.approve(world, client, &row, &mut notes).await?;
        Ok(Opened { row, commit: written.commit, files: written.files, hook: written.hook, notes })
    }

    /// The files, the hook and the one commit.
    async fn write(
        &self,
        world: &World,
        repo: &Repo,
        scribe: &mut Scribe<'_>,
        notes: &mut Vec<String>,
    ) -> Result<Written, Failure> {
        let root = repo.place().worktree.clone();
        let mut own = vec![PathBuf::from(&self.config.status_file), PathBuf::from(CONFIG_FILE)];
        scribe.file(&root.join(&self.config.status_file), self.status.as_bytes()).await?;
        if self.writes_config {
            scribe.file(&root.join(CONFIG_FILE), self.config_text.as_bytes()).await?;
        }
        own.extend(skills::write(scribe, repo, &self.skills, self.share).await?);
        if self.turn_hooks.is_some() {
            let wanted = turn_hooks_of(world, repo, &self.config, self.share, None)?;
            own.extend(turn_hooks::write(scribe, repo, &wanted, self.share).await?);
            notes.extend(wanted.notes);
        }
        let hook = notifier::install_with_notes(world, &root, scribe, notes).await?;
        let message =
            format!("loop: start {}\n\n{INIT_TRAILER}: {}\n{ID_TRAILER}: {}\n", self.title, self.id, self.id);
        let mut nothing = || {};
        let opts = CommitOpts::of_loop(&mut nothing);
        // An existing loop.yaml that is committed and unchanged is no part of this commit.
        let dirty = repo.dirty(&world.git_env)?;
        own.retain(|path| {
            dirty.iter().any(|dirty| dirty.path == *path) || *path == Path::new(&self.config.status_file)
        });
        let committed = commit_paths(&repo.git(&world.git_env), &own, &message, opts).map_err(|error| {
            let hint = match &error {
                GitError::Refused { words, .. } if words.contains("ignored") => Some(
                    "STATUS.md and loop.yaml must not be ignored by git: the commit is how agents talk"
                        .to_owned(),
                ),
                error => error.hint(),
            };
            match hint {
                Some(hint) => Failure::users(error).next(hint),
                None => Failure::users(error),
            }
        })?;
        Ok(Written { commit: committed.id.to_string(), files: own, hook })
    }

    /// After a failure: back to where the user was.
    fn leave_branch(&self, world: &World, from: &Repo, repo: &Repo, before: &Head) -> Result<(), Failure> {
        let Some(branch) = &self.branch else { return Ok(()) };
        let git = from.git(&world.git_env);
        let minute = Duration::from_secs(60);
        if self.worktree.is_some() {
            loop_git::worktree_remove(&git, &repo.place().worktree)?;
        } else {
            match before {
                Head::Branch { name, .. } => {
                    git.succeed("switch back", &["switch", "--quiet", name], minute)?
                }
                Head::Detached(commit) => {
                    git.succeed("switch back", &["switch", "--quiet", "--detach", commit.as_str()], minute)?
                }
            };
        }
        git.succeed("remove the branch", &["branch", "--quiet", "-D", branch], minute)?;
        Ok(())
    }

    async fn make_known(&self, client: &Client, here: &Here, repo: &Repo) -> Result<LoopRow, Failure> {
        // A loop that was here before and whose STATUS.md is gone has ended.
        if self.worktree.is_none()
            && let Some(old) = &here.row
        {
            client.end_loop(&old.id).await?;
        }
        let head = repo.head()?;
        let branch =
            head.branch().ok_or_else(|| Failure::say("HEAD is detached; a loop lives on a branch"))?;
        let place = repo.place();
        client
            .add_loop(&NewLoop {
                id: self.id.clone(),
                worktree: place.worktree.clone(),
                common_dir: place.common_dir.clone(),
                branch: branch.to_owned(),
                status_file: self.config.status_file.clone(),
                slug: self.slug.clone(),
                created_at: Timestamp::now(),
            })
            .await
    }

    /// What this command wrote itself is approved; so is what was approved for an earlier loop. `setup` runs only then.
    async fn approve(
        &self,
        world: &World,
        client: &Client,
        row: &LoopRow,
        notes: &mut Vec<String>,
    ) -> Result<(), Failure> {
        let setup = self.config.setup.as_ref().filter(|_| self.worktree.is_some());
        if self.approved {
            client.steer(&row.id, &Steer::Trust { text: self.config_text.clone() }).await?;
        } else if setup.is_some() && output::can_ask() {
            approve(client, row, &self.config, &self.config_text, false).await?;
        } else {
            if setup.is_some() {
                notes.push("`setup` was not run: approve loop.yaml, then run it in the worktree".to_owned());
            }
            return Ok(());
        }
        if let Some(setup) = setup {
            run_setup(world, setup, &row.worktree)?;
        }
        Ok(())
    }
}

/// Looks which turn hooks are to be written; in a worktree to be made nothing is there but what its commit holds.
fn turn_hooks_of(
    world: &World,
    repo: &Repo,
    config: &Config,
    share: bool,
    new: Option<(&Path, &CommitId)>,
) -> Result<Wanted, Failure> {
    let Some((path, start)) = new else {
        let tracked = |path: &Path| turn_hooks::is_tracked(repo, &world.git_env, path);
        return turn_hooks::look(world, repo.place(), config, share, &tracked);
    };
    let place = Place { worktree: path.to_owned(), linked: true, ..repo.place().clone() };
    let tracked = |path: &Path| {
        let blob = repo.blob(start, &path.to_string_lossy())?;
        Ok(!matches!(blob, Blob::Missing))
    };
    turn_hooks::look(world, &place, config, share, &tracked)
}

/// Whether this user has approved this text for an earlier loop of the repository.
async fn is_known(client: &Client, repo: &Repo, text: &str) -> Result<bool, Failure> {
    let hash = loop_core::config::hash(text);
    let common_dir = &repo.place().common_dir;
    let loops = client.store.loops(true).await?;
    Ok(loops
        .iter()
        .any(|old| old.approved.as_deref() == Some(hash.as_str()) && old.common_dir == *common_dir))
}

fn run_setup(world: &World, setup: &[String], worktree: &Path) -> Result<(), Failure> {
    let Some((program, arguments)) = setup.split_first() else { return Ok(()) };
    output::note(format!("running setup: {}", setup.join(" ")));
    let git_variables = world.env.keys().filter(|name| name.starts_with("GIT_"));
    let mut command = std::process::Command::new(program);
    command.args(arguments).current_dir(worktree).stdin(std::process::Stdio::null());
    for name in git_variables {
        command.env_remove(name);
    }
    let status = command.status().map_err(|error| {
        Failure::users(anyhow::Error::new(error).context(format!("cannot start setup ({program})")))
    })?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::say(format!("setup ended with {status}"))
        .next(format!("the loop is open in {}; mend setup there, then `loop up`", quoted(worktree))))
}

/// A path as it is to be pasted into a shell.
pub(crate) fn quoted(path: &Path) -> String {
    shell_words::quote(&path.to_string_lossy()).into_owned()
}

/// Refuses to overwrite a STATUS.md of somebody's.
pub(crate) fn foreign() -> Failure {
    Failure::say("there is a STATUS.md here that is no loop's, and it is not overwritten").next(
        "move it away, or let the loop use another file: `status_file: LOOP.md` in a loop.yaml of yours",
    )
}
