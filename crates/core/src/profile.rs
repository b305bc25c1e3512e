//! What we know of one kind of agent CLI, as data.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

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
    /// Variables set for the agent.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Variables of the user's that the agent may have.
    #[serde(default)]
    pub pass_env: Vec<String>,
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

/// How a screen reads. A state holds when any of its rules matches; `blocked` and `limited` are looked at first,
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
    /// Drafts that are placeholders, not text, as regular expressions over the composer's first group.
    #[serde(default)]
    pub placeholder: Vec<String>,
}

/// One sign on the screen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
}

/// Where a rule looks.
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
