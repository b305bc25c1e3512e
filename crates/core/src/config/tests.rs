//! What `Config::parse` takes and what it refuses.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use super::*;

fn parse(text: &str) -> Result<Config, ConfigError> {
    Config::parse(text, "loop.yaml", &BTreeMap::new())
}

fn good(text: &str) -> Config {
    parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn bad(text: &str) -> String {
    match parse(text) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(error) => error.to_string(),
    }
}

const TWO: &str = "agents: {CC: {kind: claude-code}, Codex: {kind: codex}}\nrotation: [CC, Codex]\n";

fn two(more: &str) -> String {
    format!("{TWO}{more}")
}

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

#[test]
fn the_designs_own_example() {
    let config = good(
        "agents:\n  CC:    {kind: claude-code}\n  Codex: {kind: codex}\nrotation: [CC, Codex]\nplanner: Hermes\n\
         people: [Dana]          # optional: may write sections, are not in the rotation\npass: other\n\
         limits: {rounds: 8, hours: 8, turn_minutes: 60}\narchive: project-archive\n",
    );
    assert_eq!(
        config.agents.iter().map(|agent| agent.kind.as_str()).collect::<Vec<_>>(),
        ["claude-code", "codex"]
    );
    assert_eq!(config.rotation, Rotation::Ring(vec![name("CC"), name("Codex")]));
    assert_eq!(config.planner, Some(name("Hermes")));
    assert_eq!(config.people, [name("Dana")]);
    assert_eq!(config.pass, PassPolicy::Other);
    assert_eq!(config.limits, Limits::default());
    assert_eq!(config.archive, "project-archive");
}

#[test]
fn only_agents_and_rotation_are_needed() {
    let config = good("agents:\n  CC:\n  Codex: {}\nrotation:\n- CC\n- Codex\n");
    assert_eq!(config.pass, PassPolicy::Any);
    assert_eq!(config.limits, Limits::default());
    assert_eq!((config.archive.as_str(), config.status_file.as_str()), ("project-archive", "STATUS.md"));
    assert_eq!((config.handover_grace, config.commit_subject.as_str()), (30, "{name}: {summary}"));
    assert_eq!(config.agents[0].permissions, Permissions::Edits);
}
