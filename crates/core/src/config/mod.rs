//! `loop.yaml`: who takes part, in what order, and what ends the loop.
//!
//! The file is input: a commit can change it, and a stranger's repository can bring it. So it is read word by word
//! from a small tree that knows where everything stands ([`Config::parse`]), every mistake is shown with its line
//! and the nearest right word ([`ConfigError`]), no string in it is ever given to a shell ([`command`]), and what
//! it could do is shown before it holds ([`Config::danger`], [`hash`]).

pub(crate) mod agents;
mod approval;
pub mod command;
pub mod edit;
pub(crate) mod error;
mod layout;
mod limits;
mod order;
pub(crate) mod paths;
mod read;
mod render;
#[cfg(test)]
mod tests;
pub(crate) mod tree;

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::cast::Cast;
use crate::name::Name;
use crate::profile::Profile;
use crate::rotation::Rotation;

pub use approval::hash;
pub use command::{Fill, filled};
pub use error::ConfigError;
pub use render::render_new;

/// The transports that an agent may name. (What each one is lives in a crate above this one, which holds its
/// table against this list.)
pub const TRANSPORTS: [&str; 5] = ["tmux", "exec", "command", "wait", "person"];

/// A checked `loop.yaml`.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The agents in the order of the file.
    pub agents: Vec<Agent>,
    /// Who comes after whom.
    pub rotation: Rotation,
    /// The planner.
    pub planner: Option<Name>,
    /// People who may write sections.
    pub people: Vec<Name>,
    /// Who may end the loop.
    pub pass: PassPolicy,
    /// When to stop and ask a person.
    pub limits: Limits,
    /// The archive folder, relative to the repository (`project-archive`).
    pub archive: String,
    /// A command that must succeed before a pass counts: program and arguments.
    pub verify: Option<Vec<String>>,
    /// A command run once in a new worktree: program and arguments.
    pub setup: Option<Vec<String>>,
    /// Seconds after which the next agent is woken although the author has not been seen to settle (30).
    pub handover_grace: u64,
    /// Template of an agent's commit subject (`{name}: {summary}`).
    pub commit_subject: String,
    /// The status file, relative to the repository (`STATUS.md`).
    pub status_file: String,
    /// Further requirements of a pass, kept as written (`pass_needs`).
    pub pass_needs: Vec<String>,
    /// How code travels between machines, kept as written (`sync`).
    pub sync: Option<String>,
}

/// One entry of `agents:`.
#[derive(Debug, Clone, PartialEq)]
pub struct Agent {
    /// Its name.
    pub name: Name,
    /// The kind of CLI (`claude-code`, `codex`, …, `generic`).
    pub kind: String,
    /// Left out of the rotation for now.
    pub skip: bool,
    /// Transports to try, in order; empty: the default (`tmux` where there is one, else `exec`).
    pub transport: Vec<String>,
    /// Program and arguments instead of the profile's, with `{name}`, `{text}`, `{repo}`, `{session}` unfilled.
    pub command: Option<Vec<String>>,
    /// Environment variables added to the agent's.
    pub env: BTreeMap<String, String>,
    /// What the agent may do without asking.
    pub permissions: Permissions,
    /// What happens at a usage limit.
    pub on_limit: OnLimit,
    /// `reviewer`: `loop commit` refuses files other than STATUS.md without `--fix`.
    pub role: Option<String>,
    /// The kind's profile with this agent's overrides applied.
    pub profile: Profile,
}

/// Who may end the loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PassPolicy {
    /// The newest section passes.
    Any,
    /// And another agent has had a turn, and the newest change was not made by the passing agent.
    Other,
    /// Every agent's newest section passes, and nothing changed since the first of those passes.
    All,
    /// The newest sections of all of these pass, with the same rule.
    Names(Vec<Name>),
}

/// As it stands in `loop.yaml`.
impl fmt::Display for PassPolicy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => formatter.write_str("any"),
            Self::Other => formatter.write_str("other"),
            Self::All => formatter.write_str("all"),
            Self::Names(names) => {
                let names: Vec<&str> = names.iter().map(Name::as_str).collect();
                write!(formatter, "[{}]", names.join(", "))
            }
        }
    }
}

/// When to stop and ask a person; `None` is off.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Limits {
    /// Rounds (default 8).
    pub rounds: Option<u32>,
    /// Working hours (default 8).
    pub hours: Option<f64>,
    /// Working minutes of one turn (default 60).
    pub turn_minutes: Option<f64>,
    /// Tokens (default off).
    pub tokens: Option<u64>,
    /// Whole rounds without progress before the loop is held (default 2).
    pub no_progress: Option<u32>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            rounds: Some(8),
            hours: Some(8.0),
            turn_minutes: Some(60.0),
            tokens: None,
            no_progress: Some(2),
        }
    }
}

/// What an agent may do without asking.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Permissions {
    /// Every tool asks.
    Ask,
    /// Editing, git, loop's own commands and the verify command.
    #[default]
    Edits,
    /// Everything.
    All,
}

impl Permissions {
    /// The word for it in `loop.yaml`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Edits => "edits",
            Self::All => "all",
        }
    }
}

/// What happens at a usage limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OnLimit {
    /// Wait until it is over.
    #[default]
    Wait,
    /// Skip the agent until it is over.
    Skip,
    /// Hold the loop.
    Hold,
}

impl Config {
    /// Reads and checks a `loop.yaml`. `kinds` are further kinds from the user's own settings.
    ///
    /// # Errors
    /// Fails with the place, the line and the nearest right word for YAML that cannot be read, unknown keys and
    /// names, duplicate keys, names that differ only by case, and a rotation that nobody can follow.
    pub fn parse(text: &str, file: &str, kinds: &BTreeMap<String, Profile>) -> Result<Self, ConfigError> {
        read::config(&tree::Source { file, text, ours: false }, kinds)
    }

    /// The names that may write sections.
    pub fn cast(&self) -> Cast {
        Cast {
            agents: self.agents.iter().map(|agent| agent.name.clone()).collect(),
            planner: self.planner.clone(),
            people: self.people.clone(),
        }
    }

    /// The entry of `name`.
    pub fn agent(&self, name: &Name) -> Option<&Agent> {
        self.agents.iter().find(|agent| agent.name == *name)
    }
}
