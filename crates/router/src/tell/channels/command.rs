//! A program of the user's own.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use async_trait::async_trait;
use serde_json::Value;

use super::{Channel, Opened, Row};
use crate::tell::error::TellError;
use crate::tell::fields::{Around, SettingsError};
use crate::tell::message::Message;
use crate::tell::program;

pub(super) const ROW: Row = Row {
    name: "command",
    about: "a program of your own, never run by a shell",
    example: r#"[PROGRAM, "{title}", "{text}"]"#,
    open,
};

/// Program and arguments; `{title}`, `{text}`, `{repo}` are filled in, and stand in `LOOP_TITLE`, `LOOP_TEXT`,
/// `LOOP_REPO` and `LOOP_KIND` too.
pub(in crate::tell) struct Command {
    words: Vec<String>,
    env: BTreeMap<String, String>,
}

impl Command {
    pub(in crate::tell) fn new(words: Vec<String>, env: BTreeMap<String, String>) -> Self {
        Self { words, env }
    }

    fn program(&self) -> &str {
        self.words.first().map(String::as_str).unwrap_or_default()
    }
}

fn open(value: &Value, around: &Around) -> Result<Opened, SettingsError> {
    let wrong = |why: String| SettingsError::new("tell.command", why);
    let shape = || wrong(format!("must be a list of words or one text: command: {}", ROW.example));
    let words = match value {
        Value::String(line) => {
            shell_words::split(line).map_err(|error| wrong(format!("cannot be split into words: {error}")))?
        }
        Value::Array(list) => list
            .iter()
            .map(|word| match word {
                Value::String(word) => Ok(word.clone()),
                Value::Number(number) => Ok(number.to_string()),
                _ => Err(shape()),
            })
            .collect::<Result<_, _>>()?,
        _ => return Err(shape()),
    };
    if words.first().is_none_or(|program: &String| program.trim().is_empty()) {
        return Err(wrong("names no program".to_owned()));
    }
    Ok(Opened::new(Command::new(words, around.env.clone())))
}

#[async_trait]
impl Channel for Command {
    fn place(&self) -> String {
        self.program().to_owned()
    }

    async fn ready(&self) -> Result<(), TellError> {
        let path = self.env.get("PATH").map(String::as_str).unwrap_or_default();
        if finds(self.program(), path) {
            return Ok(());
        }
        Err(TellError::Missing {
            what: format!("there is no program `{}`", self.program()),
            next: "mend `tell.command` in config.yaml; an absolute path is surest".to_owned(),
        })
    }

    async fn send(&self, message: &Message) -> Result<(), TellError> {
        let fill = |argument: &String| {
            argument
                .replace("{title}", &message.title)
                .replace("{repo}", &message.repo)
                .replace("{text}", &message.text)
        };
        let arguments: Vec<String> = self.words.iter().skip(1).map(fill).collect();
        let more = [
            ("LOOP_TITLE", message.title.as_str()),
            ("LOOP_TEXT", &message.text),
            ("LOOP_REPO", &message.repo),
            ("LOOP_KIND", message.kind.as_str()),
        ];
        program::run(self.program(), &arguments, &self.env, &more).await
    }
}

/// Whether a program is found by its path, or on the `PATH`.
pub(super) fn finds(program: &str, path: &str) -> bool {
    if program.contains('/') {
        return Path::new(program).is_file();
    }
    std::env::split_paths(path).any(|folder| folder.join(program).is_file())
}

// Arguments and environment may hold anything.
impl fmt::Debug for Command {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Command").field("program", &self.program()).finish_non_exhaustive()
    }
}
