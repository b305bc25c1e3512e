//! The turn hooks of each agent's own CLI: written where it reads them, and looked at.

use std::path::{Path, PathBuf};
use std::time::Duration;

use loop_core::Config;
use loop_core::config::Agent;
use loop_git::{GitEnv, Place, Repo};
use loop_hooks::turn::{self, Call, Edit, Standing, TurnHooks};

use crate::failure::Failure;
use crate::scribe::Scribe;
use crate::world::World;

/// What is to be written for some agents' turn hooks.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    /// The files, each once.
    pub(crate) files: Vec<File>,
    /// What a person should know, one sentence each.
    pub(crate) notes: Vec<String>,
}

/// A settings file or plugin, and whose.
#[derive(Debug)]
pub(crate) struct File {
    hooks: &'static TurnHooks,
    /// The agents whose CLI reads it.
    pub(crate) agents: Vec<String>,
    /// Where it is.
    pub(crate) path: PathBuf,
    /// What is to be done; `None`: it stands there as it should.
    edit: Option<Edit>,
}

impl File {
    /// Says what it is for, below the repository's root where it lies there.
    pub(crate) fn shown(&self, root: &Path) -> String {
        let path = self.path.strip_prefix(root).unwrap_or(&self.path);
        format!("{} (turn hooks of {})", path.display(), self.agents.join(", "))
    }

    /// Whether it is to be written.
    pub(crate) fn is_new(&self) -> bool {
        self.edit.is_some()
    }
}

/// The kinds of hooks that a cast needs, each with its agents; and what cannot be installed.
fn kinds(config: &Config) -> (Vec<(&'static TurnHooks, Vec<String>)>, Vec<String>) {
    let mut kinds: Vec<(&'static TurnHooks, Vec<String>)> = Vec::new();
    let mut notes = Vec::new();
    for agent in &config.agents {
        let name = agent.name.to_string();
        let Some(kind) = &agent.profile.turn_hooks else {
            notes.push(format!("{name}: kind `{}` has no turn hooks that loop knows", agent.kind));
            continue;
        };
        match turn::find(kind) {
            None => {
                let known: Vec<&str> = turn::kinds().iter().map(|row| row.kind).collect();
                notes.push(format!(
                    "{name}: `turn_hooks: {kind}` names no hooks that loop knows (there are {})",
                    known.join(", ")
                ));
            }
            Some(hooks) => {
                if let Some(why) = hooks.by_hand() {
                    notes.push(format!("{name}: no turn hooks were installed for {}: {why}", hooks.about));
                    continue;
                }
                match kinds.iter_mut().find(|(known, _)| known.kind == hooks.kind) {
                    Some((_, agents)) => agents.push(name),
                    None => kinds.push((hooks, vec![name])),
                }
            }
        }
    }
    (kinds, notes)
}

/// Looks what has to be written so that the CLIs of a cast call `loop`; with `share` into the files that a team
/// shares, by name. Nothing is written.
///
/// `tracked` says whether git tracks a path of the working tree.
///
/// # Errors
/// Fails, naming the file and the place, when a settings file cannot be read.
pub(crate) fn look(
    world: &World,
    place: &Place,
    config: &Config,
    share: bool,
    tracked: &dyn Fn(&Path) -> Result<bool, Failure>,
) -> Result<Wanted, Failure> {
    let (kinds, notes) = kinds(config);
    let mut wanted = Wanted { notes, ..Wanted::default() };
    for (hooks, agents) in kinds {
        let path = hooks.path(&place.worktree, &main_worktree(place), share);
        let edit = turn::put_in(hooks, &path, &call(world, share)).map_err(|error| {
            Failure::users(error).next("nothing was written; mend that file, or leave out --turn-hooks")
        })?;
        let relative = path.strip_prefix(&place.worktree).ok();
        let tracked = relative.map_or(Ok(false), tracked)?;
        let there = edit.as_ref().is_some_and(|edit| edit.before.is_some());
        let why = match (&edit, share) {
            (None, _) => None,
            (Some(_), false) if tracked => {
                Some("git tracks it, so that your change would show; `--share` commits it")
            }
            (Some(_), true) if there && !tracked => Some(
                "it is not tracked by git, and what else is in it is not loop's to share; leave out --share, or commit it first",
            ),
            _ => None,
        };
        if let Some(why) = why {
            let shown = relative.unwrap_or(&path).display();
            wanted
                .notes
                .push(format!("no turn hooks were installed for {} in {shown}: {why}", agents.join(", ")));
            continue;
        }
        if let Some(once) = hooks.once.filter(|_| edit.is_some()) {
            wanted.notes.push(format!("{}: {once}", agents.join(", ")));
        }
        wanted.files.push(File { hooks, agents, path, edit });
    }
    Ok(wanted)
}

/// Whether git tracks a path of the working tree.
pub(crate) fn is_tracked(repo: &Repo, env: &GitEnv, path: &Path) -> Result<bool, Failure> {
    let path = path.to_string_lossy();
    let arguments = ["--literal-pathspecs", "ls-files", "--", &path];
    let listed = repo.git(env).succeed("list the tracked files", &arguments, Duration::from_secs(60))?;
    Ok(!listed.line().trim().is_empty())
}

/// Writes what is wanted; returns the files that belong into a commit (`share`). What was made for us is excluded
/// from git otherwise; what was there before shows as it did.
pub(crate) async fn write(
    scribe: &mut Scribe<'_>,
    repo: &Repo,
    wanted: &Wanted,
    share: bool,
) -> Result<Vec<PathBuf>, Failure> {
    let root = &repo.place().worktree;
    let main = main_worktree(repo.place());
    let mut own = Vec::new();
    let mut hidden = Vec::new();
    for file in &wanted.files {
        let Some(edit) = &file.edit else { continue };
        scribe.turn_hooks(edit, file.hooks.kind).await?;
        let inside = file.path.strip_prefix(root).or_else(|_| file.path.strip_prefix(&main));
        match inside {
            Ok(relative) if share => own.push(relative.to_owned()),
            Ok(relative) if edit.before.is_none() => hidden.push(format!("/{}", relative.display())),
            _ => {}
        }
    }
    scribe.exclude(repo, &hidden).await?;
    Ok(own)
}

/// How an agent's turn hooks stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stand {
    /// They were not installed, or its CLI has none.
    None,
    /// They call this `loop`.
    Current(PathBuf),
    /// They call another, or stand there in an older form.
    Other(PathBuf),
}

/// Looks how an agent's turn hooks stand, in its own settings file or in the shared one.
pub(crate) fn standing(world: &World, place: &Place, agent: &Agent) -> Stand {
    let Some(hooks) = agent.profile.turn_hooks.as_deref().and_then(turn::find) else { return Stand::None };
    let mut found = Stand::None;
    for share in [false, true] {
        let path = hooks.path(&place.worktree, &main_worktree(place), share);
        let Ok(text) = std::fs::read(&path) else { continue };
        // A file that both use is current in either form.
        let calls = [call(world, false), call(world, true)];
        let stands = calls.map(|call| hooks.standing(&path, &text, &call));
        if stands.contains(&Standing::Current) {
            return Stand::Current(path);
        }
        if stands.contains(&Standing::Other) {
            found = Stand::Other(path);
        }
    }
    found
}

fn call(world: &World, share: bool) -> Call {
    if share { Call::ByName } else { Call::Program(world.exe.clone()) }
}

/// The working tree that is no linked one.
fn main_worktree(place: &Place) -> PathBuf {
    let main = place.common_dir.parent().filter(|_| place.linked && place.common_dir.ends_with(".git"));
    main.unwrap_or(&place.worktree).to_owned()
}
