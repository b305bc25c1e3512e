//! What loop wrote outside git's objects, so that `loop uninstall` can give every byte back.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sqlx::sqlite::SqliteRow;
use sqlx::{FromRow, Row};

use crate::columns::{self, bind_path};
use crate::error::StoreError;
use crate::store::Store;

/// What was done to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WriteKind {
    /// A file was made where there was none.
    Created,
    /// Bytes were added to a file.
    Appended,
    /// A file's content was replaced.
    Replaced,
    /// A folder was made.
    MadeDir,
    /// A link was made.
    Linked,
}

impl WriteKind {
    /// Every kind.
    pub const ALL: [Self; 5] = [Self::Created, Self::Appended, Self::Replaced, Self::MadeDir, Self::Linked];

    /// The word for it, for example `made_dir`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Appended => "appended",
            Self::Replaced => "replaced",
            Self::MadeDir => "made_dir",
            Self::Linked => "linked",
        }
    }
}

/// One write, with what is needed to take it back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Write {
    /// When.
    pub at: Timestamp,
    /// The repository that it was for; `None` for the user's own files.
    #[serde(serialize_with = "columns::serialize_maybe_path")]
    pub repo: Option<PathBuf>,
    /// What was written to.
    #[serde(serialize_with = "columns::serialize_path")]
    pub path: PathBuf,
    /// What was done.
    pub kind: WriteKind,
    /// The bytes before, where there was a file. Not in JSON.
    #[serde(skip)]
    pub before: Option<Vec<u8>>,
    /// The bytes that were added. Not in JSON.
    #[serde(skip)]
    pub added: Option<Vec<u8>>,
    /// The hash of the content afterwards, which tells whether somebody has changed it since.
    pub after_hash: Option<String>,
}

/// A write on record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WriteRow {
    /// Larger than that of every write before it.
    pub id: i64,
    /// The write.
    #[serde(flatten)]
    pub write: Write,
}

impl Store {
    /// Notes a write; returns its id.
    ///
    /// # Errors
    /// Fails when the store cannot be written to.
    pub async fn add_write(&self, write: &Write) -> Result<i64, StoreError> {
        let work = async {
            let query = sqlx::query(
                "INSERT INTO writes (at, kind, before, added, after_hash, repo, path) VALUES (?, ?, ?, ?, ?, ?, ?)",
            )
            .bind(write.at.as_millisecond())
            .bind(write.kind.as_str())
            .bind(&write.before)
            .bind(&write.added)
            .bind(&write.after_hash);
            let query = bind_path(query, write.repo.as_deref());
            let mut transaction = self.begin().await?;
            let done = bind_path(query, Some(&write.path)).execute(&mut *transaction).await?;
            transaction.commit().await?;
            Ok(done.last_insert_rowid())
        };
        self.settle("note a write", work.await)
    }

    /// Returns the writes for one repository, or all (the user's own files too); newest first, the order in which
    /// they are to be taken back.
    ///
    /// # Errors
    /// Fails when the store cannot be read.
    pub async fn list_writes(&self, repo: Option<&Path>) -> Result<Vec<WriteRow>, StoreError> {
        let work = async {
            let query = sqlx::query("SELECT * FROM writes WHERE ?1 IS NULL OR repo = ?1 ORDER BY id DESC");
            let rows = bind_path(query, repo).fetch_all(self.reader()).await?;
            Ok(rows.iter().map(WriteRow::from_row).collect::<sqlx::Result<_>>()?)
        };
        self.settle("read the writes", work.await)
    }

    /// Forgets a write that was taken back; returns whether it was there.
    ///
    /// # Errors
    /// Fails when the store cannot be written to.
    pub async fn remove_write(&self, id: i64) -> Result<bool, StoreError> {
        let work = async {
            let query = sqlx::query("DELETE FROM writes WHERE id = ?1").bind(id);
            let mut transaction = self.begin().await?;
            let done = query.execute(&mut *transaction).await?;
            transaction.commit().await?;
            Ok(done.rows_affected() > 0)
        };
        self.settle("forget a write", work.await)
    }
}

impl FromRow<'_, SqliteRow> for WriteRow {
    fn from_row(row: &SqliteRow) -> sqlx::Result<Self> {
        let word: String = row.try_get("kind")?;
        let kind = WriteKind::ALL.into_iter().find(|kind| kind.as_str() == word);
        let write = Write {
            at: columns::time(row, "at")?,
            repo: columns::maybe_path(row, "repo")?,
            path: columns::path(row, "path")?,
            kind: kind.ok_or_else(|| columns::unreadable("kind", "no write is called so"))?,
            before: row.try_get("before")?,
            added: row.try_get("added")?,
            after_hash: row.try_get("after_hash")?,
        };
        Ok(Self { id: row.try_get("id")?, write })
    }
}
