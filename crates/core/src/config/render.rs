//! A new `loop.yaml`, with the words that explain it.

use crate::name::Name;

/// Writes a `loop.yaml` for a new loop. It reads back as what was asked for.
///
/// `pass` is a word (`any`, `other`, `all`), or names in brackets; `verify` is a command in one line.
pub fn render_new(
    agents: &[(Name, String)],
    planner: Option<&Name>,
    people: &[Name],
    pass: &str,
    verify: Option<&str>,
) -> String {
    let names: Vec<String> = agents.iter().map(|(name, _)| scalar(name.as_str())).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let mut text = String::from("# Who works on this repository in turns, and what ends the loop.\n");
    text.push_str("agents:\n");
    for (name, (_, kind)) in names.iter().zip(agents) {
        let padding = " ".repeat(width - name.chars().count());
        text.push_str(&format!("  {name}:{padding} {{kind: {}}}\n", scalar(kind)));
    }
    text.push_str(&format!(
        "# Each one hands over to the next, the last to the first.\nrotation: [{}]\n",
        names.join(", ")
    ));
    if let Some(planner) = planner {
        text.push_str("# Opens and closes the loop; not in the rotation.\n");
        text.push_str(&format!("planner: {}\n", scalar(planner.as_str())));
    }
    if !people.is_empty() {
        let people: Vec<String> = people.iter().map(|name| scalar(name.as_str())).collect();
        text.push_str("# May write sections; not in the rotation.\n");
        text.push_str(&format!("people: [{}]\n", people.join(", ")));
    }
    text.push_str(
        "# Who may end the loop: any, other (not who made the newest change), all, or a list of agents.\n",
    );
    text.push_str(&format!("pass: {pass}\n"));
    match verify {
        Some(command) => {
            text.push_str("# Must succeed in a clean checkout before a pass counts.\n");
            text.push_str(&format!("verify: {}\n", quoted(command)));
        }
        None => {
            text.push_str("# verify: make test   # must succeed in a clean checkout before a pass counts\n")
        }
    }
    text.push_str("# When to stop and ask a person; each can be off.\n");
    text.push_str("limits: {rounds: 8, hours: 8, turn_minutes: 60}\n");
    text.push_str("archive: project-archive\n");
    text
}

/// A name or word as YAML, quoted where a plain one would be read as something else.
pub(super) fn scalar(text: &str) -> String {
    let special = ["null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan", "inf"];
    let plain = text.starts_with(char::is_alphabetic)
        && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'))
        && !special.contains(&text.to_lowercase().as_str());
    if plain { text.to_owned() } else { quoted(text) }
}

/// A text as a double-quoted YAML scalar.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            other if other.is_control() => quoted.push_str(&format!("\\u{:04x}", u32::from(other))),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::collections::BTreeMap;

    use super::*;
    use crate::config::{Config, PassPolicy};

    fn name(text: &str) -> Name {
        Name::new(text).unwrap()
    }

    #[test]
    fn a_new_file_reads_back() {
        let agents = [(name("CC"), "claude-code".to_owned()), (name("Codex"), "codex".to_owned())];
        let text =
            render_new(&agents, Some(&name("Hermes")), &[name("Dana")], "other", Some("cargo test -- 'a b'"));
        insta::assert_snapshot!(text, @r#"
        # Who works on this repository in turns, and what ends the loop.
        agents:
          CC:    {kind: claude-code}
          Codex: {kind: codex}
        # Each one hands over to the next, the last to the first.
        rotation: [CC, Codex]
        # Opens and closes the loop; not in the rotation.
        planner: Hermes
        # May write sections; not in the rotation.
        people: [Dana]
        # Who may end the loop: any, other (not who made the newest change), all, or a list of agents.
        pass: other
        # Must succeed in a clean checkout before a pass counts.
        verify: "cargo test -- 'a b'"
        # When to stop and ask a person; each can be off.
        limits: {rounds: 8, hours: 8, turn_minutes: 60}
        archive: project-archive
        "#);
        let config = Config::parse(&text, "loop.yaml", &BTreeMap::new()).unwrap();
        assert_eq!(config.agents.len(), 2);
        assert_eq!(config.pass, PassPolicy::Other);
        assert_eq!(config.verify.unwrap(), ["cargo", "test", "--", "a b"]);
    }

    #[test]
    fn names_that_yaml_would_misread_survive() {
        let names = ["No", "null", "on", "True", "y", "NaN", "小明", "नमस्ते", "x-1.2_é"];
        let agents: Vec<_> = names.iter().map(|text| (name(text), "codex".to_owned())).collect();
        let text = render_new(&agents, None, &[], "any", None);
        let config =
            Config::parse(&text, "loop.yaml", &BTreeMap::new()).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let read: Vec<&str> = config.agents.iter().map(|agent| agent.name.as_str()).collect();
        assert_eq!(read, names);
    }
}
