//! A home folder, a working tree, and a CLI's records in the one about the other.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use loop_core::profile::{Records, RecordsFormat, TimeUnit};
use loop_core::records::{RecordState, Recorded};
use loop_watch::{Place, Watcher};

/// The first second of every story.
pub(crate) const START: i64 = 1_796_085_400;

pub(crate) struct Stage {
    dir: tempfile::TempDir,
    /// The agent's working tree.
    pub(crate) repo: PathBuf,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let repo = root.join("my.repo_1");
        fs::create_dir(&repo).unwrap();
        Self { dir, repo }
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("home")
    }

    /// The folder's name in Claude's and Qwen's stores.
    pub(crate) fn slug(&self) -> String {
        self.repo.to_str().unwrap().replace(|c: char| !c.is_ascii_alphanumeric(), "-")
    }

    pub(crate) fn place(&self) -> Place {
        Place { home: self.home(), env: [].into(), folder: self.repo.clone(), since: None }
    }

    pub(crate) fn watcher(&self, format: RecordsFormat, at: &str) -> Watcher {
        Watcher::new(&records(format, at), self.place())
    }

    /// Writes a file of lines below the home folder; `{repo}` in them is the working tree.
    pub(crate) fn write(&self, path: &str, lines: &[String]) -> PathBuf {
        let file = self.home().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let repo = self.repo.to_str().unwrap();
        let text: String = lines.iter().map(|line| line.replace("{repo}", repo) + "\n").collect();
        fs::write(&file, text).unwrap();
        file
    }
}

pub(crate) fn records(format: RecordsFormat, at: &str) -> Records {
    Records {
        format,
        at: vec!["$NOT_SET/x".to_owned(), at.to_owned()],
        table: String::new(),
        id: String::new(),
        updated: String::new(),
        unit: TimeUnit::Ms,
        folder: None,
        only: [].into(),
        not: [].into(),
    }
}

pub(crate) fn append(file: &Path, text: &str) {
    fs::OpenOptions::new().append(true).open(file).unwrap().write_all(text.as_bytes()).unwrap();
}

/// The time `seconds` after the start, as the CLIs write it.
pub(crate) fn iso(seconds: f64) -> String {
    format!("{:.3}", at(seconds))
}

pub(crate) fn at(seconds: f64) -> Timestamp {
    Timestamp::from_millisecond(START * 1000 + (seconds * 1000.0) as i64).unwrap()
}

pub(crate) async fn look(watcher: &mut Watcher) -> Recorded {
    watcher.look(None, Timestamp::now()).await
}

/// The state in a few letters, for tables of cases.
pub(crate) fn word(recorded: &Recorded) -> String {
    match &recorded.state {
        RecordState::Nothing => "nothing".to_owned(),
        RecordState::Idle => "idle".to_owned(),
        RecordState::Still => "still".to_owned(),
        RecordState::Working => "working".to_owned(),
        RecordState::Background(count) => format!("background {count}"),
        RecordState::Asks(says) => format!("asks: {says}"),
        RecordState::Limited(words) => format!("limited: {words}"),
        RecordState::Unreadable(why) => format!("unreadable: {why}"),
    }
}
