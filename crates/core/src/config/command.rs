//! Programs with their arguments: read from a list or from one string, and filled in, never given to a shell.

use super::error::ConfigError;
use super::tree::{Node, Source, Value};

/// Words that only a shell understands. As arguments they would be nonsense, so they are refused.
const SHELL_WORDS: [&str; 11] = ["&&", "||", "|", ";", "&", ">", ">>", "<", "2>&1", "2>", "&>"];

/// Reads program and arguments from a list, or from one string that is split as a shell would.
pub(crate) fn read(source: &Source<'_>, node: &Node, what: &str) -> Result<Vec<String>, ConfigError> {
    let words = match &node.value {
        Value::List(items) => {
            let words: Result<Vec<_>, _> = items.iter().map(|item| source.text(item, what)).collect();
            words?
        }
        _ => split(source, node, what)?,
    };
    if words.first().is_none_or(|program| program.trim().is_empty()) {
        return Err(source.error(node.place, format!("`{what}` names no program")));
    }
    if words.iter().any(|word| word.contains('\0')) {
        return Err(source.error(node.place, format!("`{what}` holds a NUL character")));
    }
    Ok(words)
}

fn split(source: &Source<'_>, node: &Node, what: &str) -> Result<Vec<String>, ConfigError> {
    let text = source.text(node, what)?;
    let words = shell_words::split(&text).map_err(|_| {
        source
            .error(node.place, format!("a quote in `{what}` is not closed"))
            .hint("close it, or write program and arguments as a list: [program, argument]")
    })?;
    // A quoted `'&&'` is an argument like any other: only bare words are looked at.
    match text.split_whitespace().find(|word| SHELL_WORDS.contains(word)) {
        Some(word) => Err(source
            .error(node.place, format!("`{word}` in `{what}` needs a shell, and no shell runs it"))
            .hint("write the shell yourself: [sh, -c, \"…\"]")),
        None => Ok(words),
    }
}

/// What is filled into a command's arguments.
#[derive(Debug, Clone, Copy, Default)]
pub struct Fill<'a> {
    /// `{name}`: the agent's name.
    pub name: &'a str,
    /// `{text}`: the text that wakes it.
    pub text: &'a str,
    /// `{repo}`: the working tree.
    pub repo: &'a str,
    /// `{session}`: the conversation's or session's id; nothing where there is none.
    pub session: &'a str,
    /// `{git_dir}`: the repository's common git directory. An argument that needs it is left out without it.
    pub git_dir: Option<&'a str>,
    /// `{verify}`: the loop's verify command in one line. An argument that needs it is left out without it.
    pub verify: Option<&'a str>,
}

impl Fill<'_> {
    /// Fills in the arguments of `command`. What is filled in is never looked at again, so a text that holds
    /// `{name}` stays as it is; other words in braces stay too.
    pub fn command(&self, command: &[String]) -> Vec<String> {
        command.iter().filter_map(|argument| self.argument(argument)).collect()
    }

    /// Fills in a variable's value. In JSON, which begins with `{`, what is filled in stays inside its JSON text; what
    /// there is none of is filled in as nothing.
    pub fn variable(&self, value: &str) -> String {
        let inside = |text: &str| {
            if !value.starts_with('{') {
                return text.to_owned();
            }
            let quoted = serde_json::Value::from(text).to_string();
            quoted[1..quoted.len() - 1].to_owned()
        };
        let [name, text, repo, session] = [self.name, self.text, self.repo, self.session].map(inside);
        let [git_dir, verify] = [self.git_dir, self.verify].map(|value| inside(value.unwrap_or_default()));
        let (git_dir, verify) = (Some(git_dir.as_str()), Some(verify.as_str()));
        let fill = Fill { name: &name, text: &text, repo: &repo, session: &session, git_dir, verify };
        fill.argument(value).unwrap_or_default()
    }

    fn argument(&self, argument: &str) -> Option<String> {
        let mut filled = String::with_capacity(argument.len());
        let mut rest = argument;
        while let Some(open) = rest.find('{') {
            filled.push_str(&rest[..open]);
            rest = &rest[open..];
            let word = rest.find('}').map(|close| &rest[..=close]);
            let value = match word {
                Some("{name}") => Some(self.name),
                Some("{text}") => Some(self.text),
                Some("{repo}") => Some(self.repo),
                Some("{session}") => Some(self.session),
                Some("{git_dir}") => Some(self.git_dir?),
                Some("{verify}") => Some(self.verify?),
                _ => None,
            };
            match (word, value) {
                (Some(word), Some(value)) => {
                    filled.push_str(value);
                    rest = &rest[word.len()..];
                }
                _ => {
                    filled.push('{');
                    rest = &rest[1..];
                }
            }
        }
        filled.push_str(rest);
        Some(filled)
    }
}

/// Fills `{name}`, `{text}`, `{repo}` and `{session}` into the arguments of `command`.
pub fn filled(command: &[String], name: &str, text: &str, repo: &str, session: &str) -> Vec<String> {
    Fill { name, text, repo, session, ..Fill::default() }.command(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(command: &[&str]) -> Vec<String> {
        command.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn words_in_braces_are_filled_in_once() {
        let cases: [(&[&str], &[&str]); 5] = [
            (&["claude", "-p", "{text}"], &["claude", "-p", "/x {name}; rm -rf ~"]),
            (&["{repo}/bin/{name}", "--session={session}"], &["/r/bin/CC", "--session=s1"]),
            (&["{\"a\": {}}", "{", "}", "{{name}}"], &["{\"a\": {}}", "{", "}", "{CC}"]),
            (&["--add-dir={git_dir}", "--allow={verify}", "x"], &["x"]),
            (&["小{name}明"], &["小CC明"]),
        ];
        for (command, expected) in cases {
            assert_eq!(filled(&words(command), "CC", "/x {name}; rm -rf ~", "/r", "s1"), words(expected));
        }
    }

    #[test]
    fn what_is_known_of_the_repository_is_filled_in() {
        let fill = Fill { git_dir: Some("/r/.git"), verify: Some("cargo test"), ..Fill::default() };
        let filled = fill.command(&words(&["--add-dir={git_dir}", "--allow={verify}"]));
        assert_eq!(filled, ["--add-dir=/r/.git", "--allow=cargo test"]);
    }

    #[test]
    fn what_is_filled_into_json_leaves_it_json() {
        let verify = r#"sh -c "a\b""#;
        let fill = Fill { name: "CC", verify: Some(verify), ..Fill::default() };
        let json = fill.variable(r#"{"{verify} *": "{name}", "{git_dir}": 1}"#);
        let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        assert_eq!(json, serde_json::json!({r#"sh -c "a\b" *"#: "CC", "": 1}));
        assert_eq!(fill.variable("--{verify}"), format!("--{verify}"));
    }
}
