//! Any SQLite table with a row per conversation and the time of its newest change.
//!
//! Only that time is known, so an agent whose row stands still may have finished, or may run a long command:
//! [`RecordState::Still`], and the quiet window decides.

use std::path::PathBuf;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use loop_core::profile::{Records, TimeUnit};
use loop_core::records::{RecordState, Recorded};
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{Row, TypeInfo, ValueRef};

use crate::database::Database;
use crate::formats::{Answer, Query, Reader};
use crate::place::Site;

pub(super) fn open(records: &Records, site: Site) -> Reader {
    let table = Table { records: records.clone(), folders: site.folders };
    Reader::Database(Box::new(Database::new(site.at, Box::new(table))))
}

struct Table {
    records: Records,
    folders: Vec<PathBuf>,
}

impl Query for Table {
    fn ask<'a>(
        &'a self,
        connection: &'a mut SqliteConnection,
        asked: Option<&'a str>,
        _now: Timestamp,
    ) -> Answer<'a> {
        Box::pin(self.look(connection, asked))
    }
}

impl Table {
    /// The query, and what is bound to its places. A name in it is quoted, and whatever is compared with is bound.
    fn query(&self, asked: Option<&str>) -> (String, Vec<String>) {
        let records = &self.records;
        let mut bound = Vec::new();
        let mut place = |value: &str| {
            bound.push(value.to_owned());
            format!("?{}", bound.len())
        };
        let mut conditions = Vec::new();
        let as_text = |column: &str| format!("cast({} as text)", quoted(column));
        if let Some(id) = asked {
            conditions.push(format!("{} = {}", as_text(&records.id), place(id)));
        } else if let Some(column) = &records.folder {
            let places: Vec<String> =
                self.folders.iter().map(|folder| place(&folder.to_string_lossy())).collect();
            conditions.push(format!("{} in ({})", as_text(column), places.join(", ")));
        }
        for (column, value) in &records.only {
            conditions.push(format!("{} = {}", as_text(column), place(value)));
        }
        // An empty column holds no such text.
        for (column, value) in &records.not {
            conditions.push(format!("{} is not {}", as_text(column), place(value)));
        }
        let conditions = if conditions.is_empty() { "1".to_owned() } else { conditions.join(" and ") };
        let (table, id, updated) = (quoted(&records.table), quoted(&records.id), quoted(&records.updated));
        let sql = format!(
            "select cast({id} as text), {updated} from {table} where {conditions} and {updated} is not null \
             order by {updated} desc limit 1"
        );
        (sql, bound)
    }

    async fn look(&self, connection: &mut SqliteConnection, asked: Option<&str>) -> sqlx::Result<Recorded> {
        let (sql, bound) = self.query(asked);
        // The names in it were checked when the profile was read, and are quoted besides.
        let mut query = sqlx::query(sqlx::AssertSqlSafe(sql));
        for value in bound {
            query = query.bind(value);
        }
        let Some(row) = query.fetch_optional(connection).await? else {
            return Ok(Recorded::without_conversation(RecordState::Nothing));
        };
        let changed = time(&row, self.records.unit)?;
        let state = match changed {
            Some(_) => RecordState::Still,
            None => RecordState::Unreadable(format!(
                "`{}` of the table `{}` holds no time of the unit that its profile names",
                self.records.updated, self.records.table
            )),
        };
        let conversation: Option<String> = row.try_get(0)?;
        Ok(Recorded { conversation, changed, ..Recorded::without_conversation(state) })
    }
}

/// SQLite takes a quoted name that no column has for a text: only a column of the table itself, `"table"."column"`,
/// would be an error. The statement names one table, so a bare name in brackets, which is never a text, does.
fn quoted(name: &str) -> String {
    format!("[{}]", name.replace(['[', ']'], ""))
}

fn time(row: &SqliteRow, unit: TimeUnit) -> sqlx::Result<Option<Timestamp>> {
    let kind = row.try_get_raw(1)?.type_info().name().to_owned();
    let text: Option<String> = if kind == "TEXT" { Some(row.try_get_unchecked(1)?) } else { None };
    let number = match &text {
        Some(text) => text.trim().parse::<f64>().ok(),
        None if kind == "INTEGER" => Some(row.try_get_unchecked::<i64, _>(1)? as f64),
        None if kind == "REAL" => Some(row.try_get_unchecked::<f64, _>(1)?),
        None => None,
    };
    Ok(match unit {
        TimeUnit::Ms => number.and_then(|ms| Timestamp::from_millisecond(ms as i64).ok()),
        TimeUnit::S => number.and_then(|seconds| Timestamp::from_millisecond((seconds * 1000.0) as i64).ok()),
        TimeUnit::Iso => text.as_deref().and_then(iso),
    })
}

/// ISO 8601, with a space instead of the `T` too, as SQLite writes it; without an offset it is UTC.
fn iso(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    text.parse::<Timestamp>().ok().or_else(|| TimeZone::UTC.to_timestamp(text.parse::<DateTime>().ok()?).ok())
}
