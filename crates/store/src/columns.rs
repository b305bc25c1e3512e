//! How values stand in columns: times, names, paths, states and lists.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use loop_core::{DeliveryState, Name};
use serde::Serializer;
use serde::de::DeserializeOwned;
use sqlx::Row;
use sqlx::query::Query;
use sqlx::sqlite::{SqliteArguments, SqliteRow};

/// A path as a column holds it: text where it can be, so that a person can read it, else its bytes.
#[derive(Debug, Clone)]
pub(crate) enum PathColumn {
    Text(String),
    Bytes(Vec<u8>),
}

impl PathColumn {
    pub(crate) fn new(path: &Path) -> Self {
        match path.to_str() {
            Some(text) => Self::Text(text.to_owned()),
            None => Self::Bytes(path.as_os_str().as_encoded_bytes().to_owned()),
        }
    }
}

/// Binds a path to the next parameter.
pub(crate) fn bind_path<'q>(
    query: Query<'q, sqlx::Sqlite, SqliteArguments>,
    path: Option<&Path>,
) -> Query<'q, sqlx::Sqlite, SqliteArguments> {
    match path.map(PathColumn::new) {
        None => query.bind(None::<String>),
        Some(PathColumn::Text(text)) => query.bind(text),
        Some(PathColumn::Bytes(bytes)) => query.bind(bytes),
    }
}

/// Reads a path.
pub(crate) fn path(row: &SqliteRow, column: &'static str) -> sqlx::Result<PathBuf> {
    maybe_path(row, column)?.ok_or_else(|| unreadable(column, "it is empty"))
}

/// Reads a path that may be missing.
pub(crate) fn maybe_path(row: &SqliteRow, column: &'static str) -> sqlx::Result<Option<PathBuf>> {
    // The column has no type of its own, so sqlx cannot check one; bytes are right for text too.
    let bytes: Option<Vec<u8>> = row.try_get_unchecked(column)?;
    Ok(bytes.map(|bytes| PathBuf::from(os_string(bytes))))
}

#[cfg(unix)]
fn os_string(bytes: Vec<u8>) -> OsString {
    std::os::unix::ffi::OsStringExt::from_vec(bytes)
}

#[cfg(not(unix))]
fn os_string(bytes: Vec<u8>) -> OsString {
    OsString::from(String::from_utf8_lossy(&bytes).into_owned())
}

/// Writes a path for JSON, which knows text only.
pub(crate) fn serialize_path<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

/// Writes a path that may be missing for JSON.
pub(crate) fn serialize_maybe_path<S: Serializer>(
    path: &Option<PathBuf>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match path {
        Some(path) => serialize_path(path, serializer),
        None => serializer.serialize_none(),
    }
}

/// Reads a time.
pub(crate) fn time(row: &SqliteRow, column: &'static str) -> sqlx::Result<Timestamp> {
    from_millis(row.try_get(column)?, column)
}

/// Reads a time that may be missing.
pub(crate) fn maybe_time(row: &SqliteRow, column: &'static str) -> sqlx::Result<Option<Timestamp>> {
    let millis: Option<i64> = row.try_get(column)?;
    millis.map(|millis| from_millis(millis, column)).transpose()
}

fn from_millis(millis: i64, column: &'static str) -> sqlx::Result<Timestamp> {
    Timestamp::from_millisecond(millis).map_err(|error| unreadable(column, error))
}

/// Reads a participant's name.
pub(crate) fn name(row: &SqliteRow, column: &'static str) -> sqlx::Result<Name> {
    let text: String = row.try_get(column)?;
    Name::new(&text).map_err(|error| unreadable(column, error))
}

/// Reads a participant's name that may be missing.
pub(crate) fn maybe_name(row: &SqliteRow, column: &'static str) -> sqlx::Result<Option<Name>> {
    let text: Option<String> = row.try_get(column)?;
    text.map(|text| Name::new(&text)).transpose().map_err(|error| unreadable(column, error))
}

/// Reads the state of a delivery.
pub(crate) fn state(row: &SqliteRow, column: &'static str) -> sqlx::Result<DeliveryState> {
    let word: String = row.try_get(column)?;
    DeliveryState::from_word(&word).ok_or_else(|| unreadable(column, format!("no state is called {word}")))
}

/// Reads a number that is never negative.
pub(crate) fn count<N: TryFrom<i64>>(row: &SqliteRow, column: &'static str) -> sqlx::Result<N> {
    let number: i64 = row.try_get(column)?;
    N::try_from(number).map_err(|_| unreadable(column, format!("{number} is out of range")))
}

/// Reads a value that stands as JSON.
pub(crate) fn json<T: DeserializeOwned>(row: &SqliteRow, column: &'static str) -> sqlx::Result<T> {
    let text: String = row.try_get(column)?;
    serde_json::from_str(&text).map_err(|error| unreadable(column, error))
}

/// Reads a value that stands as JSON and may be missing.
pub(crate) fn maybe_json<T: DeserializeOwned>(
    row: &SqliteRow,
    column: &'static str,
) -> sqlx::Result<Option<T>> {
    let text: Option<String> = row.try_get(column)?;
    text.map(|text| serde_json::from_str(&text)).transpose().map_err(|error| unreadable(column, error))
}

/// What a column holds cannot be what loop wrote.
pub(crate) fn unreadable(
    column: &'static str,
    why: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> sqlx::Error {
    sqlx::Error::ColumnDecode { index: column.to_owned(), source: why.into() }
}

/// A number as SQLite takes it. What does not fit (no turn, try or limit ever comes near) becomes the largest.
pub(crate) fn int(number: impl TryInto<i64>) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}
