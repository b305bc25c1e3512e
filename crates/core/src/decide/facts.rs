//! What git, the ledger and the clock add to STATUS.md.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::decide::Hold;
use crate::history::Damage;
use crate::name::Name;

/// What git, the ledger and the clock add to STATUS.md. [`Facts::default`] knows nothing: no file changed, no
/// time passed, every agent counts as woken, nothing holds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts {
    /// Whether these facts come from a repository. Without one no limit and no no-progress rule applies, the
    /// commit that a pass names is not looked for, and `verify`, which nobody can run, is not waited for.
    pub repository: bool,
    /// Every commit of the loop, oldest first, to find the one that a pass names. Empty: told from the commits of
    /// the turns and changes alone.
    pub commits: Vec<String>,
    /// Facts of single turns, by their number. A missing turn is unknown.
    pub turns: BTreeMap<usize, TurnFacts>,
    /// Every commit of the loop that changed a file other than STATUS.md, oldest first.
    pub changes: Vec<Change>,
    /// Agents left out by a person (`loop skip`), besides `skip: true` in the configuration.
    pub skipped: BTreeSet<Name>,
    /// A person's pause, with the reason in their words.
    pub paused: Option<String>,
    /// Working minutes since the start, or since the last `loop resume`.
    pub minutes: Option<f64>,
    /// Working minutes that the agent due now has had for its turn, since it was woken or since the last `loop
    /// resume`, whichever is later.
    pub turn_minutes: Option<f64>,
    /// Tokens used since the start or the last `loop resume`, where the agents tell them.
    pub tokens: Option<u64>,
    /// The last `loop resume`.
    pub resumed: Option<Resume>,
    /// A person's `loop accept`.
    pub accepted: Option<Accept>,
    /// What later commits did to earlier sections.
    pub damage: Vec<Damage>,
    /// The commit in which that damage was first seen.
    pub damaged_at: Option<String>,
    /// A reason to hold that the router found outside STATUS.md (an agent that settled twice without a section,
    /// a dead delivery, a changed `loop.yaml`), in words, with what a person can do.
    pub stopped: Option<Stopped>,
}

/// What is known of one turn beside its text.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TurnFacts {
    /// The commit in which the section first stood in its present form.
    pub commit: Option<String>,
    /// Whether the router had woken this agent for this turn; `None`: unknown, counts as woken.
    pub woken: Option<bool>,
    /// Id of the tree at the section's commit, STATUS.md left out: equal ids, equal code.
    pub tree: Option<String>,
    /// What the router's own run of `verify` at this turn's commit said.
    pub verify: Option<Verify>,
    /// Whether a pass in this turn ended the loop, by the decision on record. History that is rewritten
    /// afterwards (a rebase renames every commit) then does not make the pass one for an unknown commit.
    pub ended: bool,
}

/// Result of a verify run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verify {
    /// The command has not finished yet.
    Running,
    /// The command succeeded.
    Passed,
    /// The command failed; the text says how (`exit 1: 2 tests failed`).
    Failed(String),
}

/// A commit that changed a file other than STATUS.md.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The full commit id.
    pub commit: String,
    /// The turn in which it was made: the first section whose commit is this one or a later one; one more than
    /// the newest turn for changes that no section follows yet.
    pub turn: usize,
    /// Who made it.
    pub by: Who,
    /// Whether everything it changed is a file that loop itself wrote for the start of a loop (`loop.yaml`, skills).
    pub set_up: bool,
}

/// Who made a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Who {
    /// An agent, by the commit's trailer or by the section that it or the next section's commit adds.
    Agent(Name),
    /// Somebody else, in words (`Dana`, `a person`).
    Person(String),
}

impl fmt::Display for Who {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Agent(name) => name.fmt(formatter),
            Self::Person(words) => formatter.pad(words),
        }
    }
}

/// A `loop resume`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Resume {
    /// How many turns there were then: limits and no-progress count from here, and a block or a hand-over to a
    /// person at or before this turn is answered.
    pub after_turn: usize,
    /// To whom the turn goes instead of to whoever was due (`--to NAME`); holds until the next turn.
    pub to: Option<Name>,
    /// Rounds granted instead of `limits.rounds`.
    pub rounds: Option<u32>,
    /// Hours granted instead of `limits.hours`.
    pub hours: Option<f64>,
}

/// A `loop accept`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accept {
    /// How many turns there were then; a later turn reopens the loop.
    pub after_turn: usize,
    /// Who accepted.
    pub by: String,
    /// Why, in their words.
    pub why: Option<String>,
    /// The commit that was accepted.
    pub commit: Option<String>,
}

/// A reason to hold from outside STATUS.md.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stopped {
    /// Which rule stopped the loop.
    pub why: Hold,
    /// What happened, for example `CC stopped without committing (4 files changed)`.
    pub reason: String,
    /// What a person can do.
    pub next: String,
}
