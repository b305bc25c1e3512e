//! What `loop turn NAME` prints: what one agent needs for its turn now, and nothing more.
//!
//! [`Brief::new`] takes what STATUS.md and the decision say; the commits, the diff and what is left over from an
//! interrupted turn come from the repository and are put beside it. [`Brief::render`] makes the text for the agent.
//! Everything in it that somebody wrote is cut to a bounded size and made harmless ([`crate::plain`]).

mod cut;
mod render;
#[cfg(test)]
mod tests;

use serde::Serialize;

use crate::config::{Config, PassPolicy};
use crate::decide::{Decided, Decision, Facts, rounds};
use crate::diagnostic::Diagnostic;
use crate::name::Name;
use crate::report::verdict_word;
use crate::status::{Status, Turn};
use crate::task;

pub use cut::{Cut, cut};

/// As many lines of a diff are shown.
pub const DIFF_LINES: usize = 400;
/// As many bytes of a diff are shown.
pub const DIFF_BYTES: usize = 32 * 1024;
/// As many sections are shown with their bodies, the newest.
const SECTIONS: usize = 6;
const BODY_LINES: usize = 120;
const BODY_BYTES: usize = 8 * 1024;
const TASK_LINES: usize = 200;
const TASK_BYTES: usize = 16 * 1024;
/// As many commits and files are listed.
const LISTED: usize = 50;

/// One agent's turn in words.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Brief {
    /// The agent.
    pub agent: Name,
    /// Whether it is this agent's turn; if not, there is nothing to do (exit code 3).
    pub your_turn: bool,
    /// `running`, `passed`, `blocked` or `held`.
    pub state: &'static str,
    /// The number of the turn to come.
    pub turn: usize,
    /// Whose turn it is, also while something holds the loop.
    pub whose: Option<Name>,
    /// Why it is this agent's turn, or what holds or ended the loop.
    pub reason: String,
    /// What a person can do while the loop is held.
    pub next: Option<String>,
    /// The round.
    pub round: Round,
    /// The task: what stands above the sections, without comments.
    pub task: Cut,
    /// Path of the status file.
    pub status_file: String,
    /// The newest sections, oldest first: those since this agent's own last one, that one included.
    pub sections: Vec<Section>,
    /// How many older sections are not shown.
    pub older: usize,
    /// What was pointed out in this agent's own last section.
    pub about_your_last: Vec<Diagnostic>,
    /// Commits since this agent's own last turn, oldest first.
    pub commits: Vec<Commit>,
    /// What changed since then.
    pub changes: Option<Changes>,
    /// What is left over from a turn of this agent that ended without a section.
    pub unfinished: Unfinished,
    /// Who may end the loop, in a sentence.
    pub pass: String,
    /// Whether this agent is set up as a reviewer.
    pub reviewer: bool,
    /// The steps of a turn, for an agent that was called in plain words; one that was called by its skill has them.
    pub steps: Option<String>,
}

/// The round under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Round {
    /// Its number, from 1.
    pub n: u32,
    /// How many there may be.
    pub of: Option<u32>,
}

/// One section as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Section {
    /// Its number.
    pub n: usize,
    /// Its author.
    pub agent: Name,
    /// Its target.
    pub to: Option<Name>,
    /// Its summary.
    pub summary: String,
    /// `pass`, `blocked` or null, as written.
    pub verdict: Option<&'static str>,
    /// Its commit, where known.
    pub commit: Option<String>,
    /// Its line in the status file, from 1.
    pub line: usize,
    /// What stands below the heading.
    pub body: Cut,
}

/// One commit as it is listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Commit {
    /// Its id.
    pub id: String,
    /// Who made it: the agent of its trailer, else the git author.
    pub by: String,
    /// Its subject.
    pub subject: String,
}

/// What changed between two commits, the status file left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Changes {
    /// The older commit.
    pub from: String,
    /// The newer commit.
    pub to: String,
    /// Every changed file.
    pub files: Vec<File>,
    /// The unified diff, or as much of it as fits.
    pub diff: Cut,
}

/// How much of one file changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct File {
    /// Its path.
    pub path: String,
    /// Lines added.
    pub added: usize,
    /// Lines removed.
    pub removed: usize,
    /// Whether it is no text.
    pub binary: bool,
}

/// What is left over from a turn that ended without a section.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Unfinished {
    /// Files changed since that turn began and not committed.
    pub files: Vec<String>,
    /// What git said when it refused the commit.
    pub refused: Option<String>,
}

impl Brief {
    /// What STATUS.md and the decision say to `agent`. Commits, changes, leftovers and steps are empty.
    pub fn new(status: &Status, config: &Config, facts: &Facts, decided: &Decided, agent: &Name) -> Self {
        let turns = &status.turns;
        let own = turns.iter().rposition(|turn| turn.author == *agent);
        let from = own.unwrap_or(0).max(turns.len().saturating_sub(SECTIONS));
        let next = match &decided.decision {
            Decision::Held { next, .. } => Some(next.clone()),
            _ => None,
        };
        let rounds = rounds(status, config, facts);
        let round = Round { n: rounds.current(), of: rounds.of };
        let section = |turn: &Turn| Section {
            n: turn.n,
            agent: turn.author.clone(),
            to: turn.to.clone(),
            summary: turn.summary.clone(),
            verdict: turn.verdict.as_ref().map(verdict_word),
            commit: facts.turns.get(&turn.n).and_then(|known| known.commit.clone()),
            line: turn.line,
            body: cut(text(status, &turn.body).trim_matches(['\n', '\r']), BODY_LINES, BODY_BYTES),
        };
        Self {
            agent: agent.clone(),
            your_turn: matches!(&decided.decision, Decision::Wake { agent: woken, .. } if woken == agent),
            state: decided.decision.state(),
            turn: decided.decision.turn(),
            whose: decided.due.clone(),
            reason: decided.decision.reason().to_owned(),
            next,
            round,
            task: cut(&task::task(status), TASK_LINES, TASK_BYTES),
            status_file: config.status_file.clone(),
            sections: turns[from..].iter().map(section).collect(),
            older: from,
            about_your_last: own.map(|own| about(status, decided, own)).unwrap_or_default(),
            commits: Vec::new(),
            changes: None,
            unfinished: Unfinished::default(),
            pass: pass(&config.pass),
            reviewer: config.agent(agent).and_then(|agent| agent.role.as_deref()) == Some("reviewer"),
            steps: None,
        }
    }
}

impl Changes {
    /// Cuts `diff` to what an agent is shown.
    pub fn new(from: &str, to: &str, files: Vec<File>, diff: &str) -> Self {
        Self { from: from.to_owned(), to: to.to_owned(), files, diff: cut(diff, DIFF_LINES, DIFF_BYTES) }
    }
}

/// What was pointed out between the heading of the section at `own` and the next section.
fn about(status: &Status, decided: &Decided, own: usize) -> Vec<Diagnostic> {
    let from = status.turns[own].line;
    let to = status.turns.get(own + 1).map_or(usize::MAX, |next| next.line);
    let all = status.diagnostics.iter().chain(&decided.diagnostics);
    all.filter(|diagnostic| (from..to).contains(&diagnostic.line)).cloned().collect()
}

/// A range of the text; empty where the range is none of this text.
fn text<'a>(status: &'a Status, range: &std::ops::Range<usize>) -> &'a str {
    status.text.get(range.clone()).unwrap_or_default()
}

fn pass(policy: &PassPolicy) -> String {
    match policy {
        PassPolicy::Any => "a pass of any agent ends the loop".to_owned(),
        PassPolicy::Other => {
            "a pass ends the loop when the newest change was made by somebody else and another agent has had a turn"
                .to_owned()
        }
        PassPolicy::All => "the loop ends when every agent has passed the same state".to_owned(),
        PassPolicy::Names(names) => {
            let names: Vec<&str> = names.iter().map(Name::as_str).collect();
            format!("the loop ends when all of these have passed the same state: {}", names.join(", "))
        }
    }
}
