//! Conversations in a folder per working tree, `<at>/<slug>/<id>.jsonl`, where the slug is the tree's path with
//! everything but ASCII letters and digits turned into `-`.
//!
//! Two trees may have one slug (`/a/b-c` and `/a/b/c`), so each file is asked which tree it belongs to.

use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::Value;

use crate::chats::{Chat, Heads, Shelf, is_file_name};
use crate::place::Site;
use crate::tail::{self, Stamp};

/// Longer slugs are cut by the CLIs, which then add a hash of their own.
const LONGEST_SLUG: usize = 200;

/// How much of a file is read to learn to whom it belongs.
const HEAD: u64 = 1 << 20;

/// The conversations of one working tree.
pub(crate) struct ByFolder {
    site: Site,
    /// The folder below the slug's in which the files lie; mostly empty.
    below: &'static str,
    heads: Heads<Head>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Head {
    /// The working tree in which it was begun.
    folder: String,
    /// Whether it is a sub-agent's.
    side: bool,
}

impl ByFolder {
    pub(crate) fn new(site: Site, below: &'static str) -> Self {
        Self { site, below, heads: Heads::default() }
    }

    /// The folders in which conversations of this tree may lie.
    fn places(&self) -> io::Result<Vec<PathBuf>> {
        let mut places = Vec::new();
        for folder in &self.site.folders {
            let slug = slug(&folder.to_string_lossy());
            if slug.len() <= LONGEST_SLUG {
                places.push(self.site.at.join(slug).join(self.below));
                continue;
            }
            for entry in std::fs::read_dir(&self.site.at)? {
                let name = entry?.file_name();
                if name.to_str().is_some_and(|name| name.starts_with(&slug[..LONGEST_SLUG])) {
                    places.push(self.site.at.join(name).join(self.below));
                }
            }
        }
        places.dedup();
        Ok(places)
    }
}

impl Shelf for ByFolder {
    fn since(&self) -> Option<Timestamp> {
        self.site.since
    }

    fn find(&mut self, asked: Option<&str>, _now: Timestamp) -> io::Result<Vec<Chat>> {
        let places = self.places()?;
        if let Some(id) = asked {
            return asked_file(&places, id).map(Option::into_iter).map(Iterator::collect);
        }
        let mut chats = Vec::new();
        for place in places {
            let entries = match std::fs::read_dir(&place) {
                Ok(entries) => entries,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(io::Error::other(format!("{}: {error}", place.display()))),
            };
            for entry in entries {
                let path = entry?.path();
                let Some(id) = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".jsonl")) else {
                    continue;
                };
                // Sub-agents of older versions lie beside their parents.
                if id.starts_with("agent-") {
                    continue;
                }
                let Ok(stamp) = Stamp::at(&path) else { continue };
                let head = self.heads.of(&path, stamp, read_head);
                if head.is_some_and(|head| !head.side && self.site.is_ours(&head.folder)) {
                    chats.push(Chat { id: id.to_owned(), path: path.clone(), stamp });
                }
            }
        }
        Ok(chats)
    }
}

fn asked_file(places: &[PathBuf], id: &str) -> io::Result<Option<Chat>> {
    if !is_file_name(id) {
        return Err(io::Error::other(format!("`{}` is no conversation's id", id.escape_debug())));
    }
    for place in places {
        let path = place.join(format!("{id}.jsonl"));
        match Stamp::at(&path) {
            Ok(stamp) => return Ok(Some(Chat { id: id.to_owned(), path, stamp })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(io::Error::other(format!("{}: {error}", path.display()))),
        }
    }
    Ok(None)
}

/// The first line that names a folder says to whom the file belongs; `None` while none does.
fn read_head(path: &Path) -> io::Result<Option<Head>> {
    let mut reader = BufReader::new(tail::open(path)?.take(HEAD));
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        if let Ok(value) = serde_json::from_slice::<Value>(&line)
            && let Some(folder) = value["cwd"].as_str()
        {
            let side = value["isSidechain"].as_bool().unwrap_or(false);
            return Ok(Some(Head { folder: folder.to_owned(), side }));
        }
        line.clear();
    }
    Ok(None)
}

/// As JavaScript does it, which counts a character beyond the first plane as two.
fn slug(path: &str) -> String {
    let unit = |c: char| if c.is_ascii_alphanumeric() { c.to_string() } else { "-".repeat(c.len_utf16()) };
    path.chars().map(unit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_are_those_of_the_cli() {
        for (path, expected) in [
            ("/srv/my.repo_1", "-srv-my-repo-1"),
            ("/tmp/名前 x", "-tmp----x"),
            ("/a/😀", "-a---"),
            ("/home/Me/A-b", "-home-Me-A-b"),
        ] {
            assert_eq!(slug(path), expected);
        }
    }
}
