//! Hand-over files: `loop signal F` puts one down, `loop wait --file F` takes it, and it counts once.
//!
//! Taking is one rename to a name beside it: of several that wait exactly one wins. The file is removed only after
//! its words were printed; whoever is killed in between leaves them lying beside the place, under that name. The
//! place is looked at ten times a second: a look costs microseconds, and works where a folder does not exist yet and
//! on file systems that report no events.

pub(crate) mod put;
pub(crate) mod take;
mod watch;
mod writer;

use std::ffi::OsString;
use std::fs::{FileType, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use rustix::fs::Access;

use crate::failure::{COMMAND_LINE, Failure};

pub(crate) use watch::{Seen, Stamp, Watch};

/// A hand-over is an envelope, not the letter.
pub(crate) const MOST: u64 = 1024 * 1024;

/// Where a hand-over file is, or will be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// The file, absolute.
    pub(crate) path: PathBuf,
    folder: PathBuf,
    name: OsString,
}

impl Place {
    /// The place at `path`, seen from `cwd`.
    pub(crate) fn new(cwd: &Path, path: &Path) -> Result<Self, Failure> {
        let no_file = || {
            Failure::say(format!("{:?} names no file", path.display().to_string()))
                .code(COMMAND_LINE)
                .next("name the hand-over file, for example /tmp/handshake.txt")
        };
        let ends_open = path.as_os_str().as_encoded_bytes().ends_with(b"/");
        let (Some(name), false) = (path.file_name(), ends_open) else { return Err(no_file()) };
        let path = cwd.join(path);
        let folder = path.parent().ok_or_else(no_file)?.to_owned();
        Ok(Self { name: name.to_owned(), folder, path })
    }

    /// A name beside the place that nobody else takes.
    fn beside(&self, what: &str) -> PathBuf {
        let id = uuid::Uuid::now_v7().simple().to_string();
        let mut name = self.name.clone();
        // The end of the id is the random part.
        name.push(format!(".{what}-{}", &id[20..]));
        self.folder.join(name)
    }

    /// The file that lies there. Anything but a file is refused: a name that leads elsewhere, or a pipe whose reader
    /// would block, is no hand-over.
    pub(crate) fn file(&self) -> Result<Option<Metadata>, Failure> {
        match self.path.symlink_metadata() {
            Ok(there) if there.is_file() => Ok(Some(there)),
            Ok(there) => Err(Failure::say(format!(
                "{} is {}, not a file; it was left alone",
                self.path.display(),
                kind(there.file_type())
            ))
            .next("name a plain file")),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.refused("look at", error)),
        }
    }

    /// Checks that files can be made, renamed and removed in the folder; `None`: the folder is not there.
    pub(crate) fn folder_takes_files(&self) -> Result<Option<()>, Failure> {
        match rustix::fs::access(&self.folder, Access::WRITE_OK | Access::EXEC_OK) {
            Ok(()) if self.folder.is_dir() => Ok(Some(())),
            Ok(()) => Err(Failure::say(format!("{} is no folder", self.folder.display()))),
            Err(rustix::io::Errno::NOENT) => Ok(None),
            Err(error) => Err(Failure::users(
                anyhow::Error::new(std::io::Error::from(error))
                    .context(format!("the folder {} cannot be written", self.folder.display())),
            )
            .next("a hand-over is taken by renaming it, so use a folder that you may write")),
        }
    }

    fn refused(&self, what: &str, error: std::io::Error) -> Failure {
        Failure::users(anyhow::Error::new(error).context(format!("cannot {what} {}", self.path.display())))
    }

    /// Why these bytes are no hand-over, and the text if they are.
    fn text(&self, bytes: Vec<u8>) -> Result<String, Failure> {
        let refused = |what: &str| {
            Failure::say(format!("{} {what}; it was left there", self.path.display())).next(
                "a hand-over is UTF-8 text of at most 1 MB: put the rest into a file of its own and name that",
            )
        };
        if bytes.len() as u64 > MOST {
            return Err(refused("is larger than 1 MB"));
        }
        let text = String::from_utf8(bytes).map_err(|_| refused("is not text (no UTF-8)"))?;
        if text.contains('\0') {
            return Err(refused("is not text (it holds NUL bytes)"));
        }
        Ok(text)
    }
}

fn kind(of: FileType) -> &'static str {
    match of {
        _ if of.is_symlink() => "a symbolic link",
        _ if of.is_dir() => "a folder",
        _ if of.is_fifo() => "a pipe",
        _ if of.is_socket() => "a socket",
        _ => "a device",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_place_is_a_file_s_name() {
        let cwd = Path::new("/here");
        for (path, expected) in [("f", "/here/f"), ("a/f", "/here/a/f"), ("/tmp/f.txt", "/tmp/f.txt")] {
            assert_eq!(Place::new(cwd, Path::new(path)).unwrap().path, Path::new(expected));
        }
        for path in ["", "/", "..", "a/..", "a/"] {
            assert!(Place::new(cwd, Path::new(path)).is_err(), "{path}");
        }
    }

    #[test]
    fn names_beside_it_never_meet() {
        let place = Place::new(Path::new("/w"), Path::new("f")).unwrap();
        let (one, two) = (place.beside("taken"), place.beside("taken"));
        assert_ne!(one, two);
        let name = one.file_name().unwrap().to_str().unwrap();
        assert!(name.starts_with("f.taken-") && name.len() == "f.taken-".len() + 12, "{name}");
    }

    #[test]
    fn only_small_text_is_a_hand_over() {
        let place = Place::new(Path::new("/w"), Path::new("f")).unwrap();
        assert_eq!(place.text("gut: ü\r\n".into()).unwrap(), "gut: ü\r\n");
        assert!(place.text(vec![b'x'; MOST as usize]).is_ok());
        for bad in [vec![b'x'; MOST as usize + 1], vec![0xff, 0xfe, b'x', 0], b"a\0b".to_vec()] {
            assert!(place.text(bad).is_err());
        }
    }
}
