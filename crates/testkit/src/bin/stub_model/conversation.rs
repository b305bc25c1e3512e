//! What was said so far, whatever the dialect, and what the model answers to it.

use loop_testkit::stub_model::{ModelLine, ModelScript, ModelStep};

/// One piece of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Item {
    /// Text for the model, from a person or from the CLI.
    User(String),
    /// Text or a tool call of the model.
    Model,
    /// A tool's output.
    Result(String),
}

/// A request, read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Conversation {
    /// What was said, in order.
    pub(crate) items: Vec<Item>,
    /// Whether a shell tool is offered.
    pub(crate) shell: bool,
    /// Whether the answer is wanted as events.
    pub(crate) stream: bool,
}

/// What the model says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer {
    /// Text; the turn of the CLI ends.
    Text(String),
    /// One use of a tool.
    Step(ModelStep),
}

/// Most characters of a text that are logged.
const LOGGED: usize = 4000;

/// Returns the answer, with the line for the log.
pub(crate) fn answer(script: &ModelScript, conversation: &Conversation, at_ms: u64) -> (Answer, ModelLine) {
    let items = &conversation.items;
    let newest = items.iter().rposition(|item| *item == Item::Model).map_or(0, |last| last + 1);
    let calls: Vec<(usize, String)> = items
        .iter()
        .enumerate()
        .filter_map(|(at, item)| match item {
            Item::User(text) => called(text, script).map(|name| (at, name)),
            Item::Model | Item::Result(_) => None,
        })
        .collect();
    let mut line = ModelLine {
        at_ms,
        event: "words".to_owned(),
        name: calls.last().map(|(_, name)| name.clone()),
        call: calls.len(),
        expanded: false,
        text: items[newest..].iter().map(text_of).collect::<Vec<_>>().join("\n"),
    };
    line.text = line.text.chars().take(LOGGED).collect();

    if !conversation.shell {
        line.event = "side".to_owned();
        return (Answer::Text("A title".to_owned()), line);
    }
    let Some((at, name)) = calls.last() else {
        return (Answer::Text("ok".to_owned()), line);
    };
    let is_result = |item: &Item| matches!(item, Item::Result(_));
    let ran = items[*at..].iter().filter(|item| is_result(item)).count();
    if *at >= newest {
        line.event = "call".to_owned();
        let body = |item: &Item| matches!(item, Item::User(text) if text.contains(&script.marker));
        line.expanded = items[newest..].iter().any(body);
    } else if items[newest..].iter().any(is_result) {
        line.event = "result".to_owned();
    } else {
        return (Answer::Text("ok".to_owned()), line);
    }
    let steps = script.turns.get(calls.len() - 1);
    match steps.and_then(|steps| steps.get(ran)) {
        Some(step) => (Answer::Step(fill(step, name)), line),
        None => {
            if line.event == "result" {
                line.event = "end".to_owned();
            }
            (Answer::Text(script.done.clone()), line)
        }
    }
}

fn fill(step: &ModelStep, name: &str) -> ModelStep {
    let fill = |text: &str| text.replace("{name}", name);
    match step {
        ModelStep::Shell(command) => ModelStep::Shell(fill(command)),
        ModelStep::Write { path, text } => ModelStep::Write { path: fill(path), text: fill(text) },
    }
}

fn text_of(item: &Item) -> &str {
    match item {
        Item::User(text) | Item::Result(text) => text,
        Item::Model => "",
    }
}

/// The name behind a call of the skill: `/agent-loop CC`, `$agent-loop CC`, as Claude Code wraps it, or as OpenCode
/// leaves it, alone in the last line below the skill's body; or behind the words that do without a skill.
///
/// Lists of skills quote such calls, so a call stands between blanks.
pub(crate) fn called(text: &str, script: &ModelScript) -> Option<String> {
    let skill = script.skill.as_str();
    let wrapped = format!("<command-name>/{skill}</command-name>");
    if text.contains(&wrapped) {
        let (_, behind) = text.split_once("<command-args>")?;
        let (arguments, _) = behind.split_once("</command-args>")?;
        return arguments.split_whitespace().next().map(str::to_owned);
    }
    if let Some(behind) = text.strip_prefix("Run `loop turn ") {
        return behind.split_once('`').map(|(name, _)| name.to_owned());
    }
    let mut words = text.split_whitespace();
    while let Some(word) = words.next() {
        if word.strip_prefix(['/', '$']) == Some(skill) {
            return words.next().map(str::to_owned);
        }
    }
    let last = text.trim_end().lines().last().filter(|_| text.contains(&script.marker))?;
    // Codex closes the body with a mark.
    let is_name = last.trim().starts_with(char::is_alphabetic) && last.split_whitespace().count() == 1;
    is_name.then(|| last.trim().to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn script() -> ModelScript {
        let commands =
            |words: &[&str]| words.iter().map(|word| ModelStep::Shell((*word).to_owned())).collect();
        ModelScript {
            marker: "BODY".to_owned(),
            turns: vec![commands(&["look {name}", "commit {name}"]), commands(&["again"])],
            ..ModelScript::default()
        }
    }

    fn user(text: &str) -> Item {
        Item::User(text.to_owned())
    }

    fn result() -> Item {
        Item::Result("output".to_owned())
    }

    #[test]
    fn a_call_stands_between_blanks() {
        for (text, name) in [
            ("/agent-loop CC", Some("CC")),
            ("$agent-loop Codex\n", Some("Codex")),
            ("<command-name>/agent-loop</command-name>\n<command-args>CC</command-args>", Some("CC")),
            ("- agent-loop: for example \"/agent-loop CC\"", None),
            ("see /repo/.claude/skills/agent-loop SKILL.md", None),
            ("/agent-loop", None),
            ("/agent-loops CC", None),
            ("BODY with `/agent-loop CC` in it\n\nOC\n", Some("OC")),
            ("BODY\nhow it goes on", None),
            ("<skill>\nBODY\n</skill>", None),
            ("Run `loop turn Gem` and follow it", Some("Gem")),
        ] {
            assert_eq!(called(text, &script()).as_deref(), name, "{text}");
        }
    }

    #[test]
    fn a_call_takes_the_steps_of_its_turn() {
        let first = [user("# agent-loop: BODY\n/agent-loop CC")];
        let shell = |command: &str| Answer::Step(ModelStep::Shell(command.to_owned()));
        let done = || Answer::Text("done".to_owned());
        let ok = || Answer::Text("ok".to_owned());
        let turn = [&first[..], &[Item::Model, result(), Item::Model, result(), Item::Model]].concat();
        let cases: [(&str, Vec<Item>, Answer, &str, usize); 8] = [
            ("a greeting", vec![user("hello")], ok(), "words", 0),
            ("a call", first.to_vec(), shell("look CC"), "call", 1),
            ("the same again", first.to_vec(), shell("look CC"), "call", 1),
            ("one result", [&first[..], &[Item::Model, result()]].concat(), shell("commit CC"), "result", 1),
            ("both", turn[..turn.len() - 1].to_vec(), done(), "end", 1),
            ("words later", [&turn[..], &[user("thanks")]].concat(), ok(), "words", 1),
            ("the second call", [&turn[..], &[user("/agent-loop CC")]].concat(), shell("again"), "call", 2),
            (
                "a third",
                [&turn[..], &[user("/agent-loop CC"), Item::Model, user("/agent-loop CC")]].concat(),
                done(),
                "call",
                3,
            ),
        ];
        for (what, items, wanted, event, call) in cases {
            let conversation = Conversation { items, shell: true, stream: true };
            let (answer, line) = answer(&script(), &conversation, 0);
            assert_eq!((answer, line.event.as_str(), line.call), (wanted, event, call), "{what}");
        }
    }

    #[test]
    fn the_body_is_seen_beside_the_call() {
        for (items, expanded) in [
            (vec![user("/agent-loop CC"), user("BODY")], true),
            (vec![user("BODY"), Item::Model, user("/agent-loop CC")], false),
        ] {
            let conversation = Conversation { items, shell: true, stream: true };
            assert_eq!(answer(&script(), &conversation, 0).1.expanded, expanded);
        }
    }

    #[test]
    fn without_a_shell_there_is_only_text() {
        let conversation = Conversation { items: vec![user("/agent-loop CC")], ..Conversation::default() };
        let (answer, line) = answer(&script(), &conversation, 0);
        assert!(matches!(answer, Answer::Text(_)));
        assert_eq!(line.event, "side");
    }
}
