//! Keeping our own files out of `git status`: a section in `info/exclude`.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::env::HookEnv;
use crate::error::HookError;
use crate::ground::Ground;
use crate::marked::{find, insert, replace};
use crate::text::{Chain, Remembered, other_section};
use crate::write::{Write, WriteKind, make_folders, mode, put, read};

/// Adds those of `files` that lie in the working tree and would show up as untracked. `None` when there are none.
pub(crate) fn exclude(ground: &Ground, env: &HookEnv, files: &[PathBuf]) -> Result<Option<Write>, HookError> {
    let mut lines = Vec::new();
    for file in files {
        if let Some(inside) = ground.in_worktree(file)
            && !ground.ignores(inside, env)?
        {
            lines.extend(pattern(inside));
        }
    }
    if lines.is_empty() {
        return Ok(None);
    }
    let path = &ground.exclude;
    let before = read(path)?;
    let bytes = before.as_deref().unwrap_or_default();
    let place = find(bytes).map_err(|half| HookError::Half { path: path.clone(), line: half.line })?;
    let section;
    let after = if let Some(place) = place {
        let old = &bytes[place.clone()];
        let remembered = Remembered::read(old);
        let kept = old.split_inclusive(|byte| *byte == b'\n').filter(|line| line.starts_with(b"/"));
        let kept: Vec<u8> = kept.flatten().copied().collect();
        section = other_section(&[&kept[..], &lines].concat(), remembered);
        replace(bytes, &place, &section)
    } else {
        let made_folders = make_folders(path.parent().unwrap_or(path))?.len();
        let remembered = Remembered { made_file: before.is_none(), made_folders, chain: Chain::None };
        section = other_section(&lines, remembered);
        insert(bytes, bytes.len(), &section)
    };
    let (kind, file_mode) =
        if before.is_some() { (WriteKind::Changed, mode(path)?) } else { (WriteKind::MadeFile, 0o644) };
    put(path, &after, file_mode)?;
    Ok(Some(Write { path: path.clone(), kind, before, added: section }))
}

/// The line that names exactly this path, with its line break.
fn pattern(path: &Path) -> Vec<u8> {
    let mut line = vec![b'/'];
    for byte in path.as_os_str().as_bytes() {
        if matches!(byte, b'*' | b'?' | b'[' | b'\\' | b' ') {
            line.push(b'\\');
        }
        line.push(*byte);
    }
    line.push(b'\n');
    line
}
