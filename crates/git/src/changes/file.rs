//! The changes of one file.

use git2::{Delta, Diff, DiffDelta, Patch};

use crate::error::GitError;
use loop_core::plain::plain;

/// Longer lines are cut: minified code and data say nothing to a reader.
const MAX_LINE: usize = 1000;

/// Files that tools write and nobody reviews line by line.
const LOCK_FILES: [&str; 14] = [
    "Cargo.lock",
    "Gemfile.lock",
    "Pipfile.lock",
    "bun.lock",
    "composer.lock",
    "deno.lock",
    "flake.lock",
    "go.sum",
    "mix.lock",
    "package-lock.json",
    "pnpm-lock.yaml",
    "poetry.lock",
    "uv.lock",
    "yarn.lock",
];

/// One file of a diff.
#[derive(Debug)]
pub(super) struct FileDiff {
    /// The path, the new one of a moved file, as it is shown and matched.
    pub(super) path: String,
    pub(super) added: usize,
    pub(super) removed: usize,
    pub(super) binary: bool,
    /// The lines to be shown, headings first.
    pub(super) lines: Vec<String>,
}

impl FileDiff {
    /// Reads a file of the diff; `None` when nothing changed in it.
    pub(super) fn read(diff: &Diff<'_>, index: usize) -> Result<Option<Self>, GitError> {
        let doing = "compare two versions of a file";
        let patch = Patch::from_diff(diff, index).map_err(GitError::git2(doing))?;
        let Some(delta) = diff.get_delta(index) else { return Ok(None) };
        let path = path_of(&delta);
        let Some(mut patch) = patch else {
            // libgit2 makes no patch of a file that it takes for binary.
            return Ok(Some(Self::binary(path, &delta)));
        };
        let binary = patch.delta().flags().is_binary();
        if binary {
            return Ok(Some(Self::binary(path, &delta)));
        }
        let (_, added, removed) = patch.line_stats().map_err(GitError::git2(doing))?;
        if is_lock_file(&path) {
            let lines = vec![format!("{} (a lock file, +{added} -{removed})", shown(&path))];
            return Ok(Some(Self { path, added, removed, binary, lines }));
        }
        let text = patch.to_buf().map_err(GitError::git2(doing))?;
        let text = String::from_utf8_lossy(&text);
        let lines = text.lines().map(shown).collect();
        Ok(Some(Self { path, added, removed, binary, lines }))
    }

    fn binary(path: String, delta: &DiffDelta<'_>) -> Self {
        let what = match delta.status() {
            Delta::Added => "new",
            Delta::Deleted => "deleted",
            _ => "changed",
        };
        let lines = vec![format!("{} (binary, {what})", shown(&path))];
        Self { path, added: 0, removed: 0, binary: true, lines }
    }
}

/// A line with what could steer the reader's terminal, or hide from a reviewer, shown as its code. The carriage return of a CRLF file is no part of it.
fn shown(line: &str) -> String {
    let line = line.strip_suffix('\r').unwrap_or(line);
    let line = plain(line);
    if line.len() <= MAX_LINE {
        return line.into_owned();
    }
    let cut = crate::words::floor(&line, MAX_LINE);
    format!("{}… [{} bytes more]", &line[..cut], line.len() - cut)
}

pub(super) fn path_of(delta: &DiffDelta<'_>) -> String {
    let bytes = delta.new_file().path_bytes().or_else(|| delta.old_file().path_bytes());
    String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned()
}

fn is_lock_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    LOCK_FILES.contains(&name)
}
