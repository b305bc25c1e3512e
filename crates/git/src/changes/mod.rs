//! What changed between two commits: for a reader with little room, and whole.

mod file;
mod page;

use git2::{Diff, DiffFindOptions, DiffFormat, DiffOptions};
use serde::Serialize;

use crate::commit_id::CommitId;
use crate::error::GitError;
use crate::repo::Repo;
use file::FileDiff;
use page::Page;

/// Larger files are not compared line by line; they show as binary.
const MAX_TEXT: i64 = 16 * 1024 * 1024;

/// Among how many new and deleted files moved ones are looked for: every pair is compared.
const MAX_MOVED: usize = 200;

/// A diff that fits on a page.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct DiffText {
    /// A unified diff with three lines of context, without control characters. Binary and lock files are named
    /// only.
    pub text: String,
    /// Every changed file, shown in the text or not.
    pub stat: Vec<FileStat>,
    /// Whether something of the text was left out for want of room.
    pub cut: bool,
}

/// How much of one file changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileStat {
    /// Its path; the new one of a moved file.
    pub path: String,
    /// Lines added.
    pub added: usize,
    /// Lines removed.
    pub removed: usize,
    /// Whether it is no text.
    pub binary: bool,
    /// Whether the text shows it whole.
    pub shown: bool,
}

impl Repo {
    /// Returns what changed between two commits, in at most `max_lines` lines and `max_bytes` bytes, without the
    /// paths that `skip` names. A file that does not fit any more is left to [`DiffText::stat`]; the first one
    /// shows as much as fits.
    ///
    /// # Errors
    /// Fails when a commit or its content cannot be read.
    pub fn diff(
        &self,
        from: &CommitId,
        to: &CommitId,
        skip: &dyn Fn(&str) -> bool,
        max_lines: usize,
        max_bytes: usize,
    ) -> Result<DiffText, GitError> {
        let mut options = DiffOptions::new();
        options.context_lines(3).indent_heuristic(true).max_size(MAX_TEXT);
        let mut diff = self.tree_diff(from, to, &mut options)?;
        let mut similar = DiffFindOptions::new();
        similar.renames(true).rename_limit(MAX_MOVED);
        diff.find_similar(Some(&mut similar)).map_err(GitError::git2("look for moved files"))?;
        let mut page = Page::new(max_lines, max_bytes);
        for index in 0..diff.deltas().len() {
            if let Some(file) = FileDiff::read(&diff, index)?.filter(|file| !skip(&file.path)) {
                page.add(file);
            }
        }
        Ok(page.finish())
    }

    /// Returns the whole difference between two commits as a patch that `git apply` takes, binary files included,
    /// without the paths that `skip` names.
    ///
    /// # Errors
    /// Fails when a commit or its content cannot be read.
    pub fn patch(
        &self,
        from: &CommitId,
        to: &CommitId,
        skip: &dyn Fn(&str) -> bool,
    ) -> Result<Vec<u8>, GitError> {
        let mut options = DiffOptions::new();
        options.show_binary(true).id_abbrev(40);
        let diff = self.tree_diff(from, to, &mut options)?;
        let mut patch = Vec::new();
        diff.print(DiffFormat::Patch, |delta, _, line| {
            if !skip(&file::path_of(&delta)) {
                if matches!(line.origin(), '+' | '-' | ' ') {
                    patch.push(line.origin() as u8);
                }
                patch.extend_from_slice(line.content());
            }
            true
        })
        .map_err(GitError::git2("write the patch"))?;
        Ok(patch)
    }

    fn tree_diff(
        &self,
        from: &CommitId,
        to: &CommitId,
        options: &mut DiffOptions,
    ) -> Result<Diff<'_>, GitError> {
        let (old, new) = (self.tree_of(from)?, self.tree_of(to)?);
        self.git2
            .diff_tree_to_tree(Some(&old), Some(&new), Some(options))
            .map_err(GitError::git2("compare two commits"))
    }
}

#[cfg(test)]
mod tests;
