//! Turn hooks: what an agent's own CLI calls when it begins a turn, ends it, or asks a person.
//!
//! One row per kind of CLI, one file each: where its hooks stand, and how what it sends reads. The edits are pure,
//! text in and text out; [`file`] puts them on disk. A hook calls `loop turn-hook KIND`, which [`read`]s what it was
//! given and [`tell`]s the router.

mod claude_code;
mod codex;
mod file;
mod gemini;
mod heard;
mod hermes;
mod opencode;
mod qwen;
mod settings;
mod splice;

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::env::quote;
use crate::error::HookError;
use heard::Heard;

pub use file::{Edit, TakenOut, put_in, take_out};
pub use heard::{Router, read, tell};

/// The turn hooks of one kind of CLI.
#[derive(Debug)]
pub struct TurnHooks {
    /// The kind, as a profile's `turn_hooks` names it.
    pub kind: &'static str,
    /// What people call it.
    pub about: &'static str,
    /// What a person has to do once before they run.
    pub once: Option<&'static str>,
    /// Whether the CLI waits for the hook's end.
    pub awaited: bool,
    form: Form,
    file: &'static str,
    shared: &'static str,
    home: Home,
    heard: fn(&Value) -> Option<Heard>,
}

/// How hooks are written down.
#[derive(Debug)]
enum Form {
    /// In a settings file, one for each of these events.
    Settings(&'static [&'static str]),
    /// As a program of its own, with `@LOOP@` for ours.
    Plugin(&'static str),
    /// Not by us, and why.
    ByHand(&'static str),
}

/// Which folder the file lies in.
#[derive(Debug, Clone, Copy)]
enum Home {
    Worktree,
    /// The repository's main working tree, also for linked ones.
    MainWorktree,
}

/// What most of them have in common: awaited hooks in a file of the working tree, which run without a further step.
const USUAL: TurnHooks = TurnHooks {
    kind: "",
    about: "",
    once: None,
    awaited: true,
    form: Form::Settings(&[]),
    file: "",
    shared: "",
    home: Home::Worktree,
    heard: |_| None,
};

const ROWS: &[TurnHooks] =
    &[claude_code::ROW, codex::ROW, opencode::ROW, gemini::ROW, qwen::ROW, hermes::ROW];

/// Every kind that is known.
pub fn kinds() -> &'static [TurnHooks] {
    ROWS
}

/// The turn hooks of a kind.
pub fn find(kind: &str) -> Option<&'static TurnHooks> {
    ROWS.iter().find(|row| row.kind == kind)
}

/// How a hook calls `loop`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Call {
    /// By this absolute path.
    Program(PathBuf),
    /// By its name, for files that are shared with other machines; nothing happens where there is none.
    ByName,
}

/// How a CLI's hooks stand in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// There are none of ours.
    Missing,
    /// They are there, and call this program.
    Current,
    /// They are there, and call another, or not for every event.
    Other,
}

impl TurnHooks {
    /// Why these cannot be installed by us, and what can be done by hand.
    pub fn by_hand(&self) -> Option<&'static str> {
        match self.form {
            Form::ByHand(why) => Some(why),
            _ => None,
        }
    }

    /// The file that holds them: that of a person's own, or the one that a team shares.
    pub fn path(&self, worktree: &Path, main_worktree: &Path, share: bool) -> PathBuf {
        let folder = match self.home {
            Home::MainWorktree if !share => main_worktree,
            _ => worktree,
        };
        folder.join(if share { self.shared } else { self.file })
    }

    /// Returns the text of a file with these hooks in it; the same text where they are in it already.
    ///
    /// # Errors
    /// Fails with the place where the file cannot be read, or holds something else where hooks belong; and for a
    /// program whose path no hook can name.
    pub fn put(&self, path: &Path, before: Option<&[u8]>, call: &Call) -> Result<Vec<u8>, HookError> {
        match self.form {
            Form::Settings(events) => {
                let (mark, text) = utf8(path, before.unwrap_or_default())?;
                let command = self.command(call)?;
                let text = settings::put(text, events, &command, &|command| self.is_ours(command));
                Ok(format!("{mark}{}", text.map_err(|refusal| unreadable(path, refusal))?).into_bytes())
            }
            Form::Plugin(template) => {
                if before.is_some_and(|before| !is_plugin(template, before)) {
                    let what = "it is no plugin of loop's; move it away, or give it another name".to_owned();
                    return Err(HookError::InTheWay { path: path.to_owned(), what });
                }
                let program = match call {
                    Call::Program(program) => program_text(program)?,
                    Call::ByName => "loop",
                };
                Ok(template.replace("@LOOP@", &settings::quoted(program)).into_bytes())
            }
            Form::ByHand(_) => Ok(before.unwrap_or_default().to_vec()),
        }
    }

    /// Returns the text without these hooks; `None` where nothing would be left of a file.
    ///
    /// # Errors
    /// Fails with the place where the file cannot be read.
    pub fn take(&self, path: &Path, text: &[u8]) -> Result<Option<Vec<u8>>, HookError> {
        match self.form {
            Form::Settings(_) => {
                let (mark, text) = utf8(path, text)?;
                let rest = settings::take(text, &|command| self.is_ours(command));
                let rest = rest.map_err(|refusal| unreadable(path, refusal))?;
                let gone = rest != text && settings::is_bare(&rest);
                Ok((!gone).then(|| format!("{mark}{rest}").into_bytes()))
            }
            Form::Plugin(template) if is_plugin(template, text) => Ok(None),
            Form::Plugin(_) | Form::ByHand(_) => Ok(Some(text.to_vec())),
        }
    }

    /// How these hooks stand in a file's text. A file that cannot be read holds none.
    pub fn standing(&self, path: &Path, text: &[u8], call: &Call) -> Standing {
        if self.put(path, Some(text), call).is_ok_and(|put| put == text) {
            return Standing::Current;
        }
        let stands = match self.form {
            Form::Settings(_) => utf8(path, text).is_ok_and(|(_, text)| {
                settings::commands(text, &|command| self.is_ours(command))
                    .is_ok_and(|found| !found.is_empty())
            }),
            Form::Plugin(template) => is_plugin(template, text),
            Form::ByHand(_) => false,
        };
        if stands { Standing::Other } else { Standing::Missing }
    }

    /// What a shell runs.
    fn command(&self, call: &Call) -> Result<String, HookError> {
        let kind = self.kind;
        match call {
            Call::Program(program) => {
                let program = quote(program_text(program)?.as_bytes());
                Ok(format!("{} turn-hook {kind} || :", String::from_utf8_lossy(&program)))
            }
            Call::ByName => Ok(format!("{BY_NAME} turn-hook {kind} || :")),
        }
    }

    /// Whether a command is one that [`TurnHooks::command`] made, for whatever program.
    fn is_ours(&self, command: &str) -> bool {
        let program = command
            .strip_suffix(" || :")
            .and_then(|command| command.strip_suffix(self.kind))
            .and_then(|command| command.strip_suffix(" turn-hook "));
        program.is_some_and(|program| {
            program == BY_NAME || (program.starts_with("'/") && program.ends_with('\'') && program.len() > 2)
        })
    }
}

const BY_NAME: &str = "command -v loop >/dev/null 2>&1 && loop";

/// The text of a program's path.
fn program_text(program: &Path) -> Result<&str, HookError> {
    let why = match program.to_str() {
        None => "its path is not UTF-8, and settings files are",
        Some(_) if !program.is_absolute() => "it is not absolute, and a hook runs in other folders",
        Some(text) if text.contains(['\n', '\r']) => "it holds a line break",
        Some(text) => return Ok(text),
    };
    Err(HookError::Binary { path: program.to_owned(), why })
}

/// Whether a file begins as the plugin does.
fn is_plugin(template: &str, text: &[u8]) -> bool {
    let first = template.lines().next().unwrap_or_default();
    text.split(|byte| *byte == b'\n').next().is_some_and(|line| line.trim_ascii_end() == first.as_bytes())
}

/// The text of a settings file, its byte order mark apart.
fn utf8<'b>(path: &Path, bytes: &'b [u8]) -> Result<(&'static str, &'b str), HookError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        HookError::Settings { path: path.to_owned(), line, column: 1, why: "it is not UTF-8".to_owned() }
    })?;
    Ok(match text.strip_prefix('\u{feff}') {
        Some(rest) => ("\u{feff}", rest),
        None => ("", text),
    })
}

fn unreadable(path: &Path, refusal: settings::Refusal) -> HookError {
    let settings::Refusal { line, column, why } = refusal;
    HookError::Settings { path: path.to_owned(), line, column, why }
}

#[cfg(test)]
mod tests;
