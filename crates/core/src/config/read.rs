//! The whole of a `loop.yaml`, key by key.

use std::collections::BTreeMap;

use super::error::ConfigError;
use super::order::Names;
use super::tree::{Node, Source, Value, entry};
use super::{Config, Limits, PassPolicy, agents, command, limits, paths};
use crate::profile::Profile;

const KEYS: [&str; 14] = [
    "agents",
    "rotation",
    "planner",
    "people",
    "pass",
    "limits",
    "archive",
    "verify",
    "setup",
    "pass_needs",
    "handover_grace",
    "commit",
    "sync",
    "status_file",
];

/// What is said where a needed key is missing.
const EXAMPLES: [(&str, &str); 2] = [
    ("agents", "name them: `agents: {CC: {kind: claude-code}, Codex: {kind: codex}}`"),
    ("rotation", "say who comes after whom: `rotation: [CC, Codex]`"),
];

pub(super) fn config(source: &Source<'_>, kinds: &BTreeMap<String, Profile>) -> Result<Config, ConfigError> {
    let root = source.load()?;
    if root.is_null() {
        let error = ConfigError::whole(source.file, "it is empty: `agents` and `rotation` are missing");
        return Err(error.hint(EXAMPLES[0].1));
    }
    let entries = source.map(&root, "loop.yaml")?;
    source.only(entries, &KEYS, "")?;
    let needed = |key: &str| {
        entry(entries, key).ok_or_else(|| {
            let error = ConfigError::whole(source.file, format!("`{key}` is missing"));
            let example = EXAMPLES.iter().find(|(name, _)| *name == key);
            error.hint(example.map_or("", |(_, example)| example))
        })
    };
    let agents = agents::read(source, needed("agents")?, kinds)?;
    let mut names = Names { source, agents: &agents, planner: None, people: Vec::new() };
    if let Some(node) = entry(entries, "planner") {
        names.read_planner(node)?;
    }
    if let Some(node) = entry(entries, "people") {
        names.read_people(node)?;
    }
    let rotation = names.rotation(needed("rotation")?)?;
    let pass = match entry(entries, "pass") {
        Some(node) => names.pass(node)?,
        None => PassPolicy::Any,
    };
    let Names { planner, people, .. } = names;
    let mut config = Config {
        agents,
        rotation,
        planner,
        people,
        pass,
        limits: Limits::default(),
        archive: "project-archive".to_owned(),
        verify: None,
        setup: None,
        handover_grace: 30,
        commit_subject: "{name}: {summary}".to_owned(),
        status_file: "STATUS.md".to_owned(),
        pass_needs: Vec::new(),
        sync: None,
    };
    for (key, node) in entries {
        let what = key.text.as_str();
        match what {
            "limits" => config.limits = limits::read(source, node)?,
            "archive" if !node.is_null() => config.archive = paths::inside(source, node, what)?,
            "status_file" if !node.is_null() => config.status_file = paths::inside(source, node, what)?,
            "verify" => config.verify = optional_command(source, node, what)?,
            "setup" => config.setup = optional_command(source, node, what)?,
            "pass_needs" => config.pass_needs = source.texts(node, what)?,
            "handover_grace" if !node.is_null() => {
                config.handover_grace = limits::seconds(source, node, what)?
            }
            "commit" if !node.is_null() => commit(source, node, &mut config)?,
            "sync" if !node.is_off() => config.sync = Some(source.text(node, what)?),
            _ => {}
        }
    }
    if config.archive == config.status_file {
        let place = entry(entries, "status_file").or(entry(entries, "archive")).map(|node| node.place);
        let message = "`archive` and `status_file` are the same path";
        return Err(source.error(place.unwrap_or_default(), message));
    }
    Ok(config)
}

fn optional_command(
    source: &Source<'_>,
    node: &Node,
    what: &str,
) -> Result<Option<Vec<String>>, ConfigError> {
    if node.is_off() { Ok(None) } else { command::read(source, node, what).map(Some) }
}

fn commit(source: &Source<'_>, node: &Node, config: &mut Config) -> Result<(), ConfigError> {
    let entries = source.map(node, "commit")?;
    source.only(entries, &["subject"], "commit")?;
    let Some(node) = entry(entries, "subject").filter(|node| !matches!(node.value, Value::Null)) else {
        return Ok(());
    };
    let subject = source.text(node, "subject")?;
    let bare = subject.replace("{name}", "").replace("{summary}", "");
    let refuse = |message: &str| {
        Err(source.error(node.place, message).hint("the usual one is `subject: \"{name}: {summary}\"`"))
    };
    if bare.contains(['{', '}']) {
        return refuse("only `{name}` and `{summary}` are filled into `subject`");
    }
    if subject.chars().any(char::is_control) {
        return refuse("`subject` must be one line");
    }
    if !subject.contains("{summary}") {
        return refuse("`subject` must hold `{summary}`: what the agent did");
    }
    config.commit_subject = subject;
    Ok(())
}
