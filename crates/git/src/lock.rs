//! STATUS.md's lock across processes.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::GitError;
use crate::place::Place;

/// How long is waited for another process to finish its append and commit.
pub const LOCK_WAIT: Duration = Duration::from_secs(10);

const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// STATUS.md's lock of one worktree; held until dropped.
///
/// The lock is the kernel's, on a file in the worktree's git directory: a process that dies lets go of it. The file
/// stays, and names who held it last.
#[derive(Debug)]
pub struct StatusLock {
    file: File,
    path: PathBuf,
}

impl StatusLock {
    /// Takes the lock, waiting up to `wait` for whoever holds it.
    ///
    /// # Errors
    /// Fails when it is still held by then (naming the holder where known), or the lock file cannot be made.
    pub fn take(place: &Place, wait: Duration) -> Result<Self, GitError> {
        Self::take_file(&place.loop_dir().join("status.lock"), wait)
    }

    /// Takes the lock under which loops are opened in a repository, shared by all of its worktrees.
    ///
    /// # Errors
    /// Fails as [`StatusLock::take`] does.
    pub fn take_opening(place: &Place, wait: Duration) -> Result<Self, GitError> {
        Self::take_file(&place.common_dir.join("loop").join("opening.lock"), wait)
    }

    pub(crate) fn take_file(path: &Path, wait: Duration) -> Result<Self, GitError> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(GitError::io("make", folder))?;
        }
        let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let mut file = open.map_err(GitError::io("open the lock", path))?;
        let until = Instant::now() + wait;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if Instant::now() < until => thread::sleep(LOOK_AGAIN),
                Err(TryLockError::WouldBlock) => {
                    return Err(GitError::StatusLocked { path: path.to_owned(), pid: holder(&mut file) });
                }
                Err(TryLockError::Error(source)) => return Err(GitError::io("lock", path)(source)),
            }
        }
        let lock = Self { file, path: path.to_owned() };
        lock.sign().map_err(GitError::io("write", path))?;
        Ok(lock)
    }

    /// The lock file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn sign(&self) -> std::io::Result<()> {
        let mut file = &self.file;
        file.set_len(0)?;
        file.rewind()?;
        writeln!(file, "{}", std::process::id())
    }
}

impl Drop for StatusLock {
    /// Lets go by word: closing alone would not, while a process that another thread is just starting still has a
    /// copy of the file.
    fn drop(&mut self) {
        // The lock goes with the process at the latest.
        let _ = self.file.unlock();
    }
}

fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.take(32).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_held_lock_names_its_holder_and_is_free_after() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("loop/status.lock");
        let held = StatusLock::take_file(&path, Duration::ZERO).unwrap();
        let error = StatusLock::take_file(&path, Duration::from_millis(50)).unwrap_err();
        let me = std::process::id();
        assert!(matches!(&error, GitError::StatusLocked { pid: Some(pid), .. } if *pid == me), "{error}");
        drop(held);
        StatusLock::take_file(&path, Duration::ZERO).unwrap();
    }

    #[test]
    fn a_waiter_gets_it_when_the_holder_is_done() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("status.lock");
        let held = StatusLock::take_file(&path, Duration::ZERO).unwrap();
        thread::scope(|scope| {
            let waiter = scope.spawn(|| StatusLock::take_file(&path, Duration::from_secs(30)).map(drop));
            drop(held);
            waiter.join().unwrap().unwrap();
        });
    }
}
