//! The forms of records. A new one is a file here and a row in [`TABLE`].

mod claude;
mod codex;
mod gemini;
mod opencode;
mod qwen;
mod sqlite;

use std::future::Future;
use std::pin::Pin;

use jiff::Timestamp;
use loop_core::profile::{Records, RecordsFormat};
use loop_core::records::{RecordState, Recorded};
use sqlx::sqlite::SqliteConnection;

use crate::chats::{Chats, Lines, Shelf};
use crate::database::Database;
use crate::place::Site;

/// One form of records.
struct Format {
    format: RecordsFormat,
    open: fn(&Records, Site) -> Reader,
}

const TABLE: &[Format] = &[
    Format { format: RecordsFormat::Claude, open: claude::open },
    Format { format: RecordsFormat::Codex, open: codex::open },
    Format { format: RecordsFormat::OpenCode, open: opencode::open },
    Format { format: RecordsFormat::Gemini, open: gemini::open },
    Format { format: RecordsFormat::Qwen, open: qwen::open },
    Format { format: RecordsFormat::Sqlite, open: sqlite::open },
];

/// The reader of the records `at` a place.
pub(crate) fn open(records: &Records, site: Site) -> Reader {
    let row =
        TABLE.iter().find(|row| row.format == records.format).expect("every form has a row; a test says so");
    (row.open)(records, site)
}

/// Reads one agent's records.
pub(crate) enum Reader {
    /// Files are read on a thread for blocking work, which takes the reader along; it is away meanwhile, and for ever
    /// if that thread panics.
    Files { open: Box<dyn Fn() -> Box<dyn Files> + Send + Sync>, files: Option<Box<dyn Files>> },
    /// A database has threads of its own.
    Database(Box<Database>),
}

/// Conversations in files, whatever their form.
pub(crate) trait Files: Send {
    fn look(&mut self, asked: Option<&str>, now: Timestamp) -> Recorded;
}

/// What is asked of a database, in a form of its own.
pub(crate) trait Query: Send + Sync {
    /// Looks up the asked conversation, else the newest of the agent's folder.
    fn ask<'a>(
        &'a self,
        connection: &'a mut SqliteConnection,
        asked: Option<&'a str>,
        now: Timestamp,
    ) -> Answer<'a>;
}

/// The answer of a [`Query`].
pub(crate) type Answer<'a> = Pin<Box<dyn Future<Output = sqlx::Result<Recorded>> + Send + 'a>>;

impl<S: Shelf, L: Lines> Files for Chats<S, L> {
    fn look(&mut self, asked: Option<&str>, now: Timestamp) -> Recorded {
        Chats::look(self, asked, now)
    }
}

impl Reader {
    fn files<S: Shelf, L: Lines>(shelf: impl Fn() -> S + Send + Sync + 'static) -> Self {
        let open = move || -> Box<dyn Files> { Box::new(Chats::<S, L>::new(shelf())) };
        Self::Files { open: Box::new(open), files: None }
    }

    pub(crate) async fn look(&mut self, asked: Option<&str>, now: Timestamp) -> Recorded {
        match self {
            Self::Database(database) => database.look(asked, now).await,
            Self::Files { open, files } => {
                let mut reader = files.take().unwrap_or_else(|| open());
                let asked = asked.map(str::to_owned);
                let read = tokio::task::spawn_blocking(move || {
                    let recorded = reader.look(asked.as_deref(), now);
                    (reader, recorded)
                });
                match read.await {
                    Ok((reader, recorded)) => {
                        *files = Some(reader);
                        recorded
                    }
                    Err(error) => Recorded::without_conversation(RecordState::Unreadable(format!(
                        "reading ended: {error}"
                    ))),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn the_folder_and_the_table_hold_the_same_formats() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/formats");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .filter(|file| file != "mod.rs")
            .filter_map(|file| file.strip_suffix(".rs").map(str::to_owned))
            .collect();
        let mut rows: Vec<&str> = TABLE.iter().map(|row| row.format.as_str()).collect();
        let mut words: Vec<&str> = RecordsFormat::ALL.map(RecordsFormat::as_str).to_vec();
        files.sort();
        rows.sort_unstable();
        words.sort_unstable();
        assert_eq!(files, rows);
        assert_eq!(rows, words);
    }
}
