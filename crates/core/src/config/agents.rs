//! `agents:`: who takes part, what each one is and how it is started.

use std::collections::BTreeMap;

use super::error::{ConfigError, did_you_mean, listed};
use super::tree::{Key, Node, Source, Value, entry};
use super::{Agent, OnLimit, Permissions, command};
use crate::name::Name;
use crate::profile::{self, Profile};

/// The words of an agent's entry that are not a profile's fields.
const WORDS: [&str; 7] = ["kind", "skip", "command", "env", "permissions", "on_limit", "role"];
const ROLES: [&str; 1] = ["reviewer"];

/// Reads the map of agents, in the order of the file.
pub(super) fn read(
    source: &Source<'_>,
    node: &Node,
    kinds: &BTreeMap<String, Profile>,
) -> Result<Vec<Agent>, ConfigError> {
    if node.is_null() || matches!(&node.value, Value::Map(entries) if entries.is_empty()) {
        let error = source.error(node.place, "`agents` names nobody");
        return Err(error.hint("name at least one: `agents: {CC: {kind: claude-code}}`"));
    }
    if let Value::List(_) = node.value {
        let error = source.error(node.place, "`agents` must be a map of names, not a list");
        return Err(error.hint("write each as `NAME: {kind: KIND}`"));
    }
    let mut agents: Vec<Agent> = Vec::new();
    for (key, entry) in source.map(node, "agents")? {
        let name = name(source, &key.text, key.place)?;
        if let Some(known) = agents.iter().find(|agent| agent.name == name) {
            let message = format!("`{}` and `{}` are the same name", known.name, key.text);
            let hint =
                "names are matched without case and in one Unicode form: give one of them another name";
            return Err(source.error(key.place, message).hint(hint));
        }
        agents.push(agent(source, key, name, entry, kinds)?);
    }
    Ok(agents)
}

/// Checks a name where it is introduced.
pub(super) fn name(source: &Source<'_>, text: &str, place: super::tree::Place) -> Result<Name, ConfigError> {
    Name::new(text).map_err(|error| {
        let hint = "a name is a letter, then letters, digits, `_`, `-` and `.`, at most 32 in all";
        source.error(place, format!("`{text}` cannot be a name: {}", error.why)).hint(hint)
    })
}

fn agent(
    source: &Source<'_>,
    key: &Key,
    name: Name,
    node: &Node,
    kinds: &BTreeMap<String, Profile>,
) -> Result<Agent, ConfigError> {
    let shown = key.text.as_str();
    let entries = match &node.value {
        Value::Null => &[],
        Value::Text(text) => {
            let error = source.error(node.place, format!("the entry of `{shown}` must be a map"));
            return Err(error.hint(format!("write `{shown}: {{kind: {text}}}`")));
        }
        _ => source.map(node, shown)?,
    };
    let mut profile = kind(source, key, entries, kinds)?;
    let mut agent = Agent {
        name,
        kind: profile.kind.clone(),
        skip: false,
        transport: Vec::new(),
        command: None,
        env: BTreeMap::new(),
        permissions: Permissions::default(),
        on_limit: OnLimit::default(),
        role: None,
        profile: profile.clone(),
    };
    for (key, node) in profile::in_order(entries) {
        match key.text.as_str() {
            "kind" => {}
            "skip" => agent.skip = source.truth(node, "skip")?,
            "command" => agent.command = Some(command::read(source, node, "command")?),
            "env" => agent.env = env(source, node)?,
            "permissions" if !matches!(node.value, Value::Map(_)) => {
                agent.permissions = match source.word(node, &["ask", "edits", "all"], "permission")? {
                    "ask" => Permissions::Ask,
                    "all" => Permissions::All,
                    _ => Permissions::Edits,
                }
            }
            "on_limit" => {
                agent.on_limit = match source.word(node, &["wait", "skip", "hold"], "word for `on_limit`")? {
                    "skip" => OnLimit::Skip,
                    "hold" => OnLimit::Hold,
                    _ => OnLimit::Wait,
                }
            }
            "role" if node.is_null() => {}
            "role" => agent.role = Some(source.word(node, &ROLES, "role")?.to_owned()),
            field if profile::FIELDS.contains(&field) => profile::field(source, key, node, &mut profile)?,
            _ => {
                let known: Vec<&str> = WORDS.iter().chain(&profile::FIELDS).copied().collect();
                return Err(source.unknown_key(key, &known, shown));
            }
        }
    }
    agent.transport.clone_from(&profile.transport);
    agent.profile = profile;
    Ok(agent)
}

/// The profile of the agent's kind: the one it names, else the one its name says, else `generic` with a command.
fn kind(
    source: &Source<'_>,
    key: &Key,
    entries: &[(Key, Node)],
    kinds: &BTreeMap<String, Profile>,
) -> Result<Profile, ConfigError> {
    let mut known: Vec<&str> = profile::kinds().iter().map(|row| row.kind).collect();
    known.extend(kinds.keys().map(String::as_str).filter(|kind| profile::builtin(kind).is_none()));
    let found = |kind: &str| kinds.get(kind).cloned().or_else(|| profile::builtin(kind));
    let Some(node) = entry(entries, "kind") else {
        let usual = profile::usual_kind(&key.text).or_else(|| entry(entries, "command").map(|_| "generic"));
        return usual.and_then(found).ok_or_else(|| {
            source
                .error(key.place, format!("what kind of agent `{}` is does not show from its name", key.text))
                .hint(format!("add `kind:`, one of {}", listed(&known)))
        });
    };
    let word = source.text(node, "kind")?;
    found(&word).ok_or_else(|| {
        // `claude` or `CC` is what people call it: say which kind that is.
        let hint = match profile::usual_kind(&word) {
            Some(kind) => format!("did you mean `{kind}`?"),
            None => did_you_mean(&word, &known),
        };
        source.error(node.place, format!("`{word}` is no kind of agent")).hint(hint)
    })
}

/// Environment variables with their values.
pub(crate) fn env(source: &Source<'_>, node: &Node) -> Result<BTreeMap<String, String>, ConfigError> {
    if node.is_null() {
        return Ok(BTreeMap::new());
    }
    let mut variables = BTreeMap::new();
    for (key, value) in source.map(node, "env")? {
        let first_fits = key.text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if !first_fits || !key.text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return Err(source.error(key.place, format!("`{}` cannot be an environment variable", key.text)));
        }
        let text = if value.is_null() { String::new() } else { source.text(value, &key.text)? };
        if text.contains('\0') {
            return Err(source.error(value.place, format!("`{}` holds a NUL character", key.text)));
        }
        variables.insert(key.text.clone(), text);
    }
    Ok(variables)
}
