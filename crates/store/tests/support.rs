//! A store in a folder of its own, a clock, and short ways to say what happens in a loop.

use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use loop_core::Name;
use loop_store::{LoopPatch, NewLoop, Outcome, Store, TurnRecord};
use tempfile::TempDir;

/// The lease that tests claim with.
pub(crate) const LEASE: Duration = Duration::from_secs(60);

/// A folder that holds a store, gone at the end of the test.
pub(crate) struct Folder {
    folder: TempDir,
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self { folder: TempDir::new().unwrap() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.path().join("state/loop.db")
    }

    pub(crate) fn url(&self) -> String {
        Store::url_of_file(&self.file())
    }

    pub(crate) async fn open(&self) -> Store {
        Store::open(&self.url()).await.unwrap()
    }

    /// Opens the store with the loop `L` in it, up.
    pub(crate) async fn open_with_loop(&self) -> Store {
        let store = self.open().await;
        store.add_loop(&new_loop("L")).await.unwrap();
        let up = LoopPatch { up: Some(true), ..LoopPatch::default() };
        store.update_loop("L", up).await.unwrap();
        store
    }
}

pub(crate) fn new_loop(id: &str) -> NewLoop {
    NewLoop {
        id: id.to_owned(),
        worktree: PathBuf::from("/repo"),
        common_dir: PathBuf::from("/repo/.git"),
        branch: "loop/task".to_owned(),
        status_file: "STATUS.md".to_owned(),
        slug: "task".to_owned(),
        created_at: at(0),
    }
}

pub(crate) fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

/// The time `seconds` after the tests' beginning.
pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).unwrap()
}

/// What the relay finds when the sections were written by `authors`, in this order, and decides to wake `wake`.
pub(crate) fn outcome(authors: &[&str], wake: Option<&str>, seconds: i64) -> Outcome {
    let turns = authors.iter().enumerate().map(|(index, author)| turn(index + 1, author)).collect();
    let cause_turn = authors.len();
    Outcome {
        tip: format!("tip{cause_turn}"),
        turns,
        state: if wake.is_some() { "running" } else { "held" }.to_owned(),
        decision_json: "{}".to_owned(),
        decision_key: format!("{cause_turn} {wake:?}"),
        wake: wake.map(name),
        cause_turn,
        now: at(seconds),
    }
}

pub(crate) fn turn(n: usize, author: &str) -> TurnRecord {
    TurnRecord {
        n,
        author: name(author),
        to: None,
        summary: format!("step {n}"),
        fingerprint: format!("print{n}"),
        verdict: None,
        commit: Some(format!("commit{n}")),
        woken: None,
        answered: false,
    }
}
