//! Writing a file so that there is either the old one or the new one, whatever happens.

use std::fs::{File, Metadata};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;

use tempfile::Builder;

use crate::error::GitError;

/// Writes `bytes` to `path` through a file beside it: written, synced, renamed, the folder synced.
///
/// An existing file's mode and owner stay; a new one gets 0644. A symlink at `path` is replaced, not followed.
///
/// # Errors
/// Fails when the folder cannot be written; then the old file is as it was.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> Result<(), GitError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let old = std::fs::symlink_metadata(path).ok().filter(Metadata::is_file);
    let write = || -> std::io::Result<()> {
        let mut new = Builder::new().prefix(".loop-").suffix(".tmp").tempfile_in(folder)?;
        new.write_all(bytes)?;
        let mode = old.as_ref().map_or(0o644, |old| old.mode() & 0o7777);
        if let Some(old) = &old {
            // Only root may give a file away; for everybody else it is theirs already.
            let _ = chown(new.path(), Some(old.uid()), Some(old.gid()));
        }
        new.as_file().set_permissions(std::fs::Permissions::from_mode(mode))?;
        new.as_file().sync_all()?;
        new.persist(path).map_err(|error| error.error)?;
        File::open(folder)?.sync_all()
    };
    write().map_err(GitError::io("write", path))
}
