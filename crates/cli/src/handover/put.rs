//! Putting a hand-over down: whole or not at all, and never over one that nobody has taken yet.

use std::fs::{self, Permissions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use super::Place;
use crate::failure::Failure;

/// How often a place that is taken again at once is tried.
const TRIES: usize = 10;

/// Puts it down. With `force` one that lies there is moved aside first; where to is returned.
///
/// # Errors
/// Fails, and changes nothing, when the folder is not there or refuses, the text is none, or one lies there.
pub(crate) fn put(place: &Place, bytes: Vec<u8>, force: bool) -> Result<Option<PathBuf>, Failure> {
    let text = place.text(bytes)?;
    if place.folder_takes_files()?.is_none() {
        let folder = place.folder.display().to_string();
        return Err(Failure::say(format!("there is no folder {folder}"))
            .next(format!("make it (`mkdir -p {}`), then again", shell_words::quote(&folder))));
    }
    let cannot = |error: std::io::Error| place.refused("write", error);
    let mut draft = tempfile::Builder::new()
        .prefix(".loop-signal-")
        // Whoever takes it may be another user; the umask says who may read it.
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(&place.folder)
        .map_err(cannot)?;
    draft.write_all(text.as_bytes()).and_then(|()| draft.as_file().sync_all()).map_err(cannot)?;
    let mut draft = draft.into_temp_path();
    let mut replaced = None;
    for _ in 0..TRIES {
        draft = match draft.persist_noclobber(&place.path) {
            Ok(()) => return Ok(replaced),
            Err(refused) if refused.error.kind() != ErrorKind::AlreadyExists => {
                return Err(cannot(refused.error));
            }
            Err(refused) => refused.path,
        };
        // Taken in this very moment: again.
        if place.file()?.is_none() {
            continue;
        }
        if !force {
            return Err(Failure::say(format!(
                "{} was not taken yet; it was left there",
                place.path.display()
            ))
            .next("wait until `loop wait --file` has taken it, or move it aside with --force"));
        }
        let aside = place.beside("before");
        match fs::rename(&place.path, &aside) {
            Ok(()) => replaced = Some(aside),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(cannot(error)),
        }
    }
    Err(Failure::say(format!("{} is written by somebody else again and again", place.path.display())))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::path::Path;

    use super::*;

    #[test]
    fn nothing_that_was_not_taken_is_lost() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::new(folder.path(), Path::new("f")).unwrap();
        assert_eq!(put(&place, b"one".to_vec(), false).unwrap(), None);
        assert!(put(&place, b"two".to_vec(), false).unwrap_err().words().contains("was not taken yet"));
        assert_eq!(fs::read_to_string(&place.path).unwrap(), "one");
        let aside = put(&place, b"two".to_vec(), true).unwrap().unwrap();
        assert_eq!(fs::read_to_string(&place.path).unwrap(), "two");
        assert_eq!(fs::read_to_string(aside).unwrap(), "one");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn only_a_file_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::new(folder.path(), Path::new("f")).unwrap();
        fs::create_dir(&place.path).unwrap();
        assert!(put(&place, Vec::new(), true).unwrap_err().words().contains("is a folder"));
        fs::remove_dir(&place.path).unwrap();
        std::os::unix::fs::symlink("/nowhere", &place.path).unwrap();
        assert!(put(&place, Vec::new(), true).unwrap_err().words().contains("is a symbolic link"));
        let nowhere = Place::new(folder.path(), Path::new("no/f")).unwrap();
        assert!(put(&nowhere, Vec::new(), false).unwrap_err().words().contains("there is no folder"));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
