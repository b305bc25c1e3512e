//! What the caller knows of the surroundings, since this crate reads no environment.

use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use loop_git::GitEnv;

use crate::error::HookError;

/// The surroundings in which hooks are installed and proved.
#[derive(Debug, Clone)]
pub struct HookEnv {
    /// The environment that git runs with.
    pub git_env: GitEnv,
    /// The absolute path of the `loop` program that the hook calls.
    pub loop_binary: PathBuf,
    /// The user's home folder, for git's `~`.
    pub home: PathBuf,
    /// Where temporary files may be made.
    pub temp: PathBuf,
}

impl HookEnv {
    /// Returns what git is given.
    pub(crate) fn for_git(&self) -> GitEnv {
        self.git_env.clone().with("HOME", &self.home)
    }

    /// Returns the path of `loop` as one word of a shell.
    ///
    /// # Errors
    /// Fails when the path is not absolute, or holds a line break, which no marked line could carry.
    pub(crate) fn quoted_binary(&self) -> Result<Vec<u8>, HookError> {
        let path = self.loop_binary.as_os_str().as_bytes();
        let why = if !self.loop_binary.is_absolute() {
            "it is not absolute, and a hook runs in other folders"
        } else if path.contains(&b'\n') || path.contains(&b'\r') {
            "it holds a line break"
        } else {
            return Ok(quote(path));
        };
        Err(HookError::Binary { path: self.loop_binary.clone(), why })
    }
}

/// Puts `word` into single quotes, in which a POSIX shell finds nothing special.
pub(crate) fn quote(word: &[u8]) -> Vec<u8> {
    let mut quoted = vec![b'\''];
    for byte in word {
        match byte {
            b'\'' => quoted.extend_from_slice(br"'\''"),
            other => quoted.push(*other),
        }
    }
    quoted.push(b'\'');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word_of_the_shell() {
        assert_eq!(quote(b"/a b/$x`y`\"z\\"), b"'/a b/$x`y`\"z\\'");
        assert_eq!(quote(b"it's"), br"'it'\''s'");
        let env = |path: &str| HookEnv {
            git_env: GitEnv::default(),
            loop_binary: path.into(),
            home: "/".into(),
            temp: "/tmp".into(),
        };
        assert!(env("loop").quoted_binary().is_err());
        assert!(env("/a\nb").quoted_binary().is_err());
        assert!(env("/a b").quoted_binary().is_ok());
    }
}
