//! What we know of one kind of agent CLI, as data.
//!
//! A kind is one file in `profiles/` and one row in [`kinds`]: how to start the CLI, how to wake it, and how its
//! screen reads. A user adds a kind, or overrides fields of one, in the same words: a file of their own
//! ([`Profile::parse`]), or an agent's entry in `loop.yaml`.

mod read;
mod records;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::config::ConfigError;
use crate::config::Permissions;

pub(crate) use read::{FIELDS, field, in_order};
pub use records::{Records, RecordsFormat, TimeUnit};

/// One kind that is built in.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// The kind's name (`claude-code`).
    pub kind: &'static str,
    /// What it is, in one line.
    pub about: &'static str,
    /// Usual names of such an agent, in lower case: an agent so named needs no `kind`.
    pub usual: &'static [&'static str],
    yaml: &'static str,
}

const KINDS: &[Row] = &[
    Row {
        kind: "claude-code",
        about: "Claude Code",
        usual: &["cc", "claude", "claude-code", "claudecode"],
        yaml: include_str!("profiles/claude-code.yaml"),
    },
    Row { kind: "codex", about: "Codex CLI", usual: &["codex"], yaml: include_str!("profiles/codex.yaml") },
    Row {
        kind: "opencode",
        about: "OpenCode",
        usual: &["opencode", "open-code"],
        yaml: include_str!("profiles/opencode.yaml"),
    },
    Row {
        kind: "gemini",
        about: "Gemini CLI",
        usual: &["gemini", "gemini-cli"],
        yaml: include_str!("profiles/gemini.yaml"),
    },
    Row {
        kind: "qwen",
        about: "Qwen Code",
        usual: &["qwen", "qwen-code"],
        yaml: include_str!("profiles/qwen.yaml"),
    },
    Row { kind: "hermes", about: "Hermes", usual: &["hermes"], yaml: include_str!("profiles/hermes.yaml") },
    Row {
        kind: "human",
        about: "a person, woken by a notification",
        usual: &["human"],
        yaml: include_str!("profiles/human.yaml"),
    },
    Row {
        kind: "generic",
        about: "any program, with `command`",
        usual: &[],
        yaml: include_str!("profiles/generic.yaml"),
    },
    Row {
        kind: "scripted",
        about: "the scripted agents of the demo and the tests",
        usual: &[],
        yaml: include_str!("profiles/scripted.yaml"),
    },
];

/// The files of the table, each read when it is first asked for. A test reads every one and compiles its
/// expressions, so none is missing here.
static BUILTIN: [OnceLock<Option<Profile>>; KINDS.len()] = [const { OnceLock::new() }; KINDS.len()];

/// Returns the kinds that are built in.
pub fn kinds() -> &'static [Row] {
    KINDS
}

/// Returns the profile of a kind that is built in.
pub fn builtin(kind: &str) -> Option<Profile> {
    let place = KINDS.iter().position(|row| row.kind == kind)?;
    let read = || read::whole(KINDS[place].yaml, kind, Some(&Profile::empty())).ok();
    BUILTIN[place].get_or_init(read).clone()
}

/// Returns the kind that an agent of this name usually is (`CC` -> `claude-code`).
pub fn usual_kind(name: &str) -> Option<&'static str> {
    let key = crate::name::fold(name);
    KINDS.iter().find(|row| row.usual.contains(&key.as_str())).map(|row| row.kind)
}

/// One kind of agent CLI. The built-in ones stand in `profiles/*.yaml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// The kind's name, for example `claude-code`.
    pub kind: String,
    /// Version of this data file.
    pub version: u32,
    /// CLI versions on which it was seen to hold.
    #[serde(default)]
    pub seen_on: Vec<String>,
    /// One line for `loop agents profiles`.
    #[serde(default)]
    pub about: String,
    /// Program and arguments started in a window; empty: must come from `command`.
    #[serde(default)]
    pub start: Vec<String>,
    /// The same for a new conversation whose id loop chooses, a UUID that is filled in for `{session}`; empty: the
    /// CLI chooses.
    #[serde(default)]
    pub start_as: Vec<String>,
    /// The same for a window that reopens the conversation `{session}`; empty: it cannot.
    #[serde(default)]
    pub resume: Vec<String>,
    /// Variables set for the agent.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Variables set by permission (`ask`, `edits`, `all`), for a CLI that takes its permissions from there.
    /// `{name}`, `{repo}`, `{git_dir}` and `{verify}` are filled in: into JSON (what begins with `{`) as the inside
    /// of a JSON text, and as nothing where there is none.
    #[serde(default)]
    pub permission_env: BTreeMap<String, BTreeMap<String, String>>,
    /// Variables of the user's that the agent may have.
    #[serde(default)]
    pub pass_env: Vec<String>,
    /// The transports that reach it, in order of preference, where its entry names none; empty: whatever is there.
    #[serde(default)]
    pub transport: Vec<String>,
    /// The text that wakes it; `{name}` is the recipient's name. One line.
    pub invoke: String,
    /// How text is put into the composer.
    #[serde(default)]
    pub text: TextMethod,
    /// Milliseconds between text and submit key.
    #[serde(default = "default_settle_ms")]
    pub settle_ms: u64,
    /// tmux key name that submits (`Enter`, `Tab`).
    #[serde(default = "default_submit")]
    pub submit: String,
    /// How its screen reads.
    #[serde(default)]
    pub signs: Signs,
    /// Folders, relative to the repository, where its CLI looks for skills; the first is written to.
    #[serde(default)]
    pub skills: Vec<String>,
    /// Program and arguments of one headless turn; `{text}`, `{name}`, `{repo}`, `{session}` are filled in.
    #[serde(default)]
    pub headless: Vec<String>,
    /// The same for a further turn of a known conversation.
    #[serde(default)]
    pub headless_resume: Vec<String>,
    /// Regular expression whose first group is the conversation's id in the headless output.
    #[serde(default)]
    pub conversation: Option<String>,
    /// Launch flags by permission (`ask`, `edits`, `all`), appended to `start` and `headless`.
    #[serde(default)]
    pub permissions: BTreeMap<String, Vec<String>>,
    /// Program and arguments in front of a command that is to run as the agent's own shell tool runs one, in its
    /// sandbox; the flags of its permissions stand where `{flags}` stands. Empty: it has no sandbox of its own.
    #[serde(default)]
    pub sandbox: Vec<String>,
    /// Where its CLI records its conversations.
    #[serde(default)]
    pub records: Option<Records>,
    /// Whose form its turn hooks have (`claude-code`, `codex`, …): what `loop init --turn-hooks` installs.
    #[serde(default)]
    pub turn_hooks: Option<String>,
    /// The dialogs, by the names of their rules, that are answered with the rule's keys while it starts. None is
    /// answered that is not named here.
    #[serde(default)]
    pub answers: Vec<String>,
}

impl Profile {
    /// Reads a profile of the user's own. What it leaves out comes from the kind named by `like`, else from the
    /// built-in kind of the same name, else from `generic`.
    ///
    /// # Errors
    /// Fails with the place for YAML that cannot be read, unknown keys, words that are none, and regular
    /// expressions that do not compile.
    pub fn parse(yaml: &str, file: &str) -> Result<Self, ConfigError> {
        read::whole(yaml, file, None)
    }

    /// Reads the profiles under `profiles:` of the user's settings, whose other keys are not looked at. A profile's
    /// name is its kind.
    ///
    /// # Errors
    /// Fails as [`Self::parse`] does.
    pub fn parse_all(yaml: &str, file: &str) -> Result<BTreeMap<String, Self>, ConfigError> {
        read::all(yaml, file)
    }

    /// The text that wakes the agent `name`, for example `/agent-loop CC`.
    pub fn wake_text(&self, name: &str) -> String {
        self.invoke.replace("{name}", name)
    }

    /// The flags that give the CLI these permissions, with `{git_dir}` and `{verify}` unfilled.
    pub fn flags(&self, permissions: Permissions) -> &[String] {
        self.permissions.get(permissions.word()).map_or(&[], Vec::as_slice)
    }

    /// The variables that give the CLI these permissions, with their placeholders unfilled.
    pub fn variables(&self, permissions: Permissions) -> impl Iterator<Item = (&str, &str)> {
        let variables = self.permission_env.get(permissions.word()).into_iter().flatten();
        variables.map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// A profile that says nothing, from which the built-in files start.
    fn empty() -> Self {
        Self {
            kind: String::new(),
            version: 0,
            seen_on: Vec::new(),
            about: String::new(),
            start: Vec::new(),
            start_as: Vec::new(),
            resume: Vec::new(),
            env: BTreeMap::new(),
            permission_env: BTreeMap::new(),
            pass_env: Vec::new(),
            transport: Vec::new(),
            invoke: String::new(),
            text: TextMethod::default(),
            settle_ms: default_settle_ms(),
            submit: default_submit(),
            signs: Signs::default(),
            skills: Vec::new(),
            headless: Vec::new(),
            headless_resume: Vec::new(),
            conversation: None,
            permissions: BTreeMap::new(),
            sandbox: Vec::new(),
            records: None,
            turn_hooks: None,
            answers: Vec::new(),
        }
    }
}

/// How text is put into the composer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TextMethod {
    /// Bracketed paste.
    #[default]
    Paste,
    /// Key by key.
    Keys,
}

/// How a screen reads. A rule's expression sees its place as one text, lines joined by newlines, trailing white
/// space gone, with `^` and `$` at each line; `\z` is the end. Anchoring a rule there keeps what an agent quotes
/// further up from counting.
///
/// A state holds when any of its rules matches; `limited` and `blocked` are looked at first,
/// then `busy`, then `ready`. What matches nothing is unknown.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signs {
    /// The CLI has started and takes input.
    #[serde(default)]
    pub ready: Vec<Rule>,
    /// It works.
    #[serde(default)]
    pub busy: Vec<Rule>,
    /// It shows a dialog or asks something.
    #[serde(default)]
    pub blocked: Vec<Rule>,
    /// It has met a usage limit.
    #[serde(default)]
    pub limited: Vec<Rule>,
    /// Regular expression of the composer's line; its first group is the draft (empty: the composer is empty). The
    /// lowest line of the screen that matches is the composer. Absent: the composer cannot be read.
    #[serde(default)]
    pub composer: Option<String>,
    /// Regular expression of the lower edge of the box that the CLI draws its composer in. With it, `composer` reads
    /// the inside of that box as one text, its border and what stands beside it cut off; lines that are blank stay.
    #[serde(default)]
    pub edge: Option<String>,
    /// Regular expression of a line that continues the composer's where the CLI broke it; its first group is text.
    #[serde(default)]
    pub wrapped: Option<String>,
    /// Drafts that are placeholders, not text, as regular expressions over the composer's first group.
    #[serde(default)]
    pub placeholder: Vec<String>,
    /// How the CLI draws words into its empty composer that nobody typed: `dim`, `grey`, or a colour's number in the
    /// palette of 256. A draft of which every character is drawn so is none. Empty: whatever stands there is a draft.
    #[serde(default)]
    pub hints: Vec<String>,
    /// How the CLI shows what it was told, any one of these: `{text}` is the wake's text, `{name}` the agent's name. An
    /// agent that works without showing it anew was not seen to take our text. Empty: the CLI need not show it.
    #[serde(default)]
    pub told: Vec<String>,
}

/// One sign on the screen.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Where to look.
    #[serde(rename = "in", default)]
    pub place: Place,
    /// Regular expression.
    pub matches: String,
    /// What it means, for a person (`asks whether to trust the folder`).
    #[serde(default)]
    pub says: String,
    /// What a person presses, where it is a dialog.
    #[serde(default)]
    pub press: String,
    /// The dialog's name in [`Profile::answers`] (`trust`); empty: only a person answers it.
    #[serde(default)]
    pub name: String,
    /// The keys, as tmux names them, that answer it where the user says so.
    #[serde(default)]
    pub keys: Vec<String>,
}

/// Where a rule looks. Lines that are blank at the end of the screen do not count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// The pane's title.
    Title,
    /// The last eight lines of the visible screen that are not blank.
    #[default]
    Bottom,
    /// Anywhere on the visible screen.
    Screen,
}

fn default_settle_ms() -> u64 {
    300
}

fn default_submit() -> String {
    "Enter".to_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn the_folder_and_the_table_hold_the_same_kinds() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/profiles");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .map(|file| file.strip_suffix(".yaml").unwrap().to_owned())
            .collect();
        let mut rows: Vec<&str> = kinds().iter().map(|row| row.kind).collect();
        files.sort();
        rows.sort_unstable();
        assert_eq!(files, rows);
    }

    #[test]
    fn every_built_in_kind_is_read() {
        for row in kinds() {
            let read = read::whole(row.yaml, row.kind, Some(&Profile::empty()));
            let profile = read.unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(profile.kind, row.kind);
            assert_eq!(profile.about, row.about);
            assert_eq!(builtin(row.kind), Some(profile.clone()));
            // Reading them does not compile their expressions: they are compiled here.
            crate::screen::CompiledSigns::new(&profile.signs)
                .unwrap_or_else(|error| panic!("{}: {error}", row.kind));
            if let Some(pattern) = &profile.conversation {
                crate::screen::checked_regex(pattern, crate::screen::Group::Needed).unwrap();
            }
            assert!(profile.wake_text("CC").contains("CC"), "{}", row.kind);
            assert!(profile.wake_text(&"名".repeat(32)).len() <= 160, "{}", row.kind);
            let stored: Profile = serde_json::from_str(&serde_json::to_string(&profile).unwrap()).unwrap();
            assert_eq!(stored, profile);
        }
    }
}
