//! The JSON that `loop check --json` and `loop status --json` share.

use serde::Serialize;

use crate::decide::{Decided, Decision, Hold};
use crate::diagnostic::Diagnostic;
use crate::status::{Status, Verdict};

/// The shared object. [`Report::idle`] when there is no STATUS.md.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// `running`, `passed`, `blocked`, `held` or `idle`.
    pub state: &'static str,
    /// The sections.
    pub turns: Vec<ReportTurn>,
    /// What must happen now; null when idle.
    pub decision: Option<ReportDecision>,
    /// What is worth pointing out, in line order.
    pub diagnostics: Vec<Diagnostic>,
}

/// One section on the wire.
#[derive(Debug, Clone, Serialize)]
pub struct ReportTurn {
    /// Its number, from 1.
    pub n: usize,
    /// Its author.
    pub agent: String,
    /// Its target.
    pub to: Option<String>,
    /// Its summary.
    pub summary: String,
    /// `"pass"`, `"blocked"` or null, as written, counted or not.
    pub verdict: Option<&'static str>,
    /// Its line, from 1.
    pub line: usize,
    /// Its commit, where known.
    pub commit: Option<String>,
}

/// The decision on the wire.
#[derive(Debug, Clone, Serialize)]
pub struct ReportDecision {
    /// `wake`, `passed` or `held`.
    pub kind: &'static str,
    /// Whom to wake; null unless it is a wake.
    pub agent: Option<String>,
    /// The number of the turn to come.
    pub turn: usize,
    /// Why.
    pub reason: String,
}

impl Report {
    /// What is said when there is no STATUS.md.
    pub fn idle() -> Self {
        Self { state: "idle", turns: Vec::new(), decision: None, diagnostics: Vec::new() }
    }

    /// Puts a read STATUS.md and its decision on the wire. `commit` gives a turn's commit where one is known.
    pub fn new(status: &Status, decided: &Decided, commit: impl Fn(usize) -> Option<String>) -> Self {
        let turns = status
            .turns
            .iter()
            .map(|turn| ReportTurn {
                n: turn.n,
                agent: turn.author.to_string(),
                to: turn.to.as_ref().map(ToString::to_string),
                summary: turn.summary.clone(),
                verdict: turn.verdict.as_ref().map(|verdict| match verdict {
                    Verdict::Pass { .. } => "pass",
                    Verdict::Blocked { .. } => "blocked",
                }),
                line: turn.line,
                commit: commit(turn.n),
            })
            .collect();
        let mut diagnostics: Vec<Diagnostic> =
            status.diagnostics.iter().chain(&decided.diagnostics).cloned().collect();
        diagnostics.sort_by_key(|diagnostic| diagnostic.line);
        let (state, decision) = match &decided.decision {
            Decision::Wake { agent, turn, reason } => (
                "running",
                ReportDecision {
                    kind: "wake",
                    agent: Some(agent.to_string()),
                    turn: *turn,
                    reason: reason.clone(),
                },
            ),
            Decision::Passed { turn, reason, .. } => (
                "passed",
                ReportDecision { kind: "passed", agent: None, turn: *turn, reason: reason.clone() },
            ),
            Decision::Held { why, turn, reason, .. } => (
                if *why == Hold::Blocked { "blocked" } else { "held" },
                ReportDecision { kind: "held", agent: None, turn: *turn, reason: reason.clone() },
            ),
        };
        Self { state, turns, decision: Some(decision), diagnostics }
    }
}
