//! What git's configuration says here.

use std::path::PathBuf;

use crate::error::GitError;
use crate::repo::Repo;

impl Repo {
    /// Returns a setting of git's configuration, as it holds in this worktree.
    pub fn config_string(&self, key: &str) -> Option<String> {
        let mut config = self.git2.config().ok()?;
        config.snapshot().ok()?.get_string(key).ok()
    }

    /// Returns the name and e-mail address that the configuration gives. [`Git::identity`](crate::Git::identity)
    /// asks git itself, which knows of environment variables too.
    ///
    /// # Errors
    /// Fails with [`GitError::NoIdentity`] when there is none.
    pub fn identity(&self) -> Result<(String, String), GitError> {
        match (self.config_string("user.name"), self.config_string("user.email")) {
            (Some(name), Some(email)) if !name.trim().is_empty() => Ok((name, email)),
            _ => Err(GitError::NoIdentity { words: "user.name or user.email is not set".to_owned() }),
        }
    }

    /// Returns the folder whose hooks git runs in this worktree: `core.hooksPath` (a relative one counts from the
    /// root of the working tree), else `hooks` in the directory that all worktrees share.
    pub fn hooks_dir(&self) -> PathBuf {
        let place = self.place();
        let configured = self.git2.config().and_then(|config| config.get_path("core.hooksPath"));
        match configured {
            Ok(path) if !path.as_os_str().is_empty() => place.worktree.join(path),
            _ => place.common_dir.join("hooks"),
        }
    }
}
