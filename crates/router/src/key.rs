//! The key that a request must carry.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use subtle::ConstantTimeEq;

/// 64 hexadecimal digits. Shown only as `ab12…ef90`, also by `Debug`.
#[derive(Clone)]
pub struct Key(String);

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The file cannot be read or written.
    #[error("cannot use the key file {path}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// Others can read the file.
    #[error(
        "the key file {path} can be read by others (mode {mode:o}); make it yours alone: chmod 600 {path}"
    )]
    Open {
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// The content is no key.
    #[error("the key file {path} holds no key of 64 hexadecimal digits; remove it and a new one is made")]
    NoKey {
        /// The file.
        path: PathBuf,
    },
}

impl Key {
    /// Reads the key from `path`, or makes one there with mode 0600 when there is none.
    ///
    /// # Errors
    /// Fails when the file cannot be read or written, when others can read it, or when it holds no key.
    pub fn read_or_make(path: &Path) -> Result<Self, KeyError> {
        match Self::read(path) {
            Err(KeyError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Self::make(path),
            read => read,
        }
    }

    /// Reads the key from `path`.
    ///
    /// # Errors
    /// Fails when there is no file, when others can read it, or when it holds no key.
    pub fn read(path: &Path) -> Result<Self, KeyError> {
        let io = |source| KeyError::Io { path: path.to_owned(), source };
        let mode = fs::metadata(path).map_err(io)?.mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(KeyError::Open { path: path.to_owned(), mode });
        }
        let text = fs::read_to_string(path).map_err(io)?;
        let text = text.trim();
        if text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            Ok(Self(text.to_owned()))
        } else {
            Err(KeyError::NoKey { path: path.to_owned() })
        }
    }

    fn make(path: &Path) -> Result<Self, KeyError> {
        let io = |source| KeyError::Io { path: path.to_owned(), source };
        let mut random = [0_u8; 32];
        fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut random)).map_err(io)?;
        let key = Self(hex::encode(random));
        if let Some(folder) = path.parent() {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(io)?;
        }
        // A name of its own and a link without replacing: of two that make the first key at once, one wins and
        // both read the winner's.
        let draft = path.with_extension(format!("new-{}", std::process::id()));
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&draft)
            .map_err(io)?;
        file.set_permissions(fs::Permissions::from_mode(0o600)).map_err(io)?;
        writeln!(file, "{}", key.0).and_then(|()| file.sync_all()).map_err(io)?;
        let linked = fs::hard_link(&draft, path);
        fs::remove_file(&draft).map_err(io)?;
        match linked {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Self::read(path),
            Err(error) => Err(io(error)),
            Ok(()) => Ok(key),
        }
    }

    /// Compares in constant time.
    pub fn is(&self, offered: &str) -> bool {
        self.0.as_bytes().ct_eq(offered.as_bytes()).into()
    }

    /// The key itself, to be put into a request's header.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}…{}", &self.0[..4], &self.0[60..])
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_key_is_made_once_for_its_owner_alone_and_never_shown() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state/key");
        let key = Key::read_or_make(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(folder.path().join("state")).unwrap().mode() & 0o777, 0o700);
        assert_eq!(Key::read_or_make(&path).unwrap().expose(), key.expose());
        let shown = format!("{key:?} {key}");
        assert!(!shown.contains(key.expose()) && shown.contains('…'), "{shown}");
        assert!(key.is(key.expose()) && !key.is("") && !key.is(&"0".repeat(64)));
    }

    #[test]
    fn a_key_that_others_can_read_is_refused_with_the_mend() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        Key::read_or_make(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let error = Key::read_or_make(&path).unwrap_err().to_string();
        assert!(error.contains("644") && error.contains("chmod 600"), "{error}");
    }

    #[test]
    fn a_torn_key_is_refused_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        fs::write(&path, "abc").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert!(matches!(Key::read_or_make(&path), Err(KeyError::NoKey { .. })));
        assert_eq!(fs::read_to_string(&path).unwrap(), "abc");
    }
}
