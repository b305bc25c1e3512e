//! A YAML file as a tree in which everything knows its place.
//!
//! `loop.yaml` and profiles are checked word by word, and every complaint shows the word. So the file is first read
//! into this tree, and the rules are then applied to the tree.

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_yaml::{DuplicateKeyPolicy, Location, NonFiniteFloatPolicy, Options, Spanned};

use super::error::{ConfigError, did_you_mean};

/// The most bytes that a configuration may have. A real one has a few hundred.
const MAX_BYTES: usize = 256 * 1024;

/// A file's text with the name to show it under.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) file: &'a str,
    pub(crate) text: &'a str,
    /// A file of ours, whose expressions a test compiles: doing it again at every start of `loop notify`, which is
    /// on the way of every commit, costs more than the rest of it.
    pub(crate) ours: bool,
}

/// Where something stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// From 1; 0 is nowhere.
    pub(crate) line: usize,
    /// In characters, from 1.
    pub(crate) column: usize,
    /// In characters; 0 for what has no text of its own.
    pub(crate) width: usize,
    /// The first byte.
    pub(crate) start: usize,
    /// Behind the last byte; the same as `start` for lists and maps.
    pub(crate) end: usize,
}

/// A value with its place.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) place: Place,
}

/// A value. A scalar keeps its text as written, so that `1.10` stays a version and `007` a name.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Number { value: f64, written: String },
    Text(String),
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
}

/// A map's key with its place.
#[derive(Debug, Clone)]
pub(crate) struct Key {
    pub(crate) text: String,
    pub(crate) place: Place,
}

impl<'a> Source<'a> {
    /// Reads the tree.
    pub(crate) fn load(&self) -> Result<Node, ConfigError> {
        if self.text.len() > MAX_BYTES {
            let limit = MAX_BYTES / 1024;
            return Err(ConfigError::whole(
                self.file,
                format!("it is larger than {limit} KB: no configuration"),
            ));
        }
        let raw: Spanned<Raw> =
            serde_yaml::from_str_with_options(self.text, options()).map_err(|error| self.refused(&error))?;
        self.node(raw, None)
    }

    /// An error at `place`.
    pub(crate) fn error(&self, place: Place, message: impl Into<String>) -> ConfigError {
        if place.line == 0 {
            return ConfigError::whole(self.file, message);
        }
        let text = line(self.text, place.line);
        let room = text.chars().count().saturating_sub(place.column.saturating_sub(1));
        ConfigError {
            line: place.line,
            column: place.column,
            width: place.width.min(room).max(1),
            text: text.to_owned(),
            ..ConfigError::whole(self.file, message)
        }
    }

    /// Refuses a key of `entries` that is not one of `known`.
    pub(crate) fn only(
        &self,
        entries: &[(Key, Node)],
        known: &[&str],
        inside: &str,
    ) -> Result<(), ConfigError> {
        match entries.iter().find(|(key, _)| !known.contains(&key.text.as_str())) {
            Some((key, _)) => Err(self.unknown_key(key, known, inside)),
            None => Ok(()),
        }
    }

    /// The error for a key that nothing knows.
    pub(crate) fn unknown_key(&self, key: &Key, known: &[&str], inside: &str) -> ConfigError {
        let inside = if inside.is_empty() { String::new() } else { format!(" in `{inside}`") };
        self.error(key.place, format!("unknown key `{}`{inside}", key.text))
            .hint(did_you_mean(&key.text, known))
    }

    /// One of `words`, or an error with the nearest.
    pub(crate) fn word<'w>(
        &self,
        node: &Node,
        words: &[&'w str],
        what: &str,
    ) -> Result<&'w str, ConfigError> {
        let text = self.text(node, what)?;
        words.iter().copied().find(|word| *word == text).ok_or_else(|| {
            self.error(node.place, format!("`{text}` is no {what}")).hint(did_you_mean(&text, words))
        })
    }

    /// The text of a scalar as it was written; a number or `true` where a text is wanted is its text.
    pub(crate) fn text(&self, node: &Node, what: &str) -> Result<String, ConfigError> {
        match &node.value {
            Value::Text(text) => Ok(text.clone()),
            Value::Number { written, .. } => Ok(written.clone()),
            Value::Bool(value) => Ok(value.to_string()),
            Value::Null => Err(self.error(node.place, format!("`{what}` is empty"))),
            Value::List(_) | Value::Map(_) => {
                Err(self.error(node.place, format!("`{what}` must be a text, not {}", node.value.name())))
            }
        }
    }

    /// A truth value.
    pub(crate) fn truth(&self, node: &Node, what: &str) -> Result<bool, ConfigError> {
        match &node.value {
            Value::Bool(value) => Ok(*value),
            _ => Err(self.error(node.place, format!("`{what}` must be `true` or `false`"))),
        }
    }

    /// A map's entries.
    pub(crate) fn map<'n>(&self, node: &'n Node, what: &str) -> Result<&'n [(Key, Node)], ConfigError> {
        match &node.value {
            Value::Map(entries) => Ok(entries),
            other => Err(self.error(node.place, format!("`{what}` must be a map, not {}", other.name()))),
        }
    }

    /// A list's texts; a single text is a list of one.
    pub(crate) fn texts(&self, node: &Node, what: &str) -> Result<Vec<String>, ConfigError> {
        node.items().iter().map(|item| self.text(item, what)).collect()
    }

    fn node(&self, raw: Spanned<Raw>, inside: Option<&str>) -> Result<Node, ConfigError> {
        let place = self.place(raw.referenced);
        let value = match raw.value {
            Raw::Null => Value::Null,
            Raw::Bool(value) => Value::Bool(value),
            Raw::Number(value) => {
                // An alias stands elsewhere than its text.
                let defined = self.place(raw.defined);
                let written = self.text.get(defined.start..defined.end).unwrap_or_default().to_owned();
                Value::Number { value, written: if written.is_empty() { value.to_string() } else { written } }
            }
            Raw::Text(text) => Value::Text(text),
            Raw::List(items) => {
                let items: Result<_, _> = items.into_iter().map(|item| self.node(item, inside)).collect();
                Value::List(items?)
            }
            Raw::Map(entries) => Value::Map(self.entries(entries, inside)?),
        };
        Ok(Node { value, place })
    }

    fn entries(
        &self,
        raw: Vec<(Spanned<Raw>, Spanned<Raw>)>,
        inside: Option<&str>,
    ) -> Result<Vec<(Key, Node)>, ConfigError> {
        let mut entries: Vec<(Key, Node)> = Vec::with_capacity(raw.len());
        for (key, value) in raw {
            let key = self.node(key, inside)?;
            let text = match key.value {
                Value::Null => self.text.get(key.place.start..key.place.end).unwrap_or_default().to_owned(),
                Value::List(_) | Value::Map(_) => return Err(self.error(key.place, "a key must be a word")),
                _ => self.text(&key, "key")?,
            };
            let key = Key { text, place: key.place };
            if let Some((first, _)) = entries.iter().find(|(first, _)| first.text == key.text) {
                let inside = inside.map(|name| format!(" in `{name}`")).unwrap_or_default();
                let message = format!("`{}` stands twice{inside}", key.text);
                let hint = format!("the first one is in line {}: keep one of the two", first.place.line);
                return Err(self.error(key.place, message).hint(hint));
            }
            let value = self.node(value, Some(&key.text))?;
            entries.push((key, value));
        }
        Ok(entries)
    }

    fn place(&self, location: Location) -> Place {
        let number = |value: u64| usize::try_from(value).unwrap_or(0);
        let span = location.span();
        let start = span.byte_offset().map_or(0, number).min(self.text.len());
        let end = (start + span.byte_len().map_or(0, number)).min(self.text.len());
        let width = self.text.get(start..end).map_or(0, |text| text.chars().count());
        Place { line: number(location.line()), column: number(location.column()), width, start, end }
    }

    /// The parser's complaint in our words, with what to do about the usual ones.
    fn refused(&self, error: &serde_yaml::Error) -> ConfigError {
        use serde_yaml::Error;
        let place = error.location().map(|location| self.place(location)).unwrap_or_default();
        let with_hint = |message: &str, hint: &str| self.error(place, message).hint(hint);
        let too_much =
            || with_hint("too much for a configuration", "it is nested too deeply or repeats itself");
        let mut inner = error.without_snippet();
        while let Error::AliasError { error, .. } = inner {
            inner = error.without_snippet();
        }
        match inner {
            Error::MultipleDocuments { .. } => with_hint(
                "a second YAML document starts here",
                "put everything into one document, without `---`",
            ),
            Error::Budget { .. }
            | Error::AliasReplayLimitExceeded { .. }
            | Error::AliasExpansionLimitExceeded { .. }
            | Error::AliasReplayStackDepthExceeded { .. }
            | Error::AliasReplayCounterOverflow { .. } => too_much(),
            Error::RecursiveReferencesRequireWeakTypes { .. } => {
                self.error(place, "the alias refers to itself")
            }
            Error::ExternalMessage { msg, .. } | Error::Message { msg, .. } => match msg.as_str() {
                text if text.contains("recursion limit") => too_much(),
                text if text.contains("tabs disallowed") => {
                    // The parser stands behind the tab.
                    let tab = Place { column: place.column.saturating_sub(1).max(1), ..place };
                    let hint = "YAML is indented with spaces: put spaces in its place";
                    self.error(tab, "a tab cannot indent").hint(hint)
                }
                text if text.contains("mapping values are not allowed") => with_hint(
                    "a second `:` in one line",
                    "put quotes around a text with a colon: \"like: this\"",
                ),
                text => self.error(place, text.to_lowercase()),
            },
            other => {
                let text = other.to_string();
                self.error(place, text.split(" at line ").next().unwrap_or(&text).to_lowercase())
            }
        }
    }
}

impl Node {
    /// A list's items; anything else is a list of itself, nothing an empty one.
    pub(crate) fn items(&self) -> &[Node] {
        match &self.value {
            Value::List(items) => items,
            Value::Null => &[],
            _ => std::slice::from_ref(self),
        }
    }

    /// Whether it says that something is not wanted: `off`, `false`, nothing.
    pub(crate) fn is_off(&self) -> bool {
        match &self.value {
            Value::Null | Value::Bool(false) => true,
            Value::Text(text) => matches!(text.to_lowercase().as_str(), "off" | "no" | "none"),
            _ => false,
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self.value, Value::Null)
    }
}

impl Value {
    /// What kind of value it is, for a sentence.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Bool(_) => "true or false",
            Self::Number { .. } => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
        }
    }
}

/// The value of `key`, where there is one.
pub(crate) fn entry<'n>(entries: &'n [(Key, Node)], key: &str) -> Option<&'n Node> {
    entries.iter().find(|(found, _)| found.text == key).map(|(_, node)| node)
}

/// The line with `number`, from 1. A lone CR ends a line in YAML too.
pub(crate) fn line(text: &str, number: usize) -> &str {
    let mut rest = text;
    for _ in 1..number {
        let Some(at) = rest.find(['\n', '\r']) else { return "" };
        let long = if rest[at..].starts_with("\r\n") { 2 } else { 1 };
        rest = &rest[at + long..];
    }
    let line = rest.split(['\n', '\r']).next().unwrap_or("");
    line.strip_prefix('\u{feff}').unwrap_or(line)
}

/// Only `true` and `false` are truth values (`no` may be somebody's name); repeated keys are ours to complain about;
/// and a file that unfolds into thousands of nodes is refused at once.
fn options() -> Options {
    serde_yaml::options! {
        budget: serde_yaml::budget! {
            max_events: 40_000,
            max_nodes: 10_000,
            max_aliases: 200,
            max_anchors: 200,
            max_depth: 24,
            flow_nesting_limit: 24,
            max_documents: 2,
        },
        alias_limits: serde_yaml::alias_limits! { max_total_replayed_events: 5_000, max_replay_stack_depth: 8 },
        duplicate_keys: DuplicateKeyPolicy::PassThrough,
        non_finite_float_policy: NonFiniteFloatPolicy::AsString,
        strict_booleans: true,
        with_snippet: false,
    }
}

/// What serde hands over, before keys are checked.
#[derive(Debug)]
enum Raw {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<Spanned<Raw>>),
    Map(Vec<(Spanned<Raw>, Spanned<Raw>)>),
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

#[allow(clippy::cast_precision_loss, reason = "limits are small numbers; the written text is kept besides")]
impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_none<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Raw, D::Error> {
        Raw::deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Raw, E> {
        Ok(Raw::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Raw, E> {
        Ok(Raw::Number(value as f64))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Raw, E> {
        Ok(Raw::Number(value as f64))
    }

    fn visit_i128<E>(self, value: i128) -> Result<Raw, E> {
        Ok(Raw::Number(value as f64))
    }

    fn visit_u128<E>(self, value: u128) -> Result<Raw, E> {
        Ok(Raw::Number(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Raw, E> {
        Ok(Raw::Number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Raw, E> {
        Ok(Raw::Text(value.to_owned()))
    }

    fn visit_bytes<E>(self, value: &[u8]) -> Result<Raw, E> {
        Ok(Raw::Text(String::from_utf8_lossy(value).into_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Raw, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Raw::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Raw, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = access.next_entry()? {
            entries.push(entry);
        }
        Ok(Raw::Map(entries))
    }
}
