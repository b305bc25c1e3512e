//! Turn hooks on disk.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::settings::is_bare;
use super::{Call, TurnHooks};
use crate::error::HookError;
use crate::write::{mode, put, read};

/// A file that is to be changed, or made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// Which.
    pub path: PathBuf,
    /// Its bytes now; `None` where there is none.
    pub before: Option<Vec<u8>>,
    /// Its bytes then.
    pub after: Vec<u8>,
}

/// What was found where hooks were to be taken out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TakenOut {
    /// The file is as it was before, to the byte, or gone as it was.
    AsBefore,
    /// It was changed since: only our hooks went.
    OnlyOurs,
    /// None of ours was in it.
    Nothing,
}

/// Looks what has to be done for a CLI's hooks to stand in a file; `None` where they do.
///
/// # Errors
/// Fails when the file cannot be read, see [`TurnHooks::put`], or leads nowhere.
pub fn put_in(hooks: &TurnHooks, path: &Path, call: &Call) -> Result<Option<Edit>, HookError> {
    let real = real(path)?;
    let before = read(&real)?;
    let after = hooks.put(path, before.as_deref(), call)?;
    let same = before.as_deref() == Some(&after[..]);
    Ok((!same && hooks.by_hand().is_none()).then(|| Edit { path: path.to_owned(), before, after }))
}

impl Edit {
    /// Makes the change in one step, in the file that a symlink leads to, with the mode it has. The folder is there.
    ///
    /// # Errors
    /// Fails when the file cannot be written.
    pub fn write(&self) -> Result<(), HookError> {
        let path = real(&self.path)?;
        // Settings may hold a person's secrets, and nobody else need read them.
        let mode = if self.before.is_some() { mode(&path)? } else { 0o644 };
        put(&path, &self.after, mode)
    }
}

/// Takes a CLI's hooks out of a file. Where it is as [`Edit::write`] left it, it is as before then, to the byte;
/// where it was changed since, everything else in it stays. With `dry` only looks.
///
/// # Errors
/// Fails when the file cannot be read or written.
pub fn take_out(
    hooks: &TurnHooks,
    path: &Path,
    before: Option<&[u8]>,
    after: &[u8],
    dry: bool,
) -> Result<TakenOut, HookError> {
    let path = &real(path)?;
    let Some(now) = read(path)? else { return Ok(TakenOut::Nothing) };
    let (rest, taken) = if now == after {
        (before.map(<[u8]>::to_vec), TakenOut::AsBefore)
    } else {
        let rest = hooks.take(path, &now)?;
        match rest {
            Some(rest) if rest == now => return Ok(TakenOut::Nothing),
            // A file that was there before stays one.
            None if let Some(before) = before => {
                let bare = std::str::from_utf8(before).is_ok_and(is_bare);
                let taken = if bare { TakenOut::AsBefore } else { TakenOut::OnlyOurs };
                (Some(if bare { before.to_vec() } else { b"{}\n".to_vec() }), taken)
            }
            rest => (rest, TakenOut::OnlyOurs),
        }
    };
    if dry {
        return Ok(taken);
    }
    match rest {
        Some(rest) => put(path, &rest, mode(path)?)?,
        None => fs::remove_file(path).map_err(HookError::io("remove", path))?,
    }
    Ok(taken)
}

/// The file that a path leads to: a person's settings are often links into a repository of theirs.
fn real(path: &Path) -> Result<PathBuf, HookError> {
    match fs::canonicalize(path) {
        Ok(real) => Ok(real),
        Err(error) if error.kind() == ErrorKind::NotFound => match fs::symlink_metadata(path) {
            Ok(_) => {
                let what = "it is a symlink that leads nowhere; mend or remove it".to_owned();
                Err(HookError::InTheWay { path: path.to_owned(), what })
            }
            Err(_) => Ok(path.to_owned()),
        },
        Err(error) => Err(HookError::io("read", path)(error)),
    }
}
