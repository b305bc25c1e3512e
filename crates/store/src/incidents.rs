//! What went wrong, for a person to read later.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sqlx::sqlite::SqliteRow;
use sqlx::{FromRow, Row};
use uuid::Uuid;

use crate::columns;
use crate::error::StoreError;
use crate::store::Store;

/// How much an incident matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth a line in the log.
    Low,
    /// Somebody should look some time.
    Medium,
    /// Somebody must look now.
    High,
}

impl Severity {
    /// Every severity, the least first.
    pub const ALL: [Self; 3] = [Self::Low, Self::Medium, Self::High];

    /// The word for it, for example `low`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// Something that went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Incident {
    /// UUID v7.
    pub id: String,
    /// When.
    pub at: Timestamp,
    /// How much it matters.
    pub severity: Severity,
    /// In which loop, where it was in one.
    pub loop_id: Option<String>,
    /// What happened, in a line.
    pub what: String,
    /// Everything else that helps to understand it.
    pub detail: String,
}

impl Incident {
    /// Makes an incident with an id of its own.
    pub fn new(
        at: Timestamp,
        severity: Severity,
        loop_id: Option<&str>,
        what: impl Into<String>,
        detail: impl Into<String>,
    ) -> Self {
        Self {
            id: Uuid::now_v7().to_string(),
            at,
            severity,
            loop_id: loop_id.map(str::to_owned),
            what: what.into(),
            detail: detail.into(),
        }
    }
}

impl Store {
    /// Writes an incident down; the same one again changes nothing.
    ///
    /// # Errors
    /// Fails when the store cannot be written to.
    pub async fn incident(&self, incident: &Incident) -> Result<(), StoreError> {
        let work = async {
            let mut transaction = self.begin().await?;
            sqlx::query(
                "INSERT INTO incidents (id, at, severity, loop_id, what, detail) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                 ON CONFLICT (id) DO NOTHING",
            )
            .bind(&incident.id)
            .bind(incident.at.as_millisecond())
            .bind(incident.severity.as_str())
            .bind(&incident.loop_id)
            .bind(&incident.what)
            .bind(&incident.detail)
            .execute(&mut *transaction)
            .await?;
            transaction.commit().await?;
            Ok(())
        };
        self.settle("write an incident down", work.await)
    }

    /// Returns the last `limit` incidents, newest first.
    ///
    /// # Errors
    /// Fails when the store cannot be read.
    pub async fn incidents(&self, limit: usize) -> Result<Vec<Incident>, StoreError> {
        let work = async {
            let query = sqlx::query_as("SELECT * FROM incidents ORDER BY at DESC, id DESC LIMIT ?1");
            Ok(query.bind(columns::int(limit)).fetch_all(self.reader()).await?)
        };
        self.settle("read the incidents", work.await)
    }
}

impl FromRow<'_, SqliteRow> for Incident {
    fn from_row(row: &SqliteRow) -> sqlx::Result<Self> {
        let word: String = row.try_get("severity")?;
        let severity = Severity::ALL.into_iter().find(|severity| severity.as_str() == word);
        Ok(Self {
            id: row.try_get("id")?,
            at: columns::time(row, "at")?,
            severity: severity.ok_or_else(|| columns::unreadable("severity", "no severity is called so"))?,
            loop_id: row.try_get("loop_id")?,
            what: row.try_get("what")?,
            detail: row.try_get("detail")?,
        })
    }
}
