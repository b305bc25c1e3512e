//! Adding and removing an agent in a `loop.yaml` that people wrote, without touching anything else in it.
//!
//! The text is changed at the places that the tree names; comments, quotes, order and spacing stay. What comes out
//! is read again and must be exactly what was asked for: where it is not (an alias, a merge key, a layout nobody
//! foresaw), the edit is refused and the file stays as it is.

use std::collections::BTreeMap;
use std::ops::Range;

use super::error::{ConfigError, did_you_mean};
use super::layout::{self, Layout};
use super::render::scalar;
use super::tree::{Key, Node, Source, Value, entry};
use super::{Config, PassPolicy};
use crate::name::Name;
use crate::profile::Profile;
use crate::rotation::Rotation;

/// A place in the text and what comes there instead.
pub(super) type Edit = (Range<usize>, String);

/// Returns `text` with the agent `name` of `kind` added: to `agents`, and last in the rotation (a planner with a
/// window of its own stays out of that).
///
/// # Errors
/// Fails when the file cannot be read, when somebody has this name already, when there is no such kind, or when the
/// file is laid out in a way that cannot be changed with certainty.
pub fn add_agent(
    text: &str,
    file: &str,
    name: &Name,
    kind: &str,
    kinds: &BTreeMap<String, Profile>,
) -> Result<String, ConfigError> {
    add(text, file, name, kind, None, kinds)
}

/// The same, with the turn right behind `after`'s in the rotation instead of last.
///
/// # Errors
/// Fails as [`add_agent`] does, and when `after` is not in the rotation.
pub fn add_agent_after(
    text: &str,
    file: &str,
    name: &Name,
    kind: &str,
    after: &Name,
    kinds: &BTreeMap<String, Profile>,
) -> Result<String, ConfigError> {
    add(text, file, name, kind, Some(after), kinds)
}

fn add(
    text: &str,
    file: &str,
    name: &Name,
    kind: &str,
    after: Option<&Name>,
    kinds: &BTreeMap<String, Profile>,
) -> Result<String, ConfigError> {
    let before = Config::parse(text, file, kinds)?;
    if let Some(after) = after.filter(|after| !before.rotation.contains(after)) {
        let members: Vec<&str> = before.rotation.members().map(Name::as_str).collect();
        let error = ConfigError::whole(file, format!("`{after}` is not in the rotation"));
        return Err(error.hint(did_you_mean(after.as_str(), &members)));
    }
    if after.is_some() && before.planner.as_ref() == Some(name) {
        let error = ConfigError::whole(file, format!("`{name}` is the planner, who takes no turns"));
        return Err(error.hint("leave out behind whom it comes"));
    }
    let taken = |role: &str| Err(ConfigError::whole(file, format!("`{name}` is {role} already")));
    if before.agent(name).is_some() {
        return taken("an agent");
    }
    if before.people.contains(name) {
        return taken("one of `people`");
    }
    let source = Source { file, text, ours: false };
    let root = source.load()?;
    let top = source.map(&root, "loop.yaml")?;
    let layout = Layout::new(text, &root);
    let mut edits = Vec::new();
    if let Some(agents) = entry(top, "agents") {
        edits.extend(
            layout.appended(agents, &format!("{}: {{kind: {}}}", scalar(name.as_str()), scalar(kind))),
        );
    }
    let mut expected = before.clone();
    if before.planner.as_ref() != Some(name) {
        expected.rotation = with(&before.rotation, name, after);
        if let Some(node) = entry(top, "rotation") {
            edits.extend(retargeted(node, &expected.rotation));
            match &expected.rotation {
                Rotation::Ring(names) => {
                    // The new one never stands first, for it comes behind somebody.
                    let place = names.iter().position(|member| member == name).unwrap_or(names.len());
                    edits.extend(layout.inserted(node, place, &scalar(name.as_str())));
                }
                Rotation::Table(rows) => {
                    let back = rows.last().map_or("", |(_, target)| target.as_str());
                    let row = format!("{}: {}", scalar(name.as_str()), scalar(back));
                    edits.extend(layout.appended(node, &row));
                }
            }
        }
    }
    let after = layout::applied(text, edits);
    let config =
        Config::parse(&after, file, kinds).map_err(|error| not_certain(file, text, &after, error))?;
    expected.agents.extend(config.agent(name).filter(|agent| agent.kind == kind).cloned());
    certain(file, &after, &config, &expected)
}

/// Returns `text` without the agent `name`: in `agents`, in the rotation (whoever handed over to it hands over to
/// its successor), and in a `pass` that lists it.
///
/// # Errors
/// Fails when the file cannot be read, when there is no such agent, when it is the last one of the rotation or of
/// `pass`, or when the file is laid out in a way that cannot be changed with certainty.
pub fn remove_agent(
    text: &str,
    file: &str,
    name: &Name,
    kinds: &BTreeMap<String, Profile>,
) -> Result<String, ConfigError> {
    let before = Config::parse(text, file, kinds)?;
    let refuse = |message: String, hint: String| Err(ConfigError::whole(file, message).hint(hint));
    if before.agent(name).is_none() {
        let known: Vec<&str> = before.agents.iter().map(|agent| agent.name.as_str()).collect();
        return refuse(format!("there is no agent `{name}`"), did_you_mean(name.as_str(), &known));
    }
    let mut expected = before.clone();
    expected.agents.retain(|agent| agent.name != *name);
    expected.rotation = without(&before.rotation, name);
    if expected.rotation.is_empty() {
        return refuse(
            format!("`{name}` is the only agent of the rotation"),
            "add another one first".to_owned(),
        );
    }
    if let PassPolicy::Names(names) = &mut expected.pass {
        names.retain(|known| known != name);
        if names.is_empty() {
            return refuse(format!("only `{name}` may end the loop"), "change `pass` first".to_owned());
        }
    }
    let source = Source { file, text, ours: false };
    let root = source.load()?;
    let top = source.map(&root, "loop.yaml")?;
    let layout = Layout::new(text, &root);
    let mut edits = Vec::new();
    for key in ["agents", "rotation", "pass"] {
        let Some(node) = entry(top, key) else { continue };
        if key == "rotation" {
            edits.extend(retargeted(node, &expected.rotation));
        }
        if let Some(index) = index_of(node, name) {
            edits.extend(layout.removed(node, index));
        }
    }
    let after = layout::applied(text, edits);
    let config =
        Config::parse(&after, file, kinds).map_err(|error| not_certain(file, text, &after, error))?;
    certain(file, &after, &config, &expected)
}

/// The rotation with `name` behind `after`, else last: a table's new row takes over from `after`, else from whoever
/// closed the cycle.
fn with(rotation: &Rotation, name: &Name, after: Option<&Name>) -> Rotation {
    match rotation {
        Rotation::Ring(names) => {
            let mut names = names.clone();
            let place = after.and_then(|after| names.iter().position(|member| member == after));
            names.insert(place.map_or(names.len(), |place| place + 1), name.clone());
            Rotation::Ring(names)
        }
        Rotation::Table(rows) => {
            let mut rows = rows.clone();
            let first = rows.first().map(|(from, _)| from.clone());
            let last = rows.len().saturating_sub(1);
            let closing = match after {
                Some(after) => rows.iter().position(|(from, _)| from == after),
                None => rows.iter().rposition(|(_, target)| Some(target) == first.as_ref()),
            };
            if let Some((_, target)) = rows.get_mut(closing.unwrap_or(last)) {
                let back = std::mem::replace(target, name.clone());
                rows.push((name.clone(), back));
            }
            Rotation::Table(rows)
        }
    }
}

/// The rotation without `name`: whoever handed over to it hands over to its successor.
fn without(rotation: &Rotation, name: &Name) -> Rotation {
    match rotation {
        Rotation::Ring(names) => {
            Rotation::Ring(names.iter().filter(|member| *member != name).cloned().collect())
        }
        Rotation::Table(rows) => {
            let heir = rotation.next(name, &|other| other == name);
            let left = rows.iter().filter(|(from, _)| from != name);
            let row = |(from, target): &(Name, Name)| {
                // Without an heir `name` led only to itself: then who came before keeps the turn.
                let target = if target == name { heir.unwrap_or(from) } else { target };
                (from.clone(), target.clone())
            };
            Rotation::Table(left.map(row).collect())
        }
    }
}

/// The edits that give a table's rows the targets of `rotation`.
fn retargeted(node: &Node, rotation: &Rotation) -> Vec<Edit> {
    let (Value::Map(entries), Rotation::Table(rows)) = (&node.value, rotation) else { return Vec::new() };
    let changed = |(key, target): &(Key, Node)| {
        let (_, wanted) = rows.iter().find(|(from, _)| from.matches(&key.text))?;
        match &target.value {
            Value::Text(text) if !wanted.matches(text) => {
                Some((target.place.start..target.place.end, scalar(wanted.as_str())))
            }
            _ => None,
        }
    };
    entries.iter().filter_map(changed).collect()
}

/// Which entry of a map or item of a list is `name`'s.
fn index_of(node: &Node, name: &Name) -> Option<usize> {
    match &node.value {
        Value::Map(entries) => entries.iter().position(|(key, _)| name.matches(&key.text)),
        Value::List(items) => {
            items.iter().position(|item| matches!(&item.value, Value::Text(text) if name.matches(text)))
        }
        _ => None,
    }
}

/// The edited text, if it says exactly what was wanted.
fn certain(file: &str, after: &str, config: &Config, expected: &Config) -> Result<String, ConfigError> {
    if config == expected { Ok(after.to_owned()) } else { Err(by_hand(file)) }
}

/// An edit after which the file cannot be read: the reason is the caller's word (a kind), or the layout.
fn not_certain(file: &str, before: &str, after: &str, error: ConfigError) -> ConfigError {
    let new_word = error.message.contains("is no kind") && before != after;
    if new_word {
        ConfigError { hint: error.hint, ..ConfigError::whole(file, error.message) }
    } else {
        by_hand(file)
    }
}

fn by_hand(file: &str) -> ConfigError {
    let error =
        ConfigError::whole(file, "its layout (an alias, a merge key, …) cannot be changed with certainty");
    error.hint("nothing was written: change `agents` and `rotation` by hand")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn name(text: &str) -> Name {
        Name::new(text).unwrap()
    }

    fn add(text: &str, new: &str) -> Result<String, ConfigError> {
        add_agent(text, "loop.yaml", &name(new), "qwen", &BTreeMap::new())
    }

    fn remove(text: &str, gone: &str) -> Result<String, ConfigError> {
        remove_agent(text, "loop.yaml", &name(gone), &BTreeMap::new())
    }

    /// Files of every layout; `+` begins a line that adding `Q` brings, `-` one that it takes away.
    const LAYOUTS: &[&str] = &[
        "
 # a loop
 agents:
   CC:    {kind: claude-code}   # the writer
   Codex: {kind: codex}  # the reviewer
+  Q: {kind: qwen}
-rotation: [CC, Codex]  # in turns
+rotation: [CC, Codex, Q]  # in turns
 pass: other
",
        "
-agents: {CC: {kind: claude-code}, Codex: {kind: codex}}
+agents: {CC: {kind: claude-code}, Codex: {kind: codex}, Q: {kind: qwen}}
 rotation:
   - CC
   - Codex # x
+  - Q
",
        "
 rotation:
 - CC
 - Codex
+- Q

 agents:
   CC:
   Codex: {kind: codex}
+  Q: {kind: qwen}
",
        "
 agents: {
   CC: {kind: claude-code},  # one, {two}
-  \"Codex\": {kind: codex}   # ], three
+  \"Codex\": {kind: codex},   # ], three
+  Q: {kind: qwen}
 }
 rotation: [
   CC,
   Codex,
+  Q,
 ]
",
        "
 agents:
   CC:
     kind: claude-code
     # skip: true
   Codex:
     kind: codex
     env:
       TEXT: |
         two # no comment
         lines

     # of Codex's
+  Q: {kind: qwen}

 # now the table
 rotation:
   CC: Codex
-  Codex: CC   # back
+  Codex: Q   # back
+  Q: CC
 # the end
",
        "
-agents: {CC: , Codex: }
+agents: {CC: , Codex: , Q: {kind: qwen}}
-rotation: {CC: Codex, Codex: CC}
+rotation: {CC: Codex, Codex: Q, Q: CC}
",
        "
 agents:
   CC:
   Codex: {
     kind: codex, env: {A: '}'}
   }
+  Q: {kind: qwen}
-rotation: [ CC, Codex ]
+rotation: [ CC, Codex, Q ]
",
    ];

    /// The layout before (`-`) or after (`+`).
    fn side(layout: &str, sign: char) -> String {
        layout[1..]
            .split_inclusive('\n')
            .filter(|line| line.starts_with([' ', '\n', sign]))
            .map(|line| if line == "\n" { line } else { &line[1..] })
            .collect()
    }

    #[test]
    fn an_agent_is_added_without_touching_anything_else() {
        for layout in LAYOUTS {
            let before = side(layout, '-');
            assert_eq!(
                add(&before, "Q").unwrap_or_else(|e| panic!("{e}\n{before}")),
                side(layout, '+'),
                "{before}"
            );
            let windows = before.replace('\n', "\r\n");
            let after = side(layout, '+').replace('\n', "\r\n");
            assert_eq!(add(&windows, "Q").unwrap_or_else(|e| panic!("{e}\n{windows}")), after, "{windows}");
            let bare = before.trim_end();
            assert_eq!(add(bare, "Q").unwrap().trim_end(), side(layout, '+').trim_end());
        }
    }

    #[test]
    fn an_agent_is_added_behind_another() {
        let after = |text: &str, after: &str| {
            add_agent_after(text, "loop.yaml", &name("Q"), "qwen", &name(after), &BTreeMap::new())
        };
        let agents = "agents: {CC: , Codex: }\n";
        for (rotation, behind, expected) in [
            ("rotation: [CC, Codex] # ring\n", "cc", "rotation: [CC, Q, Codex] # ring\n"),
            ("rotation: [CC, Codex]\n", "Codex", "rotation: [CC, Codex, Q]\n"),
            ("rotation: [ CC , \"Codex\" ]\n", "CC", "rotation: [ CC, Q , \"Codex\" ]\n"),
            ("rotation:\n- CC # first\n- Codex\n", "CC", "rotation:\n- CC # first\n- Q\n- Codex\n"),
            ("rotation: [\n  CC,  # a\n  Codex\n]\n", "CC", "rotation: [\n  CC,  # a\n  Q,\n  Codex\n]\n"),
            ("rotation: [\n  CC,\n  Codex,\n]\n", "Codex", "rotation: [\n  CC,\n  Codex,\n  Q,\n]\n"),
            ("rotation: {CC: Codex, Codex: CC}\n", "CC", "rotation: {CC: Q, Codex: CC, Q: Codex}\n"),
            (
                "rotation:\n  CC: Codex # on\n  Codex: CC\n",
                "Codex",
                "rotation:\n  CC: Codex # on\n  Codex: Q\n  Q: CC\n",
            ),
        ] {
            let text = format!("{agents}{rotation}");
            let added = after(&text, behind).unwrap_or_else(|error| panic!("{error}\n{text}"));
            assert_eq!(added, format!("agents: {{CC: , Codex: , Q: {{kind: qwen}}}}\n{expected}"));
            let windows = after(&text.replace('\n', "\r\n"), behind).unwrap();
            assert_eq!(windows, added.replace('\n', "\r\n"));
        }
        let error = after(&format!("{agents}rotation: [CC]\n"), "Codex").unwrap_err();
        assert!(error.message.contains("not in the rotation"), "{error}");
        let error = after(&format!("{agents}rotation: [CC]\nplanner: Q\n"), "CC").unwrap_err();
        assert!(error.message.contains("takes no turns"), "{error}");
    }

    #[test]
    fn in_every_layout_one_comes_behind_any_other() {
        for layout in LAYOUTS {
            for behind in ["CC", "Codex"] {
                let before = side(layout, '-');
                let after = add_agent_after(
                    &before,
                    "loop.yaml",
                    &name("Q"),
                    "qwen",
                    &name(behind),
                    &BTreeMap::new(),
                )
                .unwrap_or_else(|error| panic!("{error}\n{before}"));
                let config = Config::parse(&after, "loop.yaml", &BTreeMap::new()).unwrap();
                assert_eq!(config.rotation.next(&name(behind), &|_| false), Some(&name("Q")), "{after}");
                assert_eq!(after.matches('#').count(), before.matches('#').count());
            }
        }
    }

    #[test]
    fn removing_undoes_adding() {
        for layout in LAYOUTS {
            let before = side(layout, '-');
            let gone = remove(&side(layout, '+'), "q").unwrap_or_else(|e| panic!("{e}\n{before}"));
            let same = |text: &str| text.replace("codex},   # ]", "codex}   # ]").replace(['\'', '"'], "");
            assert_eq!(same(&gone), same(&before));
        }
    }

    #[test]
    fn any_agent_can_be_removed() {
        for layout in LAYOUTS {
            let before = side(layout, '-');
            for gone in ["CC", "Codex"] {
                let after = remove(&before, gone).unwrap_or_else(|e| panic!("{e}\n{before}"));
                let config = Config::parse(&after, "loop.yaml", &BTreeMap::new()).unwrap();
                assert_eq!(config.agents.len(), 1);
                assert!(!config.rotation.contains(&name(gone)));
                let comments = |text: &str| text.matches('#').count();
                assert!(comments(&after) + 3 >= comments(&before), "{after}");
            }
        }
    }

    #[test]
    fn a_pass_that_lists_the_agent_loses_it() {
        let text = "agents: {CC: , Codex: }\nrotation: [CC, Codex]\npass: [CC, Codex] # both\n";
        assert_eq!(
            remove(text, "cc").unwrap(),
            "agents: {Codex: }\nrotation: [Codex]\npass: [Codex] # both\n"
        );
    }

    #[test]
    fn a_planner_gets_a_window_but_no_turn() {
        let text = "agents: {CC: }\nrotation: [CC]\nplanner: Q\n";
        assert_eq!(add(text, "q").unwrap(), "agents: {CC: , q: {kind: qwen}}\nrotation: [CC]\nplanner: Q\n");
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let text = "agents: {CC: , Codex: }\nrotation: [CC]\npeople: [Dana]\npass: [CC]\n";
        for (new, says) in [("cc", "an agent already"), ("dana", "one of `people` already")] {
            assert!(add(text, new).unwrap_err().message.contains(says));
        }
        for (gone, says) in [("Codx", "no agent"), ("CC", "only agent of the rotation")] {
            assert!(remove(text, gone).unwrap_err().message.contains(says));
        }
        let only = text.replace("rotation: [CC]", "rotation: [CC, Codex]");
        assert!(remove(&only, "CC").unwrap_err().message.contains("only `CC` may end the loop"));
        let unknown = add_agent(text, "loop.yaml", &name("X"), "qwn", &BTreeMap::new()).unwrap_err();
        assert_eq!(unknown.to_string(), "loop.yaml: `qwn` is no kind of agent\nhint: did you mean `qwen`?");
        let alias = "x: &a [CC, Codex]\n".replace("x:", "agents: {CC: , Codex: }\npass:") + "rotation: *a\n";
        let error = add(&alias, "Q").unwrap_err();
        assert!(error.message.contains("with certainty"), "{error}");
    }
}
