//! What one file says, at a commit or in the working tree.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use git2::Oid;

use crate::commit_id::CommitId;
use crate::error::GitError;
use crate::repo::Repo;
use crate::tree::{Found, SYMLINK, find, link_target};

/// The largest file whose content is read: 64 MB.
pub const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// What stands at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Blob {
    /// Nothing.
    Missing,
    /// A file, with its content.
    File(Vec<u8>),
    /// A folder, or a submodule.
    Directory,
    /// A symlink.
    Symlink {
        /// What it says.
        target: String,
        /// Whether it leads out of the repository (or in a circle).
        outside: bool,
        /// The content of the file that it leads to, if it leads to one inside the repository.
        content: Option<Vec<u8>>,
    },
    /// A file of more than [`MAX_FILE_BYTES`], with its size.
    TooBig(u64),
}

impl Blob {
    /// The content of the file, or of the file that the symlink leads to.
    pub fn content(&self) -> Option<&[u8]> {
        match self {
            Self::File(content) => Some(content),
            Self::Symlink { content, .. } => content.as_deref(),
            _ => None,
        }
    }
}

impl Repo {
    /// Returns what stood at `path` (relative to the root, with `/`) at a commit. Symlinks are followed inside the
    /// repository.
    ///
    /// # Errors
    /// Fails when the commit or its objects cannot be read, or the path is none inside the repository.
    pub fn blob(&self, commit: &CommitId, path: &str) -> Result<Blob, GitError> {
        check_path(path)?;
        let tree = self.tree_of(commit)?;
        let found = find(&self.git2, &tree, path)?;
        let link = tree.get_path(Path::new(path)).ok().filter(|entry| entry.filemode_raw() == SYMLINK);
        let content = match &found {
            Found::Missing if link.is_none() => return Ok(Blob::Missing),
            Found::Folder if link.is_none() => return Ok(Blob::Directory),
            Found::File { id, .. } => match self.content(*id)? {
                Ok(content) => Some(content),
                Err(size) => return Ok(Blob::TooBig(size)),
            },
            _ => None,
        };
        let outside = found == Found::Outside;
        Ok(match (link, content) {
            (Some(link), content) => {
                Blob::Symlink { target: link_target(&self.git2, &link)?, outside, content }
            }
            (None, Some(content)) => Blob::File(content),
            // A folder on the way is a symlink that leads out.
            (None, None) => Blob::Symlink { target: path.to_owned(), outside, content: None },
        })
    }

    /// Returns the id of the content at `path` at a commit, symlinks followed; `None` when no file is there. Equal
    /// ids, equal content.
    ///
    /// # Errors
    /// Fails as [`Repo::blob`] does.
    pub fn blob_id(&self, commit: &CommitId, path: &str) -> Result<Option<String>, GitError> {
        check_path(path)?;
        Ok(match find(&self.git2, &self.tree_of(commit)?, path)? {
            Found::File { id, .. } => Some(id.to_string()),
            _ => None,
        })
    }

    /// Returns what stands at `path` in the working tree.
    ///
    /// # Errors
    /// Fails when it cannot be read, when it is neither file nor folder nor symlink, or when the path is none
    /// inside the repository.
    pub fn worktree_file(&self, path: &str) -> Result<Blob, GitError> {
        check_path(path)?;
        let full = self.place().worktree.join(path);
        let metadata = match std::fs::symlink_metadata(&full) {
            Ok(metadata) => metadata,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(Blob::Missing);
            }
            Err(source) => return Err(GitError::io("read", &full)(source)),
        };
        let link = metadata.is_symlink().then(|| std::fs::read_link(&full)).transpose();
        let link = link.map_err(GitError::io("read", &full))?;
        let inside = match self.inside(&full) {
            Ok(inside) => inside,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                // A dangling link leads to nothing, inside or not; what it says decides.
                let outside = link.as_ref().is_some_and(|target| target.is_absolute());
                let target = link.unwrap_or_default().to_string_lossy().into_owned();
                return Ok(Blob::Symlink { target, outside, content: None });
            }
            Err(source) => return Err(GitError::io("read", &full)(source)),
        };
        let target = link.map(|target| target.to_string_lossy().into_owned());
        let Some(real) = inside else {
            let target = target.unwrap_or_else(|| path.to_owned());
            return Ok(Blob::Symlink { target, outside: true, content: None });
        };
        let content = match read_file(&real)? {
            Blob::File(content) => content,
            Blob::Directory if target.is_some() => {
                return Ok(Blob::Symlink {
                    target: target.unwrap_or_default(),
                    outside: false,
                    content: None,
                });
            }
            other => return Ok(other),
        };
        Ok(match target {
            Some(target) => Blob::Symlink { target, outside: false, content: Some(content) },
            None => Blob::File(content),
        })
    }

    /// Returns where `full` really is, symlinks followed, if that is in the working tree and not in a git
    /// directory.
    pub(crate) fn inside(&self, full: &Path) -> std::io::Result<Option<PathBuf>> {
        let real = full.canonicalize()?;
        let place = self.place();
        let in_git = real.starts_with(&place.git_dir) || real.starts_with(&place.common_dir);
        Ok((real.starts_with(&place.worktree) && !in_git).then_some(real))
    }

    /// Reads a blob; the inner error is the size of one that is too big.
    fn content(&self, id: Oid) -> Result<Result<Vec<u8>, u64>, GitError> {
        let doing = "read a file of a commit";
        let odb = self.git2.odb().map_err(GitError::git2(doing))?;
        let (size, _) = odb.read_header(id).map_err(GitError::git2(doing))?;
        if size as u64 > MAX_FILE_BYTES {
            return Ok(Err(size as u64));
        }
        let object = odb.read(id).map_err(GitError::git2(doing))?;
        Ok(Ok(object.data().to_vec()))
    }
}

/// Reads what is really there, no symlink any more.
fn read_file(real: &Path) -> Result<Blob, GitError> {
    let metadata = std::fs::symlink_metadata(real).map_err(GitError::io("read", real))?;
    if metadata.is_dir() {
        return Ok(Blob::Directory);
    }
    if !metadata.is_file() {
        // A pipe would make us wait for ever.
        return Err(GitError::NotAFile { path: real.to_owned(), what: "a pipe, socket or device" });
    }
    if metadata.len() > MAX_FILE_BYTES {
        return Ok(Blob::TooBig(metadata.len()));
    }
    std::fs::read(real).map(Blob::File).map_err(GitError::io("read", real))
}

/// Refuses what is no path inside a repository.
pub(crate) fn check_path(path: &str) -> Result<(), GitError> {
    let refuse = |why| Err(GitError::Path { path: path.to_owned(), why });
    if path.is_empty() || path.ends_with('/') {
        return refuse("it names no file");
    }
    if path.starts_with('/') {
        return refuse("it is absolute");
    }
    if path.contains('\0') {
        return refuse("it holds a NUL byte");
    }
    if path.split('/').any(|part| part == "..") {
        return refuse("it leads upwards");
    }
    if path.split('/').any(|part| part.eq_ignore_ascii_case(".git")) {
        return refuse("it lies in the git directory");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::testing::Sandbox;

    #[test]
    fn files_links_and_folders() {
        let sandbox = Sandbox::new();
        sandbox.write("docs/STATUS.md", "text\n");
        sandbox.link("LINK.md", "docs/STATUS.md");
        sandbox.link("docs/UP.md", "../LINK.md");
        sandbox.link("OUT.md", "../elsewhere.md");
        sandbox.link("ABS.md", "/etc/passwd");
        sandbox.link("LOOP.md", "LOOP.md");
        sandbox.link("DANGLING.md", "nothing.md");
        sandbox.link("folder", "docs");
        let commit = sandbox.commit_all("files");
        let repo = sandbox.repo();
        let link = |target: &str, outside, content: Option<&str>| Blob::Symlink {
            target: target.to_owned(),
            outside,
            content: content.map(|text| text.as_bytes().to_vec()),
        };
        let cases = [
            ("docs/STATUS.md", Blob::File(b"text\n".to_vec())),
            ("folder/STATUS.md", Blob::File(b"text\n".to_vec())),
            ("docs", Blob::Directory),
            ("nothing", Blob::Missing),
            ("docs/STATUS.md/x", Blob::Missing),
            ("LINK.md", link("docs/STATUS.md", false, Some("text\n"))),
            ("docs/UP.md", link("../LINK.md", false, Some("text\n"))),
            ("OUT.md", link("../elsewhere.md", true, None)),
            ("ABS.md", link("/etc/passwd", true, None)),
            ("DANGLING.md", link("nothing.md", false, None)),
            ("folder", link("docs", false, None)),
        ];
        std::fs::write(sandbox.path().parent().unwrap().join("elsewhere.md"), "secret").unwrap();
        for (path, expected) in cases {
            assert_eq!(repo.blob(&commit, path).unwrap(), expected, "{path} at the commit");
            assert_eq!(repo.worktree_file(path).unwrap(), expected, "{path} in the working tree");
        }
        assert_eq!(repo.blob(&commit, "LOOP.md").unwrap(), link("LOOP.md", true, None));
        assert!(repo.worktree_file("LOOP.md").is_err());
        for path in ["", "/etc/passwd", "../x", "a/../../x", ".git/config", "x/"] {
            assert!(matches!(repo.blob(&commit, path), Err(GitError::Path { .. })), "{path}");
            assert!(matches!(repo.worktree_file(path), Err(GitError::Path { .. })), "{path}");
        }
        assert_eq!(
            repo.blob_id(&commit, "LINK.md").unwrap(),
            repo.blob_id(&commit, "docs/STATUS.md").unwrap()
        );
        assert_eq!(repo.blob_id(&commit, "docs").unwrap(), None);
    }
}
