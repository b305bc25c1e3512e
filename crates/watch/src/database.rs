//! Looking into a SQLite database that another program writes, without being noticed by it.
//!
//! The database is opened for reading only, for one look, and closed again: a connection that stays would keep the
//! writer from tidying up its log. In WAL mode a reader blocks nobody. In the other modes even a reader's lock can
//! make a writer fail, and a database in WAL mode that nobody uses would get its log files back. So without a log
//! beside it the file is read without a lock, as one that does not change, and what was read counts only if it did not;
//! in the middle of a transaction it is not read at all.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use loop_core::records::{RecordState, Recorded};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Connection};

use crate::formats::Query;
use crate::tail::{self, Stamp};

/// How long a look waits for a lock of the writer's.
const PATIENCE: Duration = Duration::from_millis(100);

/// The longest that a look may take.
const DEADLINE: Duration = Duration::from_secs(2);

/// SQLite asks about the deadline after so many of its steps: some microseconds.
const STEPS: i32 = 10_000;

/// How often a look waits for the end of a transaction.
const TRIES: u32 = 5;

/// Two changes within this time can leave the same time behind.
const TICK: Duration = Duration::from_millis(20);

/// A database and what is asked of it.
pub(crate) struct Database {
    path: PathBuf,
    query: Box<dyn Query>,
    last: Option<Last>,
}

/// The last answer, and the files it came from.
struct Last {
    asked: Option<String>,
    files: Files,
    recorded: Recorded,
}

/// The database's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Files {
    main: Stamp,
    log: Option<Stamp>,
    /// The journal of a transaction that is under way.
    journal: Option<Stamp>,
}

impl Files {
    fn of(path: &Path) -> io::Result<Self> {
        let beside = |end: &str| {
            let mut name = OsString::from(path);
            name.push(end);
            match Stamp::at(Path::new(&name)) {
                Ok(stamp) => Ok(Some(stamp)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                Err(error) => Err(error),
            }
        };
        let (main, log, journal) = (Stamp::at(path)?, beside("-wal")?, beside("-journal")?);
        // A journal that is kept between transactions is empty, or its header is.
        let journal = journal.filter(|journal| journal.size > 0 && !journal_is_spent(path));
        Ok(Self { main, log, journal })
    }

    /// When anything was last written.
    fn modified(&self) -> Option<Timestamp> {
        let newest = self.main.modified.max(self.log.map_or((0, 0), |log| log.modified));
        Timestamp::new(newest.0, i32::try_from(newest.1).unwrap_or(0)).ok()
    }

    /// Whether the last change is so recent that another could hide behind it.
    fn is_fresh(&self) -> bool {
        let Some(modified) = self.modified() else { return false };
        let age = Timestamp::now().duration_since(modified);
        age.unsigned_abs() < TICK
    }
}

fn journal_is_spent(database: &Path) -> bool {
    let mut name = OsString::from(database);
    name.push("-journal");
    let mut header = [0; 8];
    let read = File::open(name).and_then(|mut journal| journal.read_exact(&mut header));
    read.is_err() || header == [0; 8]
}

/// Whether a page is cut. SQLite reads zeros for the rest of it, and would find fewer rows without a word.
fn is_cut(database: &Path, size: u64) -> io::Result<bool> {
    let mut header = [0; 18];
    match tail::open(database)?.read_exact(&mut header) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
        read => read?,
    }
    // What is no database at all SQLite itself finds.
    if !header.starts_with(b"SQLite format 3\0") {
        return Ok(false);
    }
    // One stands for the only size that two bytes do not hold.
    let page = match u16::from_be_bytes([header[16], header[17]]) {
        1 => 65_536,
        page => u64::from(page),
    };
    Ok(page > 0 && !size.is_multiple_of(page))
}

impl Database {
    pub(crate) fn new(path: PathBuf, query: Box<dyn Query>) -> Self {
        Self { path, query, last: None }
    }

    pub(crate) async fn look(&mut self, asked: Option<&str>, now: Timestamp) -> Recorded {
        let mut files = match Files::of(&self.path) {
            Ok(files) => files,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.last = None;
                return Recorded::without_conversation(RecordState::Nothing);
            }
            Err(error) => return self.unreadable(&error.to_string(), None),
        };
        if let Some(last) = &self.last
            && last.files == files
            && last.asked.as_deref() == asked
        {
            return last.recorded.clone();
        }
        for _ in 0..TRIES {
            if files.journal.is_none() && !files.is_fresh() {
                break;
            }
            tokio::time::sleep(TICK).await;
            files = Files::of(&self.path).unwrap_or(files);
        }
        if files.journal.is_some() {
            return self.unreadable("the database is locked by a transaction", files.modified());
        }
        // SQLite itself gives up at the deadline. One that hangs in a read of a dead disk is left behind.
        let until = Instant::now() + DEADLINE;
        let read = tokio::time::timeout(DEADLINE * 2, self.read(&files, asked, now, until)).await;
        match read {
            Ok(Ok(recorded)) => {
                // A change between the two looks at the files belongs to the next answer.
                if !files.is_fresh() {
                    let asked = asked.map(str::to_owned);
                    self.last = Some(Last { asked, files, recorded: recorded.clone() });
                }
                recorded
            }
            Ok(Err(why)) if Instant::now() < until => self.unreadable(&why, files.modified()),
            Ok(Err(_)) | Err(_) => self.unreadable("it took too long", files.modified()),
        }
    }

    async fn read(
        &self,
        files: &Files,
        asked: Option<&str>,
        now: Timestamp,
        until: Instant,
    ) -> Result<Recorded, String> {
        // With a log beside it the page may stand there.
        let size = files.main.size;
        if files.log.is_none() && is_cut(&self.path, size).map_err(|error| error.to_string())? {
            return Err("it ends in the middle of a page".to_owned());
        }
        let options = SqliteConnectOptions::new()
            .filename(&self.path)
            .read_only(true)
            .create_if_missing(false)
            .immutable(files.log.is_none())
            .busy_timeout(PATIENCE)
            .disable_statement_logging();
        let mut connection =
            SqliteConnection::connect_with(&options).await.map_err(|error| error.to_string())?;
        // Else a question without end would be worked on for ever by a thread that nobody waits for.
        let handle = connection.lock_handle().await;
        handle
            .map_err(|error| error.to_string())?
            .set_progress_handler(STEPS, move || Instant::now() < until);
        let answer = self.query.ask(&mut connection, asked, now).await;
        // What could go wrong with closing is nothing that the answer depends on.
        let _ = connection.close().await;
        let recorded = answer.map_err(|error| error.to_string())?;
        if files.log.is_none() && Files::of(&self.path).ok().as_ref() != Some(files) {
            return Err("it changed while it was read".to_owned());
        }
        Ok(recorded)
    }

    /// What the store says cannot be told; that it changed is a sign of life all the same.
    fn unreadable(&self, why: &str, changed: Option<Timestamp>) -> Recorded {
        let state = RecordState::Unreadable(format!("cannot read {}: {why}", self.path.display()));
        Recorded { changed, ..Recorded::without_conversation(state) }
    }
}
