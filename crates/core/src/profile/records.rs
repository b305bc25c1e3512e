//! Where a CLI records its conversations, and in what form.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::config::ConfigError;
use crate::config::tree::{Node, Source, Value, entry};

const KEYS: [&str; 9] = ["format", "at", "table", "id", "updated", "unit", "folder", "only", "not"];

/// Where a CLI records its conversations. `watch` reads them, never writes to them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Records {
    /// In what form.
    pub format: RecordsFormat,
    /// The folder or file; of several the first whose variables are all set. `~` at the start is the home folder,
    /// `$NAME` a variable of the agent's (`$CODEX_HOME/sessions`), `{repo}` the working tree.
    pub at: Vec<String>,
    /// The table of conversations, for [`RecordsFormat::Sqlite`].
    #[serde(default)]
    pub table: String,
    /// Its column with a conversation's id.
    #[serde(default)]
    pub id: String,
    /// Its column with the time of the newest change.
    #[serde(default)]
    pub updated: String,
    /// What that time counts.
    #[serde(default)]
    pub unit: TimeUnit,
    /// Its column with the folder in which a conversation runs; absent: every conversation is looked at.
    #[serde(default)]
    pub folder: Option<String>,
    /// Columns that must hold these texts.
    #[serde(default)]
    pub only: BTreeMap<String, String>,
    /// Columns that must not hold these texts, for example `task_type: subagent_child`.
    #[serde(default)]
    pub not: BTreeMap<String, String>,
}

/// The form of a CLI's records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RecordsFormat {
    /// Claude Code's transcripts: a folder per working tree, a JSONL file per conversation.
    Claude,
    /// Codex' rollouts: a JSONL file per conversation in folders by date.
    Codex,
    /// OpenCode's SQLite database.
    OpenCode,
    /// Gemini CLI's chats: a file per conversation in a folder per project.
    Gemini,
    /// Qwen Code's chats: a JSONL file per conversation in a folder per working tree.
    Qwen,
    /// Any SQLite table with a row per conversation and the time of its newest change.
    Sqlite,
}

impl RecordsFormat {
    /// Every form.
    pub const ALL: [Self; 6] =
        [Self::Claude, Self::Codex, Self::OpenCode, Self::Gemini, Self::Qwen, Self::Sqlite];

    /// Its word in a profile.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::OpenCode => "opencode",
            Self::Gemini => "gemini",
            Self::Qwen => "qwen",
            Self::Sqlite => "sqlite",
        }
    }
}

/// What a column with a time counts since 1970 in UTC, or that it is text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TimeUnit {
    /// Milliseconds.
    #[default]
    Ms,
    /// Seconds, with or without a fraction.
    S,
    /// ISO 8601 text; without an offset it is UTC.
    Iso,
}

/// Reads `records:`.
pub(super) fn read(source: &Source<'_>, node: &Node) -> Result<Records, ConfigError> {
    let entries = source.map(node, "records")?;
    source.only(entries, &KEYS, "records")?;
    let needed = |key: &str| {
        entry(entries, key).ok_or_else(|| {
            source.error(node.place, format!("`records` has no `{key}`")).hint("see `loop help loop-yaml`")
        })
    };
    let words = RecordsFormat::ALL.map(RecordsFormat::as_str);
    let word = source.word(needed("format")?, &words, "form of records")?;
    let format = RecordsFormat::ALL.into_iter().find(|format| format.as_str() == word);
    let mut records = Records {
        format: format.unwrap_or(RecordsFormat::Sqlite),
        at: source.texts(needed("at")?, "at")?,
        table: String::new(),
        id: String::new(),
        updated: String::new(),
        unit: TimeUnit::default(),
        folder: None,
        only: BTreeMap::new(),
        not: BTreeMap::new(),
    };
    if records.at.iter().all(|at| at.trim().is_empty()) {
        return Err(source.error(node.place, "`records.at` names no place"));
    }
    let column = |key: &str| match entry(entries, key) {
        Some(node) => identifier(source, node, key).map(Some),
        None => Ok(None),
    };
    if records.format == RecordsFormat::Sqlite {
        for key in ["table", "id", "updated"] {
            needed(key)?;
        }
    }
    records.table = column("table")?.unwrap_or_default();
    records.id = column("id")?.unwrap_or_default();
    records.updated = column("updated")?.unwrap_or_default();
    records.folder = column("folder")?;
    if let Some(node) = entry(entries, "unit") {
        records.unit = match source.word(node, &["ms", "s", "iso"], "unit")? {
            "s" => TimeUnit::S,
            "iso" => TimeUnit::Iso,
            _ => TimeUnit::Ms,
        };
    }
    for (key, place) in [("only", &mut records.only), ("not", &mut records.not)] {
        let Some(node) = entry(entries, key) else { continue };
        for (column, value) in source.map(node, key)? {
            if !is_identifier(&column.text) {
                return Err(source.error(column.place, not_a_column(&column.text)));
            }
            place.insert(column.text.clone(), source.text(value, key)?);
        }
    }
    Ok(records)
}

/// The name of a table or column: it becomes part of a query, so nothing else may stand in it.
fn identifier(source: &Source<'_>, node: &Node, key: &str) -> Result<String, ConfigError> {
    let text = source.text(node, key)?;
    if matches!(node.value, Value::Text(_)) && is_identifier(&text) {
        return Ok(text);
    }
    Err(source.error(node.place, not_a_column(&text)))
}

fn not_a_column(text: &str) -> String {
    format!("`{text}` is no table or column: a letter or `_`, then letters, digits and `_`")
}

fn is_identifier(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && text.len() <= 64
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::profile::Profile;

    #[test]
    fn any_table_can_be_named() {
        let yaml = "kind: zcode\nrecords:\n  format: sqlite\n  at: ~/.zcode/cli/db/db.sqlite\n  table: session\n  \
                    id: id\n  updated: time_updated\n  not: {task_type: subagent_child}\n";
        let records = Profile::parse(yaml, "p.yaml").unwrap().records.unwrap();
        assert_eq!((records.table.as_str(), records.unit), ("session", TimeUnit::Ms));
        assert_eq!(records.at, ["~/.zcode/cli/db/db.sqlite"]);
        assert_eq!(records.not["task_type"], "subagent_child");
    }

    #[test]
    fn what_would_become_a_query_is_refused() {
        let cases = [
            ("{format: sqlite, at: x}", "`records` has no `table`"),
            (
                "{format: sqlite, at: x, table: 'a; drop', id: i, updated: u}",
                "`a; drop` is no table or column",
            ),
            ("{format: sqlite, at: x, table: t, id: i, updated: u, not: {'a b': c}}", "`a b` is no table"),
            ("{format: sqlit, at: x}", "did you mean `sqlite`?"),
            ("{format: claude, at: []}", "names no place"),
        ];
        for (records, says) in cases {
            let error = Profile::parse(&format!("kind: x\nrecords: {records}\n"), "p.yaml").unwrap_err();
            assert!(error.to_string().contains(says), "{records}\nshould say {says}\n{error}");
        }
    }

    #[test]
    fn words_read_back() {
        for format in RecordsFormat::ALL {
            assert_eq!(serde_json::to_string(&format).unwrap(), format!("\"{}\"", format.as_str()));
        }
    }
}
