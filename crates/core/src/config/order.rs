//! `rotation:`, `planner:`, `people:` and `pass:`: names that stand in relation to the agents.

use super::agents::name;
use super::error::{ConfigError, nearest};
use super::tree::{Node, Place, Source, Value};
use super::{Agent, PassPolicy};
use crate::name::Name;
use crate::rotation::Rotation;

const POLICIES: [&str; 3] = ["any", "other", "all"];

/// The names that are known so far, against which the others are checked.
pub(super) struct Names<'a> {
    pub(super) source: &'a Source<'a>,
    pub(super) agents: &'a [Agent],
    pub(super) planner: Option<Name>,
    pub(super) people: Vec<Name>,
}

impl Names<'_> {
    /// Reads the planner, which may be an agent with a window of its own.
    pub(super) fn read_planner(&mut self, node: &Node) -> Result<(), ConfigError> {
        if node.is_null() {
            return Ok(());
        }
        let text = self.source.text(node, "planner")?;
        let planner = name(self.source, &text, node.place)?;
        self.planner = Some(self.known(&text).cloned().unwrap_or(planner));
        Ok(())
    }

    /// Reads the people, who are nothing else.
    pub(super) fn read_people(&mut self, node: &Node) -> Result<(), ConfigError> {
        for item in node.items() {
            let text = self.source.text(item, "people")?;
            let person = name(self.source, &text, item.place)?;
            let refuse = |why: &str, hint: &str| {
                Err(self.source.error(item.place, format!("`{text}` in `people` is {why}")).hint(hint))
            };
            if self.known(&text).is_some() {
                return refuse(
                    "an agent too",
                    "an agent is in `agents` only; `kind: human` makes a person one",
                );
            }
            if self.planner.as_ref() == Some(&person) {
                return refuse("the planner too", "the planner may write sections anyway: leave it out here");
            }
            if self.people.contains(&person) {
                return refuse("there twice", "name everybody once");
            }
            self.people.push(person);
        }
        Ok(())
    }

    /// Reads the rotation: a ring or a table that nobody falls out of.
    pub(super) fn rotation(&self, node: &Node) -> Result<Rotation, ConfigError> {
        match &node.value {
            Value::Null => Err(self.nobody(node.place)),
            Value::List(items) if items.is_empty() => Err(self.nobody(node.place)),
            Value::Map(entries) if entries.is_empty() => Err(self.nobody(node.place)),
            Value::List(items) => self.ring(items),
            Value::Map(_) => self.table(node),
            _ => {
                let error = self.source.error(node.place, "`rotation` must be a list of names, or a map");
                Err(error.hint("write `[CC, Codex]`, or `{CC: Codex, Codex: CC}`"))
            }
        }
    }

    fn nobody(&self, place: Place) -> ConfigError {
        let names: Vec<&str> = self.agents.iter().map(|agent| agent.name.as_str()).collect();
        self.source.error(place, "`rotation` names nobody").hint(format!("write `[{}]`", names.join(", ")))
    }

    fn ring(&self, items: &[Node]) -> Result<Rotation, ConfigError> {
        let mut ring: Vec<Name> = Vec::with_capacity(items.len());
        for item in items {
            let text = self.source.text(item, "rotation")?;
            let member = self.member(&text, item.place)?;
            if ring.contains(&member) {
                let error = self.source.error(item.place, format!("`{text}` stands in the ring twice"));
                return Err(error.hint("a ring names everybody once; where the way branches, write a map"));
            }
            ring.push(member);
        }
        Ok(Rotation::Ring(ring))
    }

    fn table(&self, node: &Node) -> Result<Rotation, ConfigError> {
        let entries = self.source.map(node, "rotation")?;
        let mut rows: Vec<(Name, Name)> = Vec::with_capacity(entries.len());
        for (key, value) in entries {
            let from = self.member(&key.text, key.place)?;
            if rows.iter().any(|(known, _)| *known == from) {
                let message = format!("`{}` stands in `rotation` twice", key.text);
                return Err(self.source.error(key.place, message).hint("everybody has one successor"));
            }
            let target = self.source.text(value, &key.text)?;
            rows.push((from, self.member(&target, value.place)?));
        }
        for ((_, target), (_, value)) in rows.iter().zip(entries) {
            if !rows.iter().any(|(from, _)| from == target) {
                let message = format!("`{target}` can receive a turn but has no successor");
                let hint = format!("add a row `{target}: NAME`, the agent that comes after it");
                return Err(self.source.error(value.place, message).hint(hint));
            }
        }
        Ok(Rotation::Table(rows))
    }

    /// An agent that may be in the rotation, spelled as in `agents`.
    fn member(&self, text: &str, place: Place) -> Result<Name, ConfigError> {
        let refuse = |why: &str| {
            let error = self.source.error(place, format!("`{text}` is {why} and cannot be in `rotation`"));
            Err(error.hint("the rotation holds agents only"))
        };
        if self.planner.as_ref().is_some_and(|planner| planner.matches(text)) {
            return refuse("the planner");
        }
        if self.people.iter().any(|person| person.matches(text)) {
            return refuse("one of `people`");
        }
        self.agent(text, place, "rotation")
    }

    /// Reads who may end the loop.
    pub(super) fn pass(&self, node: &Node) -> Result<PassPolicy, ConfigError> {
        match &node.value {
            Value::Null => Ok(PassPolicy::Any),
            Value::List(items) if items.is_empty() => {
                let error = self.source.error(node.place, "`pass` names nobody, so the loop could never end");
                Err(error.hint("write `any`, `other`, `all` or a list of agents"))
            }
            Value::List(items) => {
                let mut names: Vec<Name> = Vec::with_capacity(items.len());
                for item in items {
                    let text = self.source.text(item, "pass")?;
                    if self.planner.as_ref().is_some_and(|planner| planner.matches(&text)) {
                        return Err(self.source.error(item.place, "the planner gives no verdict"));
                    }
                    let agent = self.agent(&text, item.place, "pass")?;
                    if names.contains(&agent) {
                        return Err(self
                            .source
                            .error(item.place, format!("`{text}` stands in `pass` twice")));
                    }
                    names.push(agent);
                }
                Ok(PassPolicy::Names(names))
            }
            _ => self.policy(node),
        }
    }

    fn policy(&self, node: &Node) -> Result<PassPolicy, ConfigError> {
        let text = self.source.text(node, "pass")?;
        match text.as_str() {
            "any" => Ok(PassPolicy::Any),
            "other" => Ok(PassPolicy::Other),
            "all" => Ok(PassPolicy::All),
            _ => {
                let hint = match self.known(&text) {
                    Some(agent) => format!("for a certain agent write a list: `[{agent}]`"),
                    None => match nearest(&text, POLICIES) {
                        Some(word) => format!("did you mean `{word}`?"),
                        None => "it is `any`, `other`, `all` or a list of agents".to_owned(),
                    },
                };
                Err(self.source.error(node.place, format!("`{text}` is no word for `pass`")).hint(hint))
            }
        }
    }

    fn agent(&self, text: &str, place: Place, what: &str) -> Result<Name, ConfigError> {
        self.known(text).cloned().ok_or_else(|| {
            let names: Vec<&str> = self.agents.iter().map(|agent| agent.name.as_str()).collect();
            let hint = match nearest(text, names.iter().copied()) {
                Some(name) => format!("did you mean `{name}`?"),
                None => format!("the agents are {}", super::error::listed(&names)),
            };
            self.source.error(place, format!("`{text}` in `{what}` is no agent")).hint(hint)
        })
    }

    fn known(&self, text: &str) -> Option<&Name> {
        self.agents.iter().map(|agent| &agent.name).find(|name| name.matches(text))
    }
}
