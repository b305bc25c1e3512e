//! Running agents that the router can reach.

use jiff::Timestamp;
use loop_core::Name;
use serde::{Deserialize, Serialize};
use sqlx::sqlite::SqliteRow;
use sqlx::{FromRow, Row};

use crate::columns;
use crate::error::{Fault, StoreError};
use crate::store::Store;

/// A session on record: where an agent of a loop can be reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRow {
    /// The loop.
    pub loop_id: String,
    /// The agent.
    pub agent: Name,
    /// The transport that reaches it.
    pub transport: String,
    /// Its address, as JSON in the transport's own form.
    pub address: String,
    /// The CLI's own id of the conversation.
    pub conversation: Option<String>,
    /// The process, where there is one.
    pub pid: Option<i64>,
    /// Whether loop started it, and so may end it.
    pub started_by_loop: bool,
    /// When it was registered.
    pub registered_at: Timestamp,
}

impl Store {
    /// Registers a session; it takes the place of an earlier one of that agent in that loop.
    ///
    /// # Errors
    /// Fails with [`StoreError::Missing`] when there is no such loop.
    pub async fn put_session(&self, session: &SessionRow) -> Result<(), StoreError> {
        let work = async {
            let query = sqlx::query(
                "INSERT OR REPLACE INTO sessions (loop_id, agent, agent_key, transport, address, conversation, pid,
                     started_by_loop, registered_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            )
            .bind(&session.loop_id)
            .bind(session.agent.as_str())
            .bind(session.agent.key())
            .bind(&session.transport)
            .bind(&session.address)
            .bind(&session.conversation)
            .bind(session.pid)
            .bind(session.started_by_loop)
            .bind(session.registered_at.as_millisecond());
            let mut transaction = self.begin().await?;
            match query.execute(&mut *transaction).await.map_err(Fault::from) {
                Err(fault) if fault.is_orphan() => return Err(Fault::missing("loop", &session.loop_id)),
                done => done?,
            };
            transaction.commit().await?;
            Ok(())
        };
        self.settle("register a session", work.await)?;
        match &session.conversation {
            Some(id) => self.keep_conversation(&session.loop_id, &session.agent, id).await,
            None => Ok(()),
        }
    }

    /// Returns the session of an agent in a loop.
    ///
    /// # Errors
    /// Fails when the store cannot be read.
    pub async fn session(&self, loop_id: &str, agent: &Name) -> Result<Option<SessionRow>, StoreError> {
        let work = async {
            let query = sqlx::query_as("SELECT * FROM sessions WHERE loop_id = ?1 AND agent_key = ?2");
            Ok(query.bind(loop_id).bind(agent.key()).fetch_optional(self.reader()).await?)
        };
        self.settle("read a session", work.await)
    }

    /// Returns the sessions of one loop or of all, in the order in which they were registered.
    ///
    /// # Errors
    /// Fails when the store cannot be read.
    pub async fn sessions(&self, loop_id: Option<&str>) -> Result<Vec<SessionRow>, StoreError> {
        let work = async {
            let query = sqlx::query_as(
                "SELECT * FROM sessions WHERE ?1 IS NULL OR loop_id = ?1
                 ORDER BY registered_at, loop_id, agent_key",
            );
            Ok(query.bind(loop_id).fetch_all(self.reader()).await?)
        };
        self.settle("read the sessions", work.await)
    }

    /// Forgets the session of an agent in a loop; returns whether there was one.
    ///
    /// # Errors
    /// Fails when the store cannot be written to.
    pub async fn forget_session(&self, loop_id: &str, agent: &Name) -> Result<bool, StoreError> {
        let work = async {
            let query = sqlx::query("DELETE FROM sessions WHERE loop_id = ?1 AND agent_key = ?2");
            let mut transaction = self.begin().await?;
            let done = query.bind(loop_id).bind(agent.key()).execute(&mut *transaction).await?;
            transaction.commit().await?;
            Ok(done.rows_affected() > 0)
        };
        self.settle("forget a session", work.await)
    }
}

impl FromRow<'_, SqliteRow> for SessionRow {
    fn from_row(row: &SqliteRow) -> sqlx::Result<Self> {
        Ok(Self {
            loop_id: row.try_get("loop_id")?,
            agent: columns::name(row, "agent")?,
            transport: row.try_get("transport")?,
            address: row.try_get("address")?,
            conversation: row.try_get("conversation")?,
            pid: row.try_get("pid")?,
            started_by_loop: row.try_get("started_by_loop")?,
            registered_at: columns::time(row, "registered_at")?,
        })
    }
}
