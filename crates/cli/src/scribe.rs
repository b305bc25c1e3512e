//! Writing files outside git's objects, each journalled first, so that `loop uninstall` gives every byte back.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use loop_store::{Store, Write, WriteKind};

use crate::failure::Failure;

/// Marks a journal row whose bytes the hook's own uninstaller gives back.
pub(crate) const BY_HOOKS: &str = "hooks";
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
        let mut missing: Vec<&Path> =
            path.ancestors().skip(1).take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists()).collect();
        missing.reverse();
        for folder in missing {
            self.journal(folder, WriteKind::MadeDir, None, None, None).await?;
            fs::create_dir(folder).map_err(|error| cannot("make", folder, error))?;
        }
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

    /// Remembers what somebody else wrote (the hook's installer, git's exclude list).
    pub(crate) async fn remember(&mut self, path: &Path, added: &[u8], by: &str) -> Result<(), Failure> {
        self.journal(path, WriteKind::Appended, None, Some(added.to_vec()), Some(by.to_owned())).await
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

    /// Takes back what this scribe has written itself; for a command that could not finish.
    pub(crate) async fn undo(self) -> Result<(), Failure> {
        let rows = self.store.list_writes(Some(&self.repo)).await?;
        for row in rows.iter().rev().filter(|row| self.done.contains(&row.id)) {
            take_back(&row.write);
            self.store.remove_write(row.id).await?;
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
    let path = &write.path;
    let changed = || {
        let now = fs::read(path).ok().map(|bytes| hash(&bytes));
        now.is_some() && now != write.after_hash
    };
    let result = match write.kind {
        WriteKind::Appended | WriteKind::Linked => return TakenBack::Elsewhere,
        WriteKind::MadeDir if !path.exists() => return TakenBack::Gone,
        WriteKind::MadeDir => match fs::read_dir(path).map(|mut entries| entries.next().is_none()) {
            Ok(true) => fs::remove_dir(path),
            Ok(false) => return TakenBack::Kept("other files are in it".to_owned()),
            Err(error) => Err(error),
        },
        WriteKind::Created | WriteKind::Replaced if !path.exists() => return TakenBack::Gone,
        WriteKind::Created | WriteKind::Replaced if changed() => {
            return TakenBack::Kept("it was changed since".to_owned());
        }
        WriteKind::Created => fs::remove_file(path),
        WriteKind::Replaced => fs::write(path, write.before.as_deref().unwrap_or_default()),
    };
    match result {
        Ok(()) => TakenBack::Done,
        Err(error) => TakenBack::Kept(error.to_string()),
    }
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
