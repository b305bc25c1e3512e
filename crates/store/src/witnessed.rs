//! What was learnt about an agent: its conversation, what its turn hooks said, the usage limit it has met.

use jiff::Timestamp;
use loop_core::Name;
use loop_core::settle::{Event, Signal};
use serde::{Deserialize, Serialize};
use sqlx::sqlite::SqliteRow;
use sqlx::{FromRow, Row};

use crate::columns;
use crate::error::{Fault, StoreError};
use crate::store::Store;

/// Sets one column of an agent's record.
macro_rules! upsert {
    ($column:literal) => {
        concat!(
            "INSERT INTO witnessed (loop_id, agent, agent_key, ",
            $column,
            ") VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (loop_id, agent_key) DO UPDATE SET ",
            $column,
            " = excluded.",
            $column
        )
    };
}

/// What is on record of one agent in one loop. It outlives the agent's session: after `loop down`, or a reboot, its
/// conversation is still known.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Witnessed {
    /// The CLI's own id of the agent's newest conversation in this loop.
    pub conversation: Option<String>,
    /// The newest signal that a turn has begun.
    pub started: Option<Signal>,
    /// The newest signal that a turn has ended.
    pub finished: Option<Signal>,
    /// The newest signal that the agent asks something.
    pub asks: Option<Signal>,
    /// The usage limit that it has met.
    pub limited: Option<Limited>,
}

impl Witnessed {
    /// The newest of the signals.
    pub fn signal(&self) -> Option<&Signal> {
        [&self.started, &self.finished, &self.asks].into_iter().flatten().max_by_key(|signal| signal.at)
    }
}

/// A usage limit that an agent has met.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limited {
    /// What the agent's CLI says of it.
    pub words: String,
    /// When it was first seen.
    pub since: Timestamp,
    /// Until when it lasts; `None`: that could not be read.
    pub until: Option<Timestamp>,
    /// Whether the agent is left out for it, and by nobody else.
    #[serde(default)]
    pub skipped: bool,
}

impl Store {
    /// Returns what is on record of an agent in a loop; nothing is as good as an empty record.
    ///
    /// # Errors
    /// Fails when the store cannot be read.
    pub async fn witnessed(&self, loop_id: &str, agent: &Name) -> Result<Witnessed, StoreError> {
        let work = async {
            let query = sqlx::query_as("SELECT * FROM witnessed WHERE loop_id = ?1 AND agent_key = ?2");
            let found = query.bind(loop_id).bind(agent.key()).fetch_optional(self.reader()).await?;
            Ok(found.unwrap_or_default())
        };
        self.settle("read what was learnt of an agent", work.await)
    }

    /// Keeps the id of the agent's newest conversation.
    ///
    /// # Errors
    /// Fails with [`StoreError::Missing`] when there is no such loop.
    pub async fn keep_conversation(&self, loop_id: &str, agent: &Name, id: &str) -> Result<(), StoreError> {
        self.learn(loop_id, agent, "conversation", Some(id.to_owned())).await
    }

    /// Forgets the agent's conversation: it begins a new one when it is started again.
    ///
    /// # Errors
    /// Fails when the store cannot be written.
    pub async fn forget_conversation(&self, loop_id: &str, agent: &Name) -> Result<(), StoreError> {
        let work = async {
            let mut transaction = self.begin().await?;
            for text in [
                "UPDATE witnessed SET conversation = NULL WHERE loop_id = ?1 AND agent_key = ?2",
                "UPDATE sessions SET conversation = NULL WHERE loop_id = ?1 AND agent_key = ?2",
            ] {
                sqlx::query(text).bind(loop_id).bind(agent.key()).execute(&mut *transaction).await?;
            }
            Ok(transaction.commit().await?)
        };
        self.settle("forget a conversation", work.await)
    }

    /// Keeps a signal of the agent's turn hooks, unless a newer one of its kind is there.
    ///
    /// # Errors
    /// Fails with [`StoreError::Missing`] when there is no such loop.
    pub async fn keep_signal(&self, loop_id: &str, agent: &Name, signal: &Signal) -> Result<(), StoreError> {
        let before = self.witnessed(loop_id, agent).await?;
        let (column, before) = match signal.event {
            Event::Started => ("started", before.started),
            Event::Finished => ("finished", before.finished),
            Event::Asks => ("asks", before.asks),
        };
        if before.is_some_and(|before| before.at > signal.at) {
            return Ok(());
        }
        let json = serde_json::to_string(signal).map_err(encode);
        let json = self.settle("keep a signal", json)?;
        self.learn(loop_id, agent, column, Some(json)).await
    }

    /// Keeps the usage limit that the agent has met; `None`: it has none any more.
    ///
    /// # Errors
    /// Fails with [`StoreError::Missing`] when there is no such loop.
    pub async fn keep_limit(
        &self,
        loop_id: &str,
        agent: &Name,
        limited: Option<&Limited>,
    ) -> Result<(), StoreError> {
        let json = limited.map(serde_json::to_string).transpose().map_err(encode);
        let json = self.settle("keep a usage limit", json)?;
        self.learn(loop_id, agent, "limited", json).await
    }

    /// Returns every agent of a loop that has not ended with the usage limit that it has met.
    ///
    /// # Errors
    /// Fails when the store cannot be read.
    pub async fn limited(&self) -> Result<Vec<(String, Name, Limited)>, StoreError> {
        let work = async {
            let rows: Vec<SqliteRow> = sqlx::query(
                "SELECT loop_id, agent, limited FROM witnessed JOIN loops ON loops.id = loop_id
                 WHERE limited IS NOT NULL AND ended_at IS NULL",
            )
            .fetch_all(self.reader())
            .await?;
            let read = |row: &SqliteRow| -> sqlx::Result<(String, Name, Limited)> {
                Ok((row.try_get("loop_id")?, columns::name(row, "agent")?, columns::json(row, "limited")?))
            };
            Ok(rows.iter().map(read).collect::<sqlx::Result<_>>()?)
        };
        self.settle("read the usage limits", work.await)
    }

    async fn learn(
        &self,
        loop_id: &str,
        agent: &Name,
        column: &'static str,
        value: Option<String>,
    ) -> Result<(), StoreError> {
        let text = match column {
            "conversation" => upsert!("conversation"),
            "started" => upsert!("started"),
            "finished" => upsert!("finished"),
            "asks" => upsert!("asks"),
            _ => upsert!("limited"),
        };
        let work = async {
            let query = sqlx::query(text).bind(loop_id).bind(agent.as_str()).bind(agent.key()).bind(value);
            let mut transaction = self.begin().await?;
            match query.execute(&mut *transaction).await.map_err(Fault::from) {
                Err(fault) if fault.is_orphan() => return Err(Fault::missing("loop", loop_id)),
                done => done?,
            };
            transaction.commit().await?;
            Ok(())
        };
        self.settle("keep what was learnt of an agent", work.await)
    }
}

fn encode(error: serde_json::Error) -> Fault {
    Fault::Sql(sqlx::Error::Encode(Box::new(error)))
}

impl FromRow<'_, SqliteRow> for Witnessed {
    fn from_row(row: &SqliteRow) -> sqlx::Result<Self> {
        Ok(Self {
            conversation: row.try_get("conversation")?,
            started: columns::maybe_json(row, "started")?,
            finished: columns::maybe_json(row, "finished")?,
            asks: columns::maybe_json(row, "asks")?,
            limited: columns::maybe_json(row, "limited")?,
        })
    }
}
