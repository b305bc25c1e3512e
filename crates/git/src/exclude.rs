//! The repository's own list of ignored files, `info/exclude`.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::error::GitError;
use crate::lock::{LOCK_WAIT, StatusLock};
use crate::repo::Repo;
use crate::write::write_atomic;

impl Repo {
    /// Adds lines to `info/exclude`, which all worktrees share; lines that stand there already are left out.
    /// Returns the very bytes that were added, for [`Repo::unexclude`]; empty when there was nothing to add.
    ///
    /// # Errors
    /// Fails when the file cannot be read or written.
    pub fn exclude(&self, lines: &[String]) -> Result<Vec<u8>, GitError> {
        let _lock = self.exclude_lock()?;
        let path = self.exclude_file();
        let mut text = read(&path)?;
        let mut added = Vec::new();
        for line in lines {
            let stands = [&text, &added].iter().any(|part| has_line(part, line.as_bytes()));
            if stands {
                continue;
            }
            if added.is_empty() && text.last().is_some_and(|last| *last != b'\n') {
                added.push(b'\n');
            }
            added.extend_from_slice(line.as_bytes());
            added.push(b'\n');
        }
        if added.is_empty() {
            return Ok(added);
        }
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(GitError::io("make", folder))?;
        }
        text.extend_from_slice(&added);
        write_atomic(&path, &text)?;
        Ok(added)
    }

    /// Takes bytes that [`Repo::exclude`] added out of `info/exclude` again. Returns whether they were found; a file
    /// that is empty then is removed.
    ///
    /// # Errors
    /// Fails when the file cannot be read or written.
    pub fn unexclude(&self, added: &[u8]) -> Result<bool, GitError> {
        if added.is_empty() {
            return Ok(true);
        }
        let _lock = self.exclude_lock()?;
        let path = self.exclude_file();
        let mut text = read(&path)?;
        let Some(at) = text.windows(added.len()).rposition(|part| part == added) else { return Ok(false) };
        let mut rest = text.split_off(at).split_off(added.len());
        // The newline that ended the user's last line stays ours to take only if nothing follows.
        if added.first() == Some(&b'\n') && !rest.is_empty() {
            text.push(b'\n');
        }
        text.append(&mut rest);
        if text.is_empty() {
            std::fs::remove_file(&path).map_err(GitError::io("remove", &path))?;
        } else {
            write_atomic(&path, &text)?;
        }
        Ok(true)
    }

    fn exclude_file(&self) -> PathBuf {
        self.place().common_dir.join("info").join("exclude")
    }

    fn exclude_lock(&self) -> Result<StatusLock, GitError> {
        StatusLock::take_file(&self.place().common_dir.join("loop").join("exclude.lock"), LOCK_WAIT)
    }
}

fn read(path: &Path) -> Result<Vec<u8>, GitError> {
    match std::fs::read(path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(source) => Err(GitError::io("read", path)(source)),
    }
}

fn has_line(text: &[u8], line: &[u8]) -> bool {
    text.split(|byte| *byte == b'\n').any(|other| other.strip_suffix(b"\r").unwrap_or(other) == line)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::testing::Sandbox;

    #[test]
    fn what_was_added_can_be_taken_back() {
        for before in ["", "# comment\n*.log\n", "no newline at the end", "/loop.yaml\n"] {
            let sandbox = Sandbox::new();
            let repo = sandbox.repo();
            let path = repo.exclude_file();
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, before).unwrap();
            let lines = ["/loop.yaml".to_owned(), "/.claude/skills/".to_owned()];
            let added = repo.exclude(&lines).unwrap();
            assert!(repo.exclude(&lines).unwrap().is_empty(), "again adds nothing");
            let text = std::fs::read_to_string(&path).unwrap();
            assert_eq!(text.matches("/loop.yaml\n").count(), 1, "{text}");
            assert!(repo.unexclude(&added).unwrap());
            assert_eq!(std::fs::read_to_string(&path).unwrap_or_default(), before);
            assert!(!repo.unexclude(&added).unwrap());
        }
    }

    #[test]
    fn a_linked_worktree_shares_the_list() {
        let sandbox = Sandbox::new();
        sandbox.write("a", "1");
        sandbox.commit_all("first");
        let linked = sandbox.linked_worktree("linked");
        let repo = Repo::discover(&linked).unwrap();
        let added = repo.exclude(&["/ours".to_owned()]).unwrap();
        std::fs::write(linked.join("ours"), "x").unwrap();
        assert!(repo.dirty(&sandbox.env()).unwrap().is_empty());
        assert!(repo.unexclude(&added).unwrap());
        assert_eq!(repo.dirty(&sandbox.env()).unwrap().len(), 1);
    }
}
