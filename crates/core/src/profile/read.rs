//! Profiles from YAML, whole files or single fields of an agent's entry.

use std::collections::BTreeMap;

use super::{Place, Profile, Rule, TextMethod};
use crate::config::command;
use crate::config::error::{did_you_mean, listed};
use crate::config::paths;
use crate::config::tree::{self, Key, Node, Source, Value, entry};
use crate::config::{ConfigError, TRANSPORTS};
use crate::screen::{Group, Hint, checked_regex};

/// The fields of a profile that an agent's entry may override. `env` and `permissions` are the agent's own words
/// there: `env` adds, and `permissions` is a profile field only where it is a map.
pub(crate) const FIELDS: [&str; 23] = [
    "version",
    "seen_on",
    "about",
    "start",
    "start_as",
    "resume",
    "permission_env",
    "pass_env",
    "transport",
    "invoke",
    "text",
    "settle_ms",
    "submit",
    "signs",
    "skills",
    "headless",
    "headless_resume",
    "conversation",
    "permissions",
    "sandbox",
    "records",
    "turn_hooks",
    "answers",
];

const SIGNS: [&str; 10] =
    ["ready", "busy", "blocked", "limited", "composer", "edge", "wrapped", "placeholder", "hints", "told"];
const RULE: [&str; 6] = ["in", "matches", "says", "press", "name", "keys"];
const LEVELS: [&str; 3] = ["ask", "edits", "all"];

/// The longest pause between text and submit key that makes sense.
const MAX_SETTLE_MS: f64 = 60_000.0;

/// Reads a file. Without `base` it is a user's, and starts from the kind that it is like.
pub(super) fn whole(yaml: &str, file: &str, base: Option<&Profile>) -> Result<Profile, ConfigError> {
    let source = Source { file, text: yaml, ours: base.is_some() };
    let root = source.load()?;
    one(&source, &root, None, base)
}

/// Reads every profile under `profiles:` of the user's settings, by name.
pub(super) fn all(yaml: &str, file: &str) -> Result<BTreeMap<String, Profile>, ConfigError> {
    let source = Source { file, text: yaml, ours: false };
    let root = source.load()?;
    let Some(profiles) = entry(source.map(&root, "settings")?, "profiles") else {
        return Ok(BTreeMap::new());
    };
    if profiles.is_null() {
        return Ok(BTreeMap::new());
    }
    let read = |(key, node): &(Key, Node)| Ok((key.text.clone(), one(&source, node, Some(key), None)?));
    source.map(profiles, "profiles")?.iter().map(read).collect()
}

/// Reads one profile; `called` is its name where one stands before it.
fn one(
    source: &Source<'_>,
    node: &Node,
    called: Option<&Key>,
    base: Option<&Profile>,
) -> Result<Profile, ConfigError> {
    let entries = source.map(node, "profile")?;
    let known: Vec<&str> = FIELDS.iter().copied().chain(["kind", "env", "like"]).collect();
    source.only(entries, &known, "")?;
    let name = match (entry(entries, "kind"), called) {
        (Some(kind), _) => kind_name(source, kind)?,
        (None, Some(key)) => kind_named(source, &key.text, key.place)?,
        (None, None) => {
            return Err(ConfigError::whole(source.file, "`kind` is missing: what this profile is called"));
        }
    };
    if let Some((key, kind)) = called.zip(entry(entries, "kind"))
        && key.text != name
    {
        let message = format!("this profile is called `{}`, and its `kind` is `{name}`", key.text);
        return Err(source.error(kind.place, message).hint(format!("write `kind: {}`", key.text)));
    }
    let mut profile = match base {
        Some(base) => base.clone(),
        None => base_of(source, entries, &name)?,
    };
    profile.kind = name;
    for (key, node) in in_order(entries) {
        match key.text.as_str() {
            "kind" | "like" => {}
            "env" => profile.env.extend(crate::config::agents::env(source, node)?),
            _ => field(source, key, node, &mut profile)?,
        }
    }
    if profile.invoke.is_empty() {
        return Err(ConfigError::whole(source.file, "`invoke` is missing: the text that wakes the agent"));
    }
    Ok(profile)
}

/// The entries in the order in which they are to be read: `answers` names rules of `signs`, wherever it stands.
pub(crate) fn in_order(entries: &[(Key, Node)]) -> impl Iterator<Item = &(Key, Node)> {
    let late = |(key, _): &&(Key, Node)| key.text == "answers";
    entries.iter().filter(move |entry| !late(entry)).chain(entries.iter().filter(late))
}

fn kind_name(source: &Source<'_>, node: &Node) -> Result<String, ConfigError> {
    kind_named(source, &source.text(node, "kind")?, node.place)
}

fn kind_named(source: &Source<'_>, name: &str, place: tree::Place) -> Result<String, ConfigError> {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || !name.chars().all(plain) {
        let message =
            format!("`{name}` cannot be a kind: only letters, digits, `-`, `_` and `.` may be in it");
        return Err(source.error(place, message));
    }
    Ok(name.to_owned())
}

fn base_of(source: &Source<'_>, entries: &[(Key, Node)], name: &str) -> Result<Profile, ConfigError> {
    if let Some(like) = entry(entries, "like") {
        let kinds: Vec<&str> = super::kinds().iter().map(|row| row.kind).collect();
        let word = source.text(like, "like")?;
        return super::builtin(&word).ok_or_else(|| {
            source.error(like.place, format!("`{word}` is no kind")).hint(did_you_mean(&word, &kinds))
        });
    }
    Ok(super::builtin(name).or_else(|| super::builtin("generic")).unwrap_or_else(Profile::empty))
}

/// Reads one field into `profile`. `key` is one of [`FIELDS`].
pub(crate) fn field(
    source: &Source<'_>,
    key: &Key,
    node: &Node,
    profile: &mut Profile,
) -> Result<(), ConfigError> {
    let what = key.text.as_str();
    match what {
        "version" => profile.version = whole_number(source, node, what, f64::from(u32::MAX))? as u32,
        "seen_on" => profile.seen_on = source.texts(node, what)?,
        "about" => profile.about = source.text(node, what)?,
        "start" => profile.start = program(source, node, what)?,
        "start_as" => profile.start_as = program(source, node, what)?,
        "resume" => profile.resume = program(source, node, what)?,
        "pass_env" => profile.pass_env = source.texts(node, what)?,
        "transport" => profile.transport = transports(source, node)?,
        "invoke" => profile.invoke = invocation(source, node)?,
        "text" => {
            profile.text = match source.word(node, &["paste", "keys"], "text method")? {
                "keys" => TextMethod::Keys,
                _ => TextMethod::Paste,
            }
        }
        "settle_ms" => profile.settle_ms = whole_number(source, node, what, MAX_SETTLE_MS)? as u64,
        "submit" => profile.submit = key_name(source, node, what)?,
        "signs" => signs(source, node, profile)?,
        "skills" => {
            let folders: Result<_, _> =
                node.items().iter().map(|item| paths::inside(source, item, what)).collect();
            profile.skills = folders?;
        }
        "headless" => profile.headless = program(source, node, what)?,
        "headless_resume" => profile.headless_resume = program(source, node, what)?,
        "conversation" => profile.conversation = optional_regex(source, node, what, Group::Needed)?,
        "sandbox" => profile.sandbox = program(source, node, what)?,
        "records" if node.is_off() => profile.records = None,
        "records" => profile.records = Some(super::records::read(source, node)?),
        "turn_hooks" if node.is_off() => profile.turn_hooks = None,
        "turn_hooks" => profile.turn_hooks = Some(source.text(node, what)?),
        "answers" => profile.answers = answers(source, node, profile)?,
        "permission_env" => {
            for (level, variables) in source.map(node, what)? {
                if !LEVELS.contains(&level.text.as_str()) {
                    return Err(source.unknown_key(level, &LEVELS, what));
                }
                let variables = crate::config::agents::env(source, variables)?;
                profile.permission_env.insert(level.text.clone(), variables);
            }
        }
        "permissions" => {
            for (level, flags) in source.map(node, what)? {
                if !LEVELS.contains(&level.text.as_str()) {
                    return Err(source.unknown_key(level, &LEVELS, what));
                }
                profile.permissions.insert(level.text.clone(), source.texts(flags, what)?);
            }
        }
        _ => return Err(source.unknown_key(key, &FIELDS, "")),
    }
    Ok(())
}

/// Names of dialogs that are to be answered: only those that a rule has keys for.
fn answers(source: &Source<'_>, node: &Node, profile: &Profile) -> Result<Vec<String>, ConfigError> {
    let rules = profile.signs.blocked.iter().chain(&profile.signs.limited);
    let rules = rules.filter(|rule| !rule.name.is_empty() && !rule.keys.is_empty());
    let known: Vec<&str> = rules.map(|rule| rule.name.as_str()).collect();
    if known.is_empty() && !node.items().is_empty() {
        let error = source.error(node.place, "this kind has no dialog that can be answered");
        return Err(error.hint("only rules under `signs: {blocked: …}` with `name` and `keys` are"));
    }
    node.items().iter().map(|item| source.word(item, &known, "dialog").map(str::to_owned)).collect()
}

/// One transport, or several in order of preference.
fn transports(source: &Source<'_>, node: &Node) -> Result<Vec<String>, ConfigError> {
    if matches!(&node.value, Value::List(items) if items.is_empty()) {
        let error = source.error(node.place, "`transport` names no transport");
        return Err(error.hint(format!("it is one of {}, or a list of some", listed(&TRANSPORTS))));
    }
    let word = |item| source.word(item, &TRANSPORTS, "transport").map(str::to_owned);
    node.items().iter().map(word).collect()
}

fn program(source: &Source<'_>, node: &Node, what: &str) -> Result<Vec<String>, ConfigError> {
    match &node.value {
        Value::List(items) if items.is_empty() => Ok(Vec::new()),
        _ if node.is_off() => Ok(Vec::new()),
        _ => command::read(source, node, what),
    }
}

/// A number from 0 to `most` without a fraction.
#[allow(clippy::float_cmp, reason = "the fraction of a whole number is exactly zero")]
fn whole_number(source: &Source<'_>, node: &Node, what: &str, most: f64) -> Result<f64, ConfigError> {
    match &node.value {
        Value::Number { value, .. } if value.fract() == 0.0 && (0.0..=most).contains(value) => Ok(*value),
        _ => Err(source.error(node.place, format!("`{what}` must be a whole number from 0 to {most}"))),
    }
}

/// The text typed into a window: one short line in which nothing but the name is filled in.
fn invocation(source: &Source<'_>, node: &Node) -> Result<String, ConfigError> {
    let text = source.text(node, "invoke")?;
    let refuse = |message: &str| Err(source.error(node.place, message));
    if text.trim().is_empty() {
        return refuse("`invoke` is empty: it is the text that wakes the agent");
    }
    if text.chars().any(char::is_control) {
        return refuse("`invoke` must be one line without control characters");
    }
    if text.len() > 200 {
        return refuse("`invoke` is longer than 200 bytes: say where to look, not what to do");
    }
    if text.replace("{name}", "").contains(['{', '}']) {
        return Err(source.error(node.place, "only `{name}` is filled into `invoke`"));
    }
    Ok(text)
}

/// A key as tmux names it (`Enter`, `Tab`, `C-m`).
fn key_name(source: &Source<'_>, node: &Node, what: &str) -> Result<String, ConfigError> {
    let name = source.text(node, what)?;
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    if name.is_empty() || name.starts_with('-') || !name.chars().all(plain) {
        let message = format!("`{name}` is no key");
        return Err(source.error(node.place, message).hint("name it as tmux does: `Enter`, `Tab`, `C-m`"));
    }
    Ok(name)
}

/// What is named replaces what the kind says of that state; the other states stay.
fn signs(source: &Source<'_>, node: &Node, profile: &mut Profile) -> Result<(), ConfigError> {
    let entries = source.map(node, "signs")?;
    source.only(entries, &SIGNS, "signs")?;
    let signs = &mut profile.signs;
    for (key, node) in entries {
        match key.text.as_str() {
            "ready" => signs.ready = rules(source, node)?,
            "busy" => signs.busy = rules(source, node)?,
            "blocked" => signs.blocked = rules(source, node)?,
            "limited" => signs.limited = rules(source, node)?,
            "composer" => signs.composer = optional_regex(source, node, "composer", Group::Needed)?,
            "edge" => signs.edge = optional_regex(source, node, "edge", Group::Optional)?,
            "wrapped" => signs.wrapped = optional_regex(source, node, "wrapped", Group::Needed)?,
            "hints" => {
                let hints: Result<_, _> = node.items().iter().map(|item| hint(source, item)).collect();
                signs.hints = hints?;
            }
            "told" => {
                let told: Result<_, _> = node.items().iter().map(|item| shown(source, item)).collect();
                signs.told = told?;
            }
            _ => {
                let patterns: Result<_, _> = node
                    .items()
                    .iter()
                    .map(|item| regex(source, item, "placeholder", Group::Optional))
                    .collect();
                signs.placeholder = patterns?;
            }
        }
    }
    Ok(())
}

/// How a CLI shows what it was told.
fn shown(source: &Source<'_>, node: &Node) -> Result<String, ConfigError> {
    let text = source.text(node, "told")?;
    let filled = text.replace("{text}", "").replace("{name}", "");
    if text.trim().is_empty() || filled.contains(['{', '}']) {
        return Err(source.error(node.place, format!("`{text}` is nothing that a CLI shows")).hint(
            "write `{text}` where it shows the words that were typed, or others; `{name}` is filled in",
        ));
    }
    Ok(text)
}

/// How a CLI draws what nobody typed.
fn hint(source: &Source<'_>, node: &Node) -> Result<String, ConfigError> {
    let text = source.text(node, "hints")?;
    if Hint::new(&text).is_none() {
        return Err(source
            .error(node.place, format!("`{text}` is no way to draw a hint"))
            .hint("write `dim`, `grey`, or a colour's number from 0 to 255"));
    }
    Ok(text)
}

fn rules(source: &Source<'_>, node: &Node) -> Result<Vec<Rule>, ConfigError> {
    node.items().iter().map(|item| rule(source, item)).collect()
}

/// A rule, or only its expression.
fn rule(source: &Source<'_>, node: &Node) -> Result<Rule, ConfigError> {
    let Value::Map(entries) = &node.value else {
        let matches = regex(source, node, "rule", Group::Optional)?;
        return Ok(Rule { matches, ..Rule::default() });
    };
    source.only(entries, &RULE, "rule")?;
    let Some(matches) = entry(entries, "matches") else {
        let place = entries.first().map_or(node.place, |(key, _)| key.place);
        return Err(source
            .error(place, "the rule has no `matches`")
            .hint("add `matches: REGULAR EXPRESSION`"));
    };
    let text = |key: &str| match entry(entries, key) {
        Some(node) => source.text(node, key),
        None => Ok(String::new()),
    };
    let place = match entry(entries, "in") {
        None => Place::default(),
        Some(node) => match source.word(node, &["title", "bottom", "screen"], "place")? {
            "title" => Place::Title,
            "screen" => Place::Screen,
            _ => Place::Bottom,
        },
    };
    let matches = regex(source, matches, "matches", Group::Optional)?;
    let keys = match entry(entries, "keys") {
        Some(node) => {
            node.items().iter().map(|key| key_name(source, key, "keys")).collect::<Result<_, _>>()?
        }
        None => Vec::new(),
    };
    Ok(Rule { place, matches, says: text("says")?, press: text("press")?, name: text("name")?, keys })
}

fn optional_regex(
    source: &Source<'_>,
    node: &Node,
    what: &str,
    group: Group,
) -> Result<Option<String>, ConfigError> {
    if node.is_null() { Ok(None) } else { regex(source, node, what, group).map(Some) }
}

fn regex(source: &Source<'_>, node: &Node, what: &str, group: Group) -> Result<String, ConfigError> {
    let pattern = source.text(node, what)?;
    if source.ours {
        return Ok(pattern);
    }
    match checked_regex(&pattern, group) {
        Ok(_) => Ok(pattern),
        Err(why) => Err(source.error(node.place, format!("`{what}` is no regular expression: {why}"))),
    }
}

#[cfg(test)]
mod tests;
