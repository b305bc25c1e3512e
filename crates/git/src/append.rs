//! Adding a section to STATUS.md, and taking it back.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use loop_core::Cast;
use loop_core::append::{NewSection, plan};

use crate::blob::{Blob, check_path};
use crate::error::GitError;
use crate::lock::{LOCK_WAIT, StatusLock};
use crate::repo::Repo;
use crate::write::write_atomic;

/// How often a file is planned anew because somebody who does not know the lock (an editor) wrote it.
const TRIES: usize = 5;

/// A section that was appended. Holds STATUS.md's lock until it is dropped, so that the commit can be made before
/// anybody else appends.
#[derive(Debug)]
#[must_use = "the lock is held only as long as this lives"]
pub struct Appended {
    /// What had been left open in the text before and was closed, in words for the user.
    pub closed: Vec<String>,
    path: PathBuf,
    relative: PathBuf,
    /// How many of `after`'s bytes were there before; `None`: there was no file.
    before: Option<usize>,
    after: Vec<u8>,
    made: Vec<PathBuf>,
    _lock: StatusLock,
}

/// Appends a section to the status file (relative to the root) in the working tree, under STATUS.md's lock. A file
/// that is not there is made; a symlink inside the repository is followed.
///
/// # Errors
/// Nothing is written when the lock stays held, what stands there is no ordinary file of the repository's, it is
/// read-only, too big or no STATUS.md, or the section could not be read back.
pub fn append_section(
    repo: &Repo,
    status_file: &str,
    cast: &Cast,
    section: &NewSection,
) -> Result<Appended, GitError> {
    check_path(status_file)?;
    let lock = StatusLock::take(repo.place(), LOCK_WAIT)?;
    let path = target(repo, status_file)?;
    let made = make_folders(repo, &path)?;
    let mut appended = Appended {
        closed: Vec::new(),
        relative: path.strip_prefix(&repo.place().worktree).unwrap_or(&path).to_owned(),
        path,
        before: None,
        after: Vec::new(),
        made,
        _lock: lock,
    };
    for _ in 0..TRIES {
        if appended.write(cast, section)? {
            return Ok(appended);
        }
    }
    Err(GitError::Changed { path: appended.path })
}

impl Appended {
    /// The file that was written, symlinks resolved.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The same, relative to the root: what is to be committed.
    pub fn relative(&self) -> &Path {
        &self.relative
    }

    /// Takes the section back: the file has exactly its earlier bytes, or is gone if there was none.
    ///
    /// # Errors
    /// Fails with [`GitError::Changed`], and changes nothing, when the file is no longer as it was written here.
    pub fn undo(self) -> Result<(), GitError> {
        if read(&self.path)?.as_deref() != Some(self.after.as_slice()) {
            return Err(GitError::Changed { path: self.path });
        }
        match self.before {
            Some(length) => write_atomic(&self.path, &self.after[..length]),
            None => {
                std::fs::remove_file(&self.path).map_err(GitError::io("remove", &self.path))?;
                for folder in &self.made {
                    // Somebody may have put something into it.
                    let _ = std::fs::remove_dir(folder);
                }
                Ok(())
            }
        }
    }

    /// Returns whether the file was written; `false`: somebody else wrote it in between.
    fn write(&mut self, cast: &Cast, section: &NewSection) -> Result<bool, GitError> {
        let existing = read(&self.path)?;
        let text = existing.as_deref().unwrap_or_default();
        let plan = plan(text, cast, section)
            .map_err(|source| GitError::Append { path: self.path.clone(), source })?;
        let mut after = text.to_vec();
        after.extend_from_slice(&plan.added);
        if read(&self.path)? != existing {
            return Ok(false);
        }
        write_atomic(&self.path, &after)?;
        self.before = existing.map(|existing| existing.len());
        self.after = after;
        self.closed = plan.closed;
        Ok(true)
    }
}

/// Returns the file that is really to be written.
fn target(repo: &Repo, status_file: &str) -> Result<PathBuf, GitError> {
    let full = repo.place().worktree.join(status_file);
    match repo.worktree_file(status_file)? {
        Blob::Missing => missing_target(repo, full),
        Blob::File(_) | Blob::Symlink { outside: false, content: Some(_), .. } => {
            let real = repo.inside(&full).map_err(GitError::io("find", &full))?;
            let real = real.ok_or_else(|| GitError::Outside { path: full.clone(), target: String::new() })?;
            let metadata = std::fs::metadata(&real).map_err(GitError::io("read", &real))?;
            if metadata.permissions().readonly() {
                return Err(GitError::ReadOnly { path: real });
            }
            Ok(real)
        }
        Blob::Directory => Err(GitError::NotAFile { path: full, what: "a folder" }),
        Blob::Symlink { target, outside: true, .. } => Err(GitError::Outside { path: full, target }),
        Blob::Symlink { .. } => {
            Err(GitError::NotAFile { path: full, what: "a symlink that leads to no file" })
        }
        Blob::TooBig(size) => Err(GitError::TooBig { path: full, size }),
    }
}

/// A new file must not land outside through a folder that is a symlink.
fn missing_target(repo: &Repo, full: PathBuf) -> Result<PathBuf, GitError> {
    let there = full.ancestors().skip(1).find(|folder| folder.exists());
    let there = there.unwrap_or(&repo.place().worktree).to_owned();
    let real = repo.inside(&there).map_err(GitError::io("find", &there))?;
    match real {
        Some(real) => Ok(real.join(full.strip_prefix(&there).unwrap_or(&full))),
        None => Err(GitError::Outside { path: full, target: there.display().to_string() }),
    }
}

/// Makes the folders above a new file; returns them, innermost first.
fn make_folders(repo: &Repo, path: &Path) -> Result<Vec<PathBuf>, GitError> {
    let missing = |folder: &&Path| !folder.exists() && folder.starts_with(&repo.place().worktree);
    let folders: Vec<PathBuf> = path.ancestors().skip(1).take_while(missing).map(Path::to_owned).collect();
    if let Some(folder) = folders.first() {
        std::fs::create_dir_all(folder).map_err(GitError::io("make", folder))?;
    }
    Ok(folders)
}

fn read(path: &Path) -> Result<Option<Vec<u8>>, GitError> {
    match std::fs::read(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(GitError::io("read", path)(source)),
    }
}

#[cfg(test)]
mod tests;
