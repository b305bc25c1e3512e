//! What was changed on disk, and changing it without half-written files.

use std::fs::{self, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::error::HookError;

/// One change on disk, for the caller's journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// What was changed.
    pub path: PathBuf,
    /// How.
    pub kind: WriteKind,
    /// Its bytes before; `None` where there was no file.
    pub before: Option<Vec<u8>>,
    /// The bytes that are ours in it; empty where bytes were only taken out or moved.
    pub added: Vec<u8>,
}

/// How a path was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriteKind {
    /// A folder was made.
    MadeFolder,
    /// A file was made.
    MadeFile,
    /// Our lines were put into a file, replaced or taken out; every other byte stayed.
    Changed,
    /// A file was moved, bytes and mode untouched.
    Moved {
        /// Where it is now.
        to: PathBuf,
    },
    /// A file of ours was removed.
    RemovedFile,
    /// A folder of ours that had become empty was removed.
    RemovedFolder,
}

/// The mode of a hook.
pub(crate) const HOOK_MODE: u32 = 0o755;

/// Reads a file; `None` when there is none.
pub(crate) fn read(path: &Path) -> Result<Option<Vec<u8>>, HookError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        // Neither does a path below a file (`core.hooksPath = /dev/null`), nor a folder, hold bytes.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotADirectory | io::ErrorKind::IsADirectory) => {
            Ok(None)
        }
        Err(error) => Err(HookError::io("read", path)(error)),
    }
}

/// Replaces or makes a file in one step, so that git never runs half a hook.
pub(crate) fn put(path: &Path, bytes: &[u8], mode: u32) -> Result<(), HookError> {
    stage(path, bytes, mode)?.persist(path).map_err(|error| HookError::io("write", path)(error.error))?;
    Ok(())
}

/// Writes the bytes beside `path`, ready to be moved there.
pub(crate) fn stage(path: &Path, bytes: &[u8], mode: u32) -> Result<NamedTempFile, HookError> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let staged = || {
        let mut file = tempfile::Builder::new().prefix(".loop-").tempfile_in(folder)?;
        file.write_all(bytes)?;
        file.as_file().set_permissions(Permissions::from_mode(mode))?;
        file.as_file().sync_all()?;
        Ok(file)
    };
    staged().map_err(HookError::io("write", path))
}

/// Returns a file's permission bits.
pub(crate) fn mode(path: &Path) -> Result<u32, HookError> {
    let metadata = fs::metadata(path).map_err(HookError::io("read", path))?;
    Ok(metadata.permissions().mode() & 0o7777)
}

/// Makes the missing folders down to `folder`, and returns them, the uppermost first.
pub(crate) fn make_folders(folder: &Path) -> Result<Vec<PathBuf>, HookError> {
    let mut missing: Vec<PathBuf> =
        folder.ancestors().take_while(|folder| !folder.exists()).map(Path::to_owned).collect();
    missing.reverse();
    for folder in &missing {
        fs::create_dir(folder).map_err(HookError::io("make", folder.clone()))?;
    }
    Ok(missing)
}

/// Removes up to `count` folders from `folder` upwards, as long as they are empty.
pub(crate) fn remove_empty(folder: &Path, count: usize, writes: &mut Vec<Write>) {
    for folder in folder.ancestors().take(count) {
        if fs::remove_dir(folder).is_err() {
            return;
        }
        let kind = WriteKind::RemovedFolder;
        writes.push(Write { path: folder.to_owned(), kind, before: None, added: Vec::new() });
    }
}
