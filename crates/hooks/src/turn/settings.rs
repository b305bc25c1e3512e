//! Hooks in a settings file of the form that most CLIs share: `{"hooks": {"Stop": [{"hooks": [{…}]}]}}`.

use std::ops::Range;

use jsonc_parser::ast::{Object, Value};

use super::splice::{Container, Json, Unread, property, range};

/// Why a settings file is left alone.
pub(super) type Refusal = Unread;

/// The text with one hook for each of `events` that runs `command`. A hook of ours that calls another program, as
/// after a move, is pointed to the new one; everybody else's stay, in their order.
pub(super) fn put(
    text: &str,
    events: &[&str],
    command: &str,
    is_ours: &dyn Fn(&str) -> bool,
) -> Result<String, Refusal> {
    let mut text = renew(text, command, is_ours)?;
    for event in events {
        while let Some(next) = step(&text, event, command)? {
            text = next;
        }
    }
    Ok(text)
}

/// The text without any hook of ours, and without what would be empty then.
pub(super) fn take(text: &str, is_ours: &dyn Fn(&str) -> bool) -> Result<String, Refusal> {
    let mut text = text.to_owned();
    loop {
        let json = Json::read(&text)?;
        let Some((container, member)) = ours(&json, is_ours) else { break };
        let next = json.take(&container, &member);
        text = next;
    }
    Ok(text)
}

/// The commands of ours that stand in the text, each with its event.
pub(super) fn commands(text: &str, is_ours: &dyn Fn(&str) -> bool) -> Result<Vec<(String, String)>, Refusal> {
    let json = Json::read(text)?;
    let mut found = Vec::new();
    each(&json, &mut |event, command, _| {
        if is_ours(command) {
            found.push((event.to_owned(), command.to_owned()));
        }
    });
    Ok(found)
}

/// Whether nothing stands in the text but empty brackets and white space.
pub(super) fn is_bare(text: &str) -> bool {
    text.trim_start_matches('\u{feff}')
        .chars()
        .filter(|c| !c.is_whitespace())
        .collect::<String>()
        .replace("{}", "")
        .is_empty()
}

fn renew(text: &str, command: &str, is_ours: &dyn Fn(&str) -> bool) -> Result<String, Refusal> {
    let json = Json::read(text)?;
    let mut stale: Vec<Range<usize>> = Vec::new();
    each(&json, &mut |_, standing, place| {
        if is_ours(standing) && standing != command {
            stale.push(place);
        }
    });
    let mut renewed = text.to_owned();
    for place in stale.into_iter().rev() {
        renewed.replace_range(place, &quoted(command));
    }
    Ok(renewed)
}

/// One step towards a hook for `event`; `None` when it stands there.
fn step(text: &str, event: &str, command: &str) -> Result<Option<String>, Refusal> {
    let json = Json::read(text)?;
    let refuse = |at: usize, why: &str| {
        let (line, column) = json.place(at);
        Err(Refusal { line, column, why: why.to_owned() })
    };
    let Some(root) = json.root() else {
        let line_break = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let gap = if text.is_empty() || text.ends_with('\n') { "" } else { line_break };
        return Ok(Some(format!("{text}{gap}{{}}{line_break}")));
    };
    let Value::Object(root) = root else { return refuse(range(root).start, "it is no object") };
    let Some(hooks) = property(root, "hooks") else {
        return Ok(Some(json.put(&root.into(), "\"hooks\": {}")));
    };
    let Value::Object(hooks) = &hooks.value else {
        return refuse(range(&hooks.value).start, "`hooks` is no object");
    };
    let entry = format!("{{\"hooks\": [{{\"type\": \"command\", \"command\": {}}}]}}", quoted(command));
    let Some(standing) = property(hooks, event) else {
        return Ok(Some(json.put(&hooks.into(), &format!("{}: [{entry}]", quoted(event)))));
    };
    let Value::Array(groups) = &standing.value else {
        return refuse(range(&standing.value).start, &format!("`hooks.{event}` is no list"));
    };
    let mut stands = false;
    each(&json, &mut |of, is, _| stands |= of == event && is == command);
    Ok((!stands).then(|| json.put(&groups.into(), &entry)))
}

/// Calls `see` with every hook's event, command, and where the command stands.
fn each(json: &Json<'_>, see: &mut dyn FnMut(&str, &str, Range<usize>)) {
    walk(json, &mut |event, _, _, command, place| see(event, command, place));
}

type See<'s> = dyn FnMut(&str, &[(Container, Range<usize>)], usize, &str, Range<usize>) + 's;

/// Calls `see` with every hook's event, the containers it stands in from the outermost, how many of these hold
/// nothing else from the innermost, its command and where that stands.
fn walk(json: &Json<'_>, see: &mut See<'_>) {
    let Some(Value::Object(root)) = json.root() else { return };
    let Some(hooks_property) = property(root, "hooks") else { return };
    let Value::Object(hooks) = &hooks_property.value else { return };
    for event in &hooks.properties {
        let Value::Array(groups) = &event.value else { continue };
        for group in &groups.elements {
            let Value::Object(group_object) = group else { continue };
            let Some(Value::Array(list)) = property(group_object, "hooks").map(|list| &list.value) else {
                continue;
            };
            for hook in &list.elements {
                let Value::Object(hook_object) = hook else { continue };
                let Some((command, place)) = command(hook_object) else { continue };
                let alone = [list.elements.len(), groups.elements.len(), hooks.properties.len()];
                let alone = alone.iter().take_while(|count| **count == 1).count();
                let within = [
                    (Container::from(root), range(hooks_property)),
                    (Container::from(hooks), range(event)),
                    (Container::from(groups), range(group)),
                    (Container::from(list), range(hook)),
                ];
                see(event.name.as_str(), &within, alone, command, place);
            }
        }
    }
}

/// The container and member to take out for the first hook of ours.
fn ours(json: &Json<'_>, is_ours: &dyn Fn(&str) -> bool) -> Option<(Container, Range<usize>)> {
    let mut found = None;
    walk(json, &mut |_, within, alone, command, _| {
        if found.is_none() && is_ours(command) {
            let (container, member) = &within[within.len() - 1 - alone];
            found = Some((container.clone(), member.clone()));
        }
    });
    found
}

fn command<'o>(hook: &'o Object<'_>) -> Option<(&'o str, Range<usize>)> {
    match &property(hook, "command")?.value {
        Value::StringLit(text) => Some((text.value.as_ref(), range(text))),
        _ => None,
    }
}

/// A JSON string.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
