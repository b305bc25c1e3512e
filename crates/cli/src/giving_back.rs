//! Giving back what was written outside git's objects in one repository, with all of its worktrees.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use loop_git::{Blob, Repo};
use loop_hooks::WriteKind;
use loop_store::{LoopPatch, LoopRow, WriteRow};
use loop_transport::kinds::tmux::Address;
use loop_transport::tmux::Server;
use serde::Serialize;

use crate::client::Client;
use crate::failure::Failure;
use crate::scribe::{BY_EXCLUDE, BY_HOOKS, TakenBack, foresee, rows_of, take_back};
use crate::world::World;

/// What was given back in one repository, or would be.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Given {
    /// The repository's working tree.
    pub(crate) repository: PathBuf,
    /// Files and folders that are gone, or as they were before.
    pub(crate) restored: Vec<PathBuf>,
    /// What stays as it is, and why.
    pub(crate) kept: Vec<Kept>,
    /// Agents whose registration is forgotten.
    pub(crate) sessions: Vec<String>,
    /// What the user should know, one sentence each.
    pub(crate) notes: Vec<String>,
}

/// A path that stays as it is.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Kept {
    /// Which.
    pub(crate) path: PathBuf,
    /// Why.
    pub(crate) why: String,
}

impl Given {
    /// Whether there was nothing to give back.
    pub(crate) fn is_nothing(&self) -> bool {
        self.restored.is_empty() && self.kept.is_empty() && self.sessions.is_empty()
    }

    /// For a person; `dry` where nothing was done.
    pub(crate) fn text(&self, dry: bool) -> String {
        let mut text = format!("{}\n", self.repository.display());
        for path in &self.restored {
            let word = match path.exists() {
                _ if dry => "give back",
                true => "as before",
                false => "gone",
            };
            text.push_str(&format!("  {word:9}  {}\n", self.short(path)));
        }
        for Kept { path, why } in &self.kept {
            text.push_str(&format!("  stays      {}: {why}\n", self.short(path)));
        }
        if !self.sessions.is_empty() {
            text.push_str(&format!("  forgotten  how {} can be reached\n", self.sessions.join(", ")));
        }
        for note in &self.notes {
            text.push_str(&format!("  note: {note}\n"));
        }
        text
    }

    fn short(&self, path: &Path) -> String {
        path.strip_prefix(&self.repository).unwrap_or(path).display().to_string()
    }

    fn restore(&mut self, path: &Path) {
        if !self.restored.iter().any(|known| known == path) {
            self.restored.push(path.to_owned());
        }
    }

    fn keep(&mut self, path: &Path, why: impl Into<String>) {
        let kept = Kept { path: path.to_owned(), why: why.into() };
        // A file that several loops wrote stays once.
        if !self.kept.contains(&kept) {
            self.kept.push(kept);
        }
    }
}

/// Gives back one repository's bytes; with `dry` only looks what would be.
pub(crate) async fn give_back(
    world: &World,
    client: &Client,
    repo: &Repo,
    dry: bool,
) -> Result<Given, Failure> {
    let place = repo.place();
    let mut given = Given { repository: place.worktree.clone(), ..Given::default() };
    let mut loops = client.store.loops(true).await?;
    loops.retain(|row| row.common_dir == place.common_dir);
    let rows = rows_of(&client.store, repo).await?;
    let mut worktrees = BTreeSet::from([place.worktree.clone()]);
    worktrees.extend(loops.iter().map(|row| row.worktree.clone()));
    worktrees.extend(rows.iter().filter_map(|row| row.write.repo.clone()));
    worktrees
        .retain(|worktree| Repo::discover(worktree).is_ok_and(|found| found.place().worktree == *worktree));
    for worktree in &worktrees {
        hook(world, worktree, dry, &mut given);
    }
    files(client, repo, &rows, dry, &mut given).await?;
    folders(repo, dry, &mut given)?;
    for row in &loops {
        sessions(world, client, row, dry, &mut given).await?;
    }
    for worktree in worktrees.iter().filter(|worktree| **worktree != place.worktree) {
        given.notes.push(format!(
            "the linked worktree {} stays, for work may be in it; `git worktree remove` takes it away",
            worktree.display()
        ));
    }
    Ok(given)
}

fn hook(world: &World, worktree: &Path, dry: bool, given: &mut Given) {
    let env = world.hook_env();
    if dry {
        match loop_hooks::status(worktree, &env, false) {
            Ok(status) => status.sections.iter().for_each(|file| given.restore(file)),
            Err(error) => given.notes.push(format!("the hook cannot be looked at: {error}")),
        }
        return;
    }
    match loop_hooks::uninstall(worktree, &env) {
        Ok(out) => {
            for write in &out.writes {
                // A hook that was moved aside is back under its name, which is another of these writes.
                if !matches!(write.kind, WriteKind::Moved { .. }) {
                    given.restore(&write.path);
                }
            }
            given.notes.extend(out.notes);
        }
        Err(error) => given.notes.push(format!("the hook was not taken out: {error}")),
    }
}

/// What the journal knows of, the newest write first.
async fn files(
    client: &Client,
    repo: &Repo,
    rows: &[WriteRow],
    dry: bool,
    given: &mut Given,
) -> Result<(), Failure> {
    let mut gone: HashSet<PathBuf> = HashSet::new();
    for row in rows {
        let write = &row.write;
        let path = &write.path;
        let by = write.after_hash.as_deref();
        let committed = committed(write.repo.as_deref(), path)
            // What was replaced is put back where that is what is committed.
            .filter(|(_, bytes)| bytes.is_none() || *bytes != write.before);
        let taken = match committed {
            Some((branch, _)) => TakenBack::Kept(format!("it is committed on {branch}")),
            None if dry => foresee(write, &gone),
            None => take_back(write),
        };
        match taken {
            TakenBack::Done => {
                gone.insert(path.clone());
                given.restore(path);
            }
            TakenBack::Gone => {}
            // A folder that holds more is nobody's loss, and what of ours is in it has its own line.
            TakenBack::Kept(_) if write.kind == loop_store::WriteKind::MadeDir => {}
            TakenBack::Kept(why) => given.keep(path, why),
            TakenBack::Elsewhere if by == Some(BY_HOOKS) => {}
            TakenBack::Elsewhere if by == Some(BY_EXCLUDE) => {
                let added = write.added.as_deref().unwrap_or_default();
                let found = if dry {
                    holds(path, added)
                } else {
                    unexclude(repo, path, added, write.before.is_some())?
                };
                match found {
                    true => given.restore(path),
                    false if path.exists() => {
                        given.keep(path, "the lines that were added to it were changed since")
                    }
                    false => {}
                }
            }
            TakenBack::Elsewhere => given.keep(path, "nothing knows how to take this back"),
        }
        if !dry {
            client.store.remove_write(row.id).await?;
        }
    }
    Ok(())
}

/// Takes lines out of `info/exclude`; an empty file that was there before stays an empty file.
fn unexclude(repo: &Repo, path: &Path, added: &[u8], was_there: bool) -> Result<bool, Failure> {
    let mode = fs::metadata(path).map(|meta| meta.permissions()).ok();
    let found = repo.unexclude(added)?;
    if found && was_there && !path.exists() {
        let put_back =
            fs::write(path, b"").and_then(|()| mode.map_or(Ok(()), |mode| fs::set_permissions(path, mode)));
        put_back.map_err(|error| cannot("put back", path, error))?;
    }
    Ok(found)
}

fn holds(path: &Path, added: &[u8]) -> bool {
    !added.is_empty() && fs::read(path).is_ok_and(|text| text.windows(added.len()).any(|part| part == added))
}

/// The branch at whose tip a file is committed, and with which content: it belongs to git then, and goes and comes
/// with the branch.
fn committed(worktree: Option<&Path>, path: &Path) -> Option<(String, Option<Vec<u8>>)> {
    let worktree = worktree?;
    let relative = path.strip_prefix(worktree).ok()?.to_str()?;
    let repo = Repo::discover(worktree).ok()?;
    let head = repo.head().ok()?;
    let blob = repo.blob(head.tip()?, relative).ok()?;
    if matches!(blob, Blob::Missing | Blob::Directory) {
        return None;
    }
    let branch = head.branch().map_or_else(|| "the commit that is checked out".to_owned(), str::to_owned);
    Some((branch, blob.content().map(<[u8]>::to_vec)))
}

/// loop's own folders in the git directories of the repository and its worktrees: locks and records.
fn folders(repo: &Repo, dry: bool, given: &mut Given) -> Result<(), Failure> {
    let common = &repo.place().common_dir;
    let mut folders = BTreeSet::from([repo.place().loop_dir(), common.join("loop")]);
    let linked = fs::read_dir(common.join("worktrees")).into_iter().flatten();
    folders.extend(linked.filter_map(|entry| Some(entry.ok()?.path().join("loop"))));
    for folder in folders.into_iter().filter(|folder| folder.is_dir()) {
        if !dry {
            fs::remove_dir_all(&folder).map_err(|error| cannot("remove", &folder, error))?;
        }
        given.restore(&folder);
    }
    Ok(())
}

async fn sessions(
    world: &World,
    client: &Client,
    row: &LoopRow,
    dry: bool,
    given: &mut Given,
) -> Result<(), Failure> {
    for session in client.store.sessions(Some(&row.id)).await? {
        given.sessions.push(session.agent.to_string());
        if dry {
            continue;
        }
        if let Ok(address) = serde_json::from_str::<Address>(&session.address) {
            let socket = address.socket.or_else(|| world.tmux().socket);
            // The pane, or its server, may be gone with its tags.
            let _ = Server { socket, ..world.tmux() }.untag(&address.pane).await;
        }
        client.forget_session(&row.id, &session.agent).await?;
    }
    if !dry && row.session.is_some() {
        client.store.update_loop(&row.id, LoopPatch { session: Some(None), ..LoopPatch::default() }).await?;
    }
    Ok(())
}

fn cannot(what: &str, path: &Path, error: std::io::Error) -> Failure {
    Failure::users(anyhow::Error::new(error).context(format!("cannot {what} {}", path.display())))
}
