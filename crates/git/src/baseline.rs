//! What was already changed in the working tree when an agent's turn began.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use loop_core::Name;
use serde::{Deserialize, Serialize};

use crate::commit_id::CommitId;
use crate::dirty::DirtyKind;
use crate::env::GitEnv;
use crate::error::GitError;
use crate::repo::Repo;
use crate::write::write_atomic;

/// The working tree at the beginning of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Baseline {
    /// Which turn it was recorded for, in the caller's words.
    pub turn: String,
    /// The newest commit then.
    pub head: Option<CommitId>,
    /// The files that were changed or untracked then.
    pub dirty: Vec<BaselineEntry>,
}

/// A file that was changed or untracked at the beginning of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaselineEntry {
    /// Where, relative to the root.
    #[serde(with = "path_text")]
    pub path: PathBuf,
    /// How it differed from the newest commit.
    pub kind: DirtyKind,
    /// Its state.
    pub fingerprint: String,
}

/// What has changed since a baseline.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Since {
    /// Files that changed since: the agent's work.
    pub changed: Vec<PathBuf>,
    /// Those of them that were changed or untracked already when the turn began: their earlier changes cannot be
    /// told from the agent's.
    pub mixed: Vec<PathBuf>,
    /// Files that are as they were then: somebody else's work, to be left out.
    pub left_out: Vec<PathBuf>,
}

/// Records what is changed or untracked now, as the beginning of the agent's turn `turn`. A record of the same turn
/// stays as it is: an agent that looks at its turn again has changed files since.
///
/// # Errors
/// Fails when the working tree cannot be read, or the record cannot be written.
pub fn record_baseline(repo: &Repo, env: &GitEnv, name: &Name, turn: &str) -> Result<Baseline, GitError> {
    // A record that cannot be read is no reason to stop: it is written anew.
    if let Ok(Some(earlier)) = read_baseline(repo, name)
        && earlier.turn == turn
    {
        return Ok(earlier);
    }
    let dirty = repo.dirty(env)?.into_iter();
    let dirty =
        dirty.map(|file| BaselineEntry { path: file.path, kind: file.kind, fingerprint: file.fingerprint });
    let head = repo.head()?.tip().cloned();
    let baseline = Baseline { turn: turn.to_owned(), head, dirty: dirty.collect() };
    let path = file(repo, name);
    let folder = repo.place().loop_dir();
    std::fs::create_dir_all(&folder).map_err(GitError::io("make", &folder))?;
    let text =
        serde_json::to_vec(&baseline).map_err(|source| GitError::Record { path: path.clone(), source })?;
    write_atomic(&path, &text)?;
    Ok(baseline)
}

/// Returns the record of the agent's last turn, if there is one.
///
/// # Errors
/// Fails when it cannot be read.
pub fn read_baseline(repo: &Repo, name: &Name) -> Result<Option<Baseline>, GitError> {
    let path = file(repo, name);
    let text = match std::fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(GitError::io("read", &path)(source)),
    };
    serde_json::from_slice(&text).map(Some).map_err(|source| GitError::Record { path, source })
}

/// Removes the record of the agent's last turn.
///
/// # Errors
/// Fails when there is one that cannot be removed.
pub fn forget_baseline(repo: &Repo, name: &Name) -> Result<(), GitError> {
    let path = file(repo, name);
    match std::fs::remove_file(&path) {
        Err(source) if source.kind() != ErrorKind::NotFound => Err(GitError::io("remove", &path)(source)),
        _ => Ok(()),
    }
}

/// Tells the files that changed since the baseline from those that are as they were.
///
/// # Errors
/// Fails when the working tree cannot be read.
pub fn changed_since(repo: &Repo, env: &GitEnv, baseline: &Baseline) -> Result<Since, GitError> {
    let before: BTreeMap<_, _> =
        baseline.dirty.iter().map(|entry| (&entry.path, &entry.fingerprint)).collect();
    let mut since = Since::default();
    for file in repo.dirty(env)? {
        match before.get(&file.path) {
            Some(fingerprint) if **fingerprint == file.fingerprint => since.left_out.push(file.path),
            Some(_) => {
                since.mixed.push(file.path.clone());
                since.changed.push(file.path);
            }
            None => since.changed.push(file.path),
        }
    }
    Ok(since)
}

fn file(repo: &Repo, name: &Name) -> PathBuf {
    repo.place().loop_dir().join(format!("turn-{}.json", name.key()))
}

/// A path in JSON: as text where it is text, else its bytes in hex.
mod path_text {
    use super::{OsStrExt, OsStringExt, PathBuf};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum PathText {
        Text(String),
        Bytes { hex: String },
    }

    pub(super) fn serialize<S: Serializer>(path: &std::path::Path, serializer: S) -> Result<S::Ok, S::Error> {
        match path.to_str() {
            Some(text) => PathText::Text(text.to_owned()),
            None => PathText::Bytes { hex: hex::encode(path.as_os_str().as_bytes()) },
        }
        .serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
        Ok(match PathText::deserialize(deserializer)? {
            PathText::Text(text) => PathBuf::from(text),
            PathText::Bytes { hex } => {
                let bytes = hex::decode(hex).map_err(serde::de::Error::custom)?;
                PathBuf::from(std::ffi::OsString::from_vec(bytes))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::testing::Sandbox;

    #[test]
    fn only_what_changed_since_is_the_agents() {
        let sandbox = Sandbox::new();
        for path in ["theirs", "both", "ours", "gone", "reverted"] {
            sandbox.write(path, "1");
        }
        let head = sandbox.commit_all("first");
        let odd: PathBuf = std::ffi::OsString::from_vec(b"odd \xff\n\"name".to_vec()).into();
        let new_odd: PathBuf = std::ffi::OsString::from_vec(b"new \xfe\n*".to_vec()).into();
        for path in ["theirs", "both", "reverted", "untracked"] {
            sandbox.write(path, "2");
        }
        std::fs::write(sandbox.path().join(&odd), "2").unwrap();
        let (repo, env) = (sandbox.repo(), sandbox.env());
        let name = Name::new("Zoé").unwrap();
        let baseline = record_baseline(&repo, &env, &name, "turn 3").unwrap();
        assert_eq!(baseline.head, Some(head));
        assert_eq!(read_baseline(&repo, &name).unwrap(), Some(baseline.clone()));

        sandbox.write("both", "3");
        sandbox.write("ours", "3");
        sandbox.write("new", "3");
        sandbox.write("reverted", "1");
        std::fs::write(sandbox.path().join(&new_odd), "2").unwrap();
        std::fs::remove_file(sandbox.path().join("gone")).unwrap();
        let paths = |texts: &[&str]| texts.iter().map(PathBuf::from).collect::<Vec<_>>();
        let since = changed_since(&repo, &env, &baseline).unwrap();
        let mut changed = paths(&["both", "gone", "new"]);
        changed.push(new_odd);
        changed.extend(paths(&["ours"]));
        let mut left_out = vec![odd];
        left_out.extend(paths(&["theirs", "untracked"]));
        assert_eq!(since, Since { changed, mixed: paths(&["both"]), left_out });

        assert_eq!(record_baseline(&repo, &env, &name, "turn 3").unwrap(), baseline, "the same turn");
        assert_ne!(record_baseline(&repo, &env, &name, "turn 5").unwrap(), baseline);
        forget_baseline(&repo, &name).unwrap();
        assert_eq!(read_baseline(&repo, &name).unwrap(), None);
    }
}
