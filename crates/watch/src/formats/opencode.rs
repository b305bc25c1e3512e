//! OpenCode's SQLite database: a row per session, per message and per part of a message.
//!
//! A session's `time_updated` stands still while a tool runs, so it tells nothing. A turn has ended when the newest
//! message is the assistant's, is completed, and did not finish with a call. Sessions with a parent are sub-agents'.

use std::path::PathBuf;

use jiff::Timestamp;
use loop_core::profile::Records;
use loop_core::records::{Prompt, RecordState, Recorded};
use serde_json::Value;
use sqlx::sqlite::SqliteConnection;

use crate::database::Database;
use crate::formats::{Answer, Query, Reader};
use crate::limit::is_limit;
use crate::place::Site;

pub(super) fn open(_records: &Records, site: Site) -> Reader {
    Reader::Database(Box::new(Database::new(site.at, Box::new(Sessions { folders: site.folders }))))
}

/// Others that changed within this many milliseconds are worth a note.
const RECENTLY: i64 = 3_600_000;

struct Sessions {
    folders: Vec<PathBuf>,
}

impl Query for Sessions {
    fn ask<'a>(
        &'a self,
        connection: &'a mut SqliteConnection,
        asked: Option<&'a str>,
        now: Timestamp,
    ) -> Answer<'a> {
        Box::pin(self.look(connection, asked, now))
    }
}

impl Sessions {
    async fn look(
        &self,
        connection: &mut SqliteConnection,
        asked: Option<&str>,
        now: Timestamp,
    ) -> sqlx::Result<Recorded> {
        let sessions = match asked {
            Some(id) => vec![id.to_owned()],
            None => self.newest(connection, now).await?,
        };
        let Some(session) = sessions.first() else {
            return Ok(Recorded::without_conversation(RecordState::Nothing));
        };
        let row: Option<(String, i64)> = sqlx::query_as(
            "select data, max(time_created, time_updated) from message where session_id = ?1 \
             order by time_created desc, id desc limit 1",
        )
        .bind(session)
        .fetch_optional(&mut *connection)
        .await?;
        let mut recorded = Recorded::without_conversation(RecordState::Nothing);
        if let Some((message, changed)) = row {
            recorded.state = state(&serde_json::from_str(&message).unwrap_or_default());
            recorded.changed = Timestamp::from_millisecond(changed).ok();
            recorded.conversation = Some(session.clone());
            recorded.prompt = prompt(connection, session).await?;
            if recorded.state == RecordState::Working && asks(connection, session).await? {
                recorded.state = RecordState::Asks("it asks a question".to_owned());
            }
        }
        if sessions.len() > 1 {
            recorded.note =
                format!("{} conversations in this folder are in use; the newest is read", sessions.len());
        }
        Ok(recorded)
    }

    /// The main session of this folder that changed last, and others that are in use.
    async fn newest(&self, connection: &mut SqliteConnection, now: Timestamp) -> sqlx::Result<Vec<String>> {
        let folder = |index: usize| self.folders.get(index).or(self.folders.first());
        let folder =
            |index| folder(index).map(|path| path.to_string_lossy().into_owned()).unwrap_or_default();
        let rows: Vec<(String, i64)> = sqlx::query_as(
            "select id, time_updated from session where directory in (?1, ?2) and parent_id is null \
             order by time_updated desc, id desc limit 20",
        )
        .bind(folder(0))
        .bind(folder(1))
        .fetch_all(connection)
        .await?;
        let recent = now.as_millisecond() - RECENTLY;
        let keep =
            |(index, (id, updated)): (usize, (String, i64))| (index == 0 || updated > recent).then_some(id);
        Ok(rows.into_iter().enumerate().filter_map(keep).collect())
    }
}

/// How a turn stands whose newest message is this.
fn state(message: &Value) -> RecordState {
    if message["role"] != "assistant" {
        return RecordState::Working;
    }
    let error = &message["error"];
    if !error.is_null() {
        let words = error["data"]["message"].as_str().or(error["message"].as_str()).unwrap_or_default();
        if is_limit(words) || error["data"]["statusCode"] == 429 {
            return RecordState::Limited(loop_core::plain::line(words, 200));
        }
    }
    let completed = !message["time"]["completed"].is_null();
    match message["finish"].as_str() {
        _ if !completed => RecordState::Working,
        Some("tool-calls") => RecordState::Working,
        // The CLI asks the model again then, unless it was stopped.
        Some("unknown") | None if error.is_null() => RecordState::Still,
        _ => RecordState::Idle,
    }
}

/// What the newest turn was asked.
async fn prompt(connection: &mut SqliteConnection, session: &str) -> sqlx::Result<Option<Prompt>> {
    let row: Option<(String, i64)> = sqlx::query_as(
        "select id, time_created from message where session_id = ?1 and json_valid(data) and json_extract(data, '$.role') = 'user' \
         order by time_created desc, id desc limit 1",
    )
    .bind(session)
    .fetch_optional(&mut *connection)
    .await?;
    let Some((message, created)) = row else { return Ok(None) };
    let parts: Vec<(String,)> = sqlx::query_as(
        "select coalesce(json_extract(data, '$.text'), '') from part where message_id = ?1 \
         and json_valid(data) and json_extract(data, '$.type') = 'text' order by id limit 8",
    )
    .bind(&message)
    .fetch_all(connection)
    .await?;
    let text = parts.into_iter().map(|(text,)| text).collect::<Vec<_>>().join("\n");
    Ok(Timestamp::from_millisecond(created).ok().map(|at| Prompt::new(at, &text)))
}

/// Whether the question tool waits for an answer.
async fn asks(connection: &mut SqliteConnection, session: &str) -> sqlx::Result<bool> {
    let row: Option<(Option<String>, Option<String>)> = sqlx::query_as(
        "select json_extract(data, '$.tool'), json_extract(data, '$.state.status') from part \
         where session_id = ?1 and json_valid(data) \
         order by id desc limit 1",
    )
    .bind(session)
    .fetch_optional(connection)
    .await?;
    Ok(row.is_some_and(|(tool, status)| {
        tool.as_deref() == Some("question") && matches!(status.as_deref(), Some("running" | "pending"))
    }))
}
