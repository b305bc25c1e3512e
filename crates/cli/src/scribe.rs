//! Writing files outside git's objects, each journalled first, so that `loop uninstall` gives every byte back.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use loop_git::Repo;
use loop_hooks::turn::{self, Edit, TakenOut, TurnHooks};
use loop_store::{Store, Write, WriteKind, WriteRow};

use crate::failure::Failure;

/// Marks a journal row whose bytes the hook's own uninstaller gives back.
pub(crate) const BY_HOOKS: &str = "hooks";
/// Marks a journal row of a CLI's settings with our turn hooks in it; behind it stands the kind of hooks.
const BY_TURN_HOOKS: &str = "turn-hooks:";
/// Marks a journal row of `info/exclude`.
pub(crate) const BY_EXCLUDE: &str = "exclude";

/// Writes for one repository and remembers how to take it back.
pub(crate) struct Scribe<'store> {
    store: &'store Store,
    repo: PathBuf,
    done: Vec<i64>,
}

impl<'store> Scribe<'store> {
    /// A scribe for the repository at `repo`.
    pub(crate) fn new(store: &'store Store, repo: &Path) -> Self {
        Self { store, repo: repo.to_owned(), done: Vec::new() }
    }

    /// Writes a file, with the folders that are missing.
    pub(crate) async fn file(&mut self, path: &Path, bytes: &[u8]) -> Result<(), Failure> {
        self.folders(path).await?;
        let before = match fs::read(path) {
            Ok(before) => Some(before),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(cannot("read", path, error)),
        };
        if before.as_deref() == Some(bytes) {
            return Ok(());
        }
        let kind = if before.is_some() { WriteKind::Replaced } else { WriteKind::Created };
        self.journal(path, kind, before, Some(bytes.to_vec()), Some(hash(bytes))).await?;
        fs::write(path, bytes).map_err(|error| cannot("write", path, error))
    }

    /// Makes the folders that are missing above a file.
    async fn folders(&mut self, path: &Path) -> Result<(), Failure> {
        let mut missing: Vec<&Path> = path
            .ancestors()
            .skip(1)
            .take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists())
            .collect();
        missing.reverse();
        for folder in missing {
            self.journal(folder, WriteKind::MadeDir, None, None, None).await?;
            fs::create_dir(folder).map_err(|error| cannot("make", folder, error))?;
        }
        Ok(())
    }

    /// Writes a CLI's turn hooks, with the folders that are missing.
    pub(crate) async fn turn_hooks(&mut self, edit: &Edit, kind: &str) -> Result<(), Failure> {
        self.folders(&edit.path).await?;
        let by = format!("{BY_TURN_HOOKS}{kind}");
        let (before, after) = (edit.before.clone(), Some(edit.after.clone()));
        self.journal(&edit.path, WriteKind::Appended, before, after, Some(by)).await?;
        edit.write().map_err(Failure::users)
    }

    /// Remembers what somebody else wrote (the hook's installer).
    pub(crate) async fn remember(&mut self, path: &Path, added: &[u8], by: &str) -> Result<(), Failure> {
        self.journal(path, WriteKind::Appended, None, Some(added.to_vec()), Some(by.to_owned())).await
    }

    /// Adds lines to the repository's `info/exclude`; those that stand there already are left out.
    pub(crate) async fn exclude(&mut self, repo: &Repo, lines: &[String]) -> Result<(), Failure> {
        if lines.is_empty() {
            return Ok(());
        }
        let file = repo.place().common_dir.join("info").join("exclude");
        // An empty file is none when the lines are taken out again: what tells them apart is kept here.
        let before = fs::metadata(&file).is_ok().then(Vec::new);
        if let Some(folder) = file.parent().filter(|folder| !folder.exists()) {
            self.journal(folder, WriteKind::MadeDir, None, None, None).await?;
        }
        let added = repo.exclude(lines)?;
        if added.is_empty() {
            return Ok(());
        }
        self.journal(&file, WriteKind::Appended, before, Some(added), Some(BY_EXCLUDE.to_owned())).await
    }

    async fn journal(
        &mut self,
        path: &Path,
        kind: WriteKind,
        before: Option<Vec<u8>>,
        added: Option<Vec<u8>>,
        after_hash: Option<String>,
    ) -> Result<(), Failure> {
        let write = Write {
            at: Timestamp::now(),
            repo: Some(self.repo.clone()),
            path: path.to_owned(),
            kind,
            before,
            added,
            after_hash,
        };
        self.done.push(self.store.add_write(&write).await?);
        Ok(())
    }

    /// Takes back what this scribe has written itself; for a command that could not finish. What others take back
    /// (the hook, git's exclude list) stays in the journal, for `loop uninstall`.
    pub(crate) async fn undo(self) -> Result<(), Failure> {
        // The journal lists the newest write first, the order in which they are to be taken back.
        let rows = self.store.list_writes(Some(&self.repo)).await?;
        for row in rows.iter().filter(|row| self.done.contains(&row.id)) {
            if take_back(&row.write) != TakenBack::Elsewhere {
                self.store.remove_write(row.id).await?;
            }
        }
        Ok(())
    }
}

/// What became of a write that was to be taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TakenBack {
    /// Every byte is as before.
    Done,
    /// Nothing was there any more.
    Gone,
    /// It stays as it is, and why.
    Kept(String),
    /// Somebody else takes it back (see [`BY_HOOKS`] and [`BY_EXCLUDE`]).
    Elsewhere,
}

/// Takes one write back, unless somebody has changed the file since.
pub(crate) fn take_back(write: &Write) -> TakenBack {
    let foreseen = foresee(write, &HashSet::new());
    if foreseen != TakenBack::Done {
        return foreseen;
    }
    let path = &write.path;
    if let Some(hooks) = turn_hooks(write) {
        return out(write, hooks, false);
    }
    let result = match write.kind {
        WriteKind::MadeDir => fs::remove_dir(path),
        WriteKind::Replaced => fs::write(path, write.before.as_deref().unwrap_or_default()),
        WriteKind::Created | WriteKind::Appended | WriteKind::Linked => fs::remove_file(path),
    };
    match result {
        Ok(()) => TakenBack::Done,
        Err(error) => TakenBack::Kept(error.to_string()),
    }
}

/// What [`take_back`] would do once the paths in `gone` are no more.
pub(crate) fn foresee(write: &Write, gone: &HashSet<PathBuf>) -> TakenBack {
    let path = &write.path;
    if let Some(hooks) = turn_hooks(write) {
        return out(write, hooks, true);
    }
    match write.kind {
        WriteKind::Appended | WriteKind::Linked => TakenBack::Elsewhere,
        _ if fs::symlink_metadata(path).is_err() => TakenBack::Gone,
        WriteKind::MadeDir => match fs::read_dir(path) {
            Ok(mut entries) => {
                let empty = entries.all(|entry| entry.is_ok_and(|entry| gone.contains(&entry.path())));
                if empty { TakenBack::Done } else { TakenBack::Kept("other files are in it".to_owned()) }
            }
            Err(error) => TakenBack::Kept(error.to_string()),
        },
        WriteKind::Created | WriteKind::Replaced => match fs::read(path) {
            Ok(bytes) if Some(hash(&bytes)) == write.after_hash => TakenBack::Done,
            Ok(_) => TakenBack::Kept("it was changed since".to_owned()),
            Err(error) => TakenBack::Kept(error.to_string()),
        },
    }
}

/// The turn hooks that a write put into a CLI's settings.
fn turn_hooks(write: &Write) -> Option<&'static TurnHooks> {
    turn::find(write.after_hash.as_deref()?.strip_prefix(BY_TURN_HOOKS)?)
}

/// Takes turn hooks out of settings that may have been changed since.
fn out(write: &Write, hooks: &TurnHooks, dry: bool) -> TakenBack {
    let after = write.added.as_deref().unwrap_or_default();
    match turn::take_out(hooks, &write.path, write.before.as_deref(), after, dry) {
        Ok(TakenOut::AsBefore | TakenOut::OnlyOurs) => TakenBack::Done,
        Ok(TakenOut::Nothing) => TakenBack::Gone,
        Err(error) => TakenBack::Kept(error.to_string()),
    }
}

/// The journal's rows for a repository, all of its worktrees included, the newest first.
pub(crate) async fn rows_of(store: &Store, repo: &Repo) -> Result<Vec<WriteRow>, Failure> {
    let place = repo.place();
    let worktrees = worktrees(store, &place.common_dir).await?;
    let rows = store.list_writes(None).await?;
    let ours = |row: &WriteRow| {
        let of = row.write.repo.as_deref();
        of.is_some_and(|of| {
            of == place.worktree || worktrees.contains(of) || common_dir(of) == Some(place.common_dir.clone())
        })
    };
    Ok(rows.into_iter().filter(ours).collect())
}

/// The worktrees of a repository in which loops are or were; also those whose folder is gone.
async fn worktrees(store: &Store, common_dir: &Path) -> Result<HashSet<PathBuf>, Failure> {
    let loops = store.loops(true).await?;
    Ok(loops.into_iter().filter(|row| row.common_dir == common_dir).map(|row| row.worktree).collect())
}

fn common_dir(worktree: &Path) -> Option<PathBuf> {
    Repo::discover(worktree).ok().map(|repo| repo.place().common_dir.clone())
}

fn hash(bytes: &[u8]) -> String {
    use sha2::Digest;
    hex::encode(sha2::Sha256::digest(bytes))
}

fn cannot(what: &str, path: &Path, error: std::io::Error) -> Failure {
    Failure::users(anyhow::Error::new(error).context(format!("cannot {what} {}", path.display())))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[tokio::test]
    async fn every_byte_is_given_back_and_foreign_changes_stay() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&format!("sqlite://{}", folder.path().join("s.db").display())).await.unwrap();
        let repo = folder.path().join("repo");
        fs::create_dir(&repo).unwrap();
        let (new, old, edited) = (repo.join("a/b/new"), repo.join("old"), repo.join("edited"));
        fs::write(&old, "before").unwrap();
        let mut scribe = Scribe::new(&store, &repo);
        for path in [&new, &old, &edited] {
            scribe.file(path, b"ours").await.unwrap();
        }
        fs::write(&edited, "somebody's").unwrap();
        scribe.undo().await.unwrap();
        assert!(!repo.join("a").exists());
        assert_eq!(fs::read(&old).unwrap(), b"before");
        assert_eq!(fs::read(&edited).unwrap(), b"somebody's");
        assert!(store.list_writes(Some(&repo)).await.unwrap().is_empty());
    }
}
