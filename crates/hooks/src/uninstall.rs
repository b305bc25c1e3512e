//! Taking the notifier out again, to the byte.

use std::fs;
use std::path::{Path, PathBuf};

use crate::env::HookEnv;
use crate::error::HookError;
use crate::ground::Ground;
use crate::install::beside;
use crate::managers::seats_of_all_times;
use crate::marked::{find, remove};
use crate::plan::is_bare;
use crate::text::{Chain, Remembered};
use crate::write::{Write, WriteKind, mode, put, read, remove_empty};

/// What was taken out.
#[derive(Debug, Clone, Default)]
pub struct Uninstalled {
    /// Every change on disk, in order; empty when nothing of ours was there.
    pub writes: Vec<Write>,
    /// What the user should know, one sentence each.
    pub notes: Vec<String>,
}

/// Takes out our section wherever it may stand for `worktree`, and puts back what was moved aside.
///
/// Every other byte stays, also of a hook that was edited since; files and folders that were made for us go when
/// nothing else is in them. The sections say themselves what was there before: no record is needed.
///
/// # Errors
/// Fails when `worktree` is none, or when a file cannot be read or written. What was done by then stays done, and
/// doing it again does the rest.
pub fn uninstall(worktree: &Path, env: &HookEnv) -> Result<Uninstalled, HookError> {
    let ground = Ground::read(worktree, env)?;
    let mut uninstalled = Uninstalled::default();
    for file in seats_of_all_times(&ground) {
        take_out(&file, &mut uninstalled)?;
    }
    take_out(&ground.exclude, &mut uninstalled)?;
    Ok(uninstalled)
}

fn take_out(file: &Path, uninstalled: &mut Uninstalled) -> Result<(), HookError> {
    // What a symlink leads to was never ours.
    if !fs::symlink_metadata(file).is_ok_and(|metadata| metadata.is_file()) {
        return Ok(());
    }
    let Some(before) = read(file)? else { return Ok(()) };
    let half = |half: crate::marked::Half| HookError::Half { path: file.to_owned(), line: half.line };
    let Some(place) = find(&before).map_err(half)? else { return Ok(()) };
    let remembered = Remembered::read(&before[place]);
    let rest = remove(&before).map_err(half)?.unwrap_or_default();
    let path = file.to_owned();
    if !(remembered.made_file && is_bare(&rest)) {
        put(file, &rest, mode(file)?)?;
        if remembered.chain != Chain::None {
            uninstalled.notes.push(format!(
                "{} holds lines that were added to it since; the hook that it ran before them stays in {}",
                file.display(),
                aside(file).display()
            ));
        }
        let kind = WriteKind::Changed;
        uninstalled.writes.push(Write { path, kind, before: Some(before), added: Vec::new() });
        return Ok(());
    }
    let moved = aside(file);
    if remembered.chain != Chain::None && fs::symlink_metadata(&moved).is_ok() {
        if remembered.chain == Chain::ByName {
            let path = file.with_file_name("before-loop/post-commit");
            fs::remove_file(&path).map_err(HookError::io("remove", &path))?;
            let folder = file.with_file_name("before-loop");
            let kind = WriteKind::RemovedFile;
            uninstalled.writes.push(Write { path, kind, before: None, added: Vec::new() });
            remove_empty(&folder, 1, &mut uninstalled.writes);
        }
        // One step: the hook that was here before takes our file's place.
        let hook = moved.with_file_name("post-commit");
        fs::rename(&moved, file).map_err(HookError::io("move", &moved))?;
        let kind = WriteKind::RemovedFile;
        uninstalled.writes.push(Write { path, kind, before: Some(before), added: Vec::new() });
        let kind = WriteKind::Moved { to: file.to_owned() };
        uninstalled.writes.push(Write { path: moved, kind, before: read(file)?, added: Vec::new() });
        if hook != file {
            uninstalled.notes.push(format!("{} is the hook that was here before", file.display()));
        }
        return Ok(());
    }
    fs::remove_file(file).map_err(HookError::io("remove", file))?;
    let kind = WriteKind::RemovedFile;
    uninstalled.writes.push(Write { path, kind, before: Some(before), added: Vec::new() });
    if let Some(folder) = file.parent() {
        remove_empty(folder, remembered.made_folders, &mut uninstalled.writes);
    }
    Ok(())
}

/// Where the hook is that `file` runs: beside it, under git's own name for it (`file` may have been moved since).
fn aside(file: &Path) -> PathBuf {
    beside(&file.with_file_name("post-commit"))
}
