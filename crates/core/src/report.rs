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
    /// Which rule holds the loop; null unless it is held.
    pub why: Option<Hold>,
    /// What a person can do; null unless it is held.
    pub next: Option<String>,
    /// Who passed or accepted; null unless it has passed.
    pub by: Option<String>,
    /// The passed commit; null where it is not known, or unless it has passed.
    pub commit: Option<String>,
    /// Whether `verify` succeeded on the passed commit; null unless it has passed.
    pub verified: Option<bool>,
    /// Commits since the passed one that nobody has reviewed; null unless it has passed.
    pub unreviewed: Option<usize>,
}

impl ReportDecision {
    fn new(decision: &Decision) -> Self {
        let said = Self {
            kind: "wake",
            agent: None,
            turn: decision.turn(),
            reason: decision.reason().to_owned(),
            why: None,
            next: None,
            by: None,
            commit: None,
            verified: None,
            unreviewed: None,
        };
        match decision {
            Decision::Wake { agent, .. } => Self { agent: Some(agent.to_string()), ..said },
            Decision::Passed { by, commit, verified, unreviewed, .. } => Self {
                kind: "passed",
                by: Some(by.clone()),
                commit: commit.clone(),
                verified: Some(*verified),
                unreviewed: Some(*unreviewed),
                ..said
            },
            Decision::Held { why, next, .. } => {
                Self { kind: "held", why: Some(*why), next: Some(next.clone()), ..said }
            }
        }
    }
}

/// A verdict on the wire.
pub fn verdict_word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Pass { .. } => "pass",
        Verdict::Blocked { .. } => "blocked",
    }
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
                verdict: turn.verdict.as_ref().map(verdict_word),
                line: turn.line,
                commit: commit(turn.n),
            })
            .collect();
        let mut diagnostics: Vec<Diagnostic> =
            status.diagnostics.iter().chain(&decided.diagnostics).cloned().collect();
        diagnostics.sort_by_key(|diagnostic| diagnostic.line);
        let decision = &decided.decision;
        Self { state: decision.state(), turns, decision: Some(ReportDecision::new(decision)), diagnostics }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::testing::{Scene, id};

    fn json(scene: &Scene) -> String {
        let commit = |n: usize| Some(id("a", n)).filter(|_| n == 1);
        let report = Report::new(&scene.status, &scene.decided(), commit);
        serde_json::to_string(&report).unwrap_or_default()
    }

    #[test]
    fn the_wire_format_stays() {
        let scene = Scene::new("CC Codex", "CC > Codex\nCodex pass\nCC");
        insta::assert_snapshot!(json(&scene), @r#"{"state":"running","turns":[{"n":1,"agent":"CC","to":"Codex","summary":"work 1","verdict":null,"line":10,"commit":"a000000000000000000000000000000000000001"},{"n":2,"agent":"Codex","to":null,"summary":"work 2","verdict":"pass","line":20,"commit":null},{"n":3,"agent":"CC","to":null,"summary":"work 3","verdict":null,"line":30,"commit":null}],"decision":{"kind":"wake","agent":"Codex","turn":4,"reason":"Codex comes after CC in the rotation","why":null,"next":null,"by":null,"commit":null,"verified":null,"unreviewed":null},"diagnostics":[]}"#);
        insta::assert_snapshot!(json(&Scene::new("CC Codex", "CC blocked no key")), @r#"{"state":"blocked","turns":[{"n":1,"agent":"CC","to":null,"summary":"work 1","verdict":"blocked","line":10,"commit":"a000000000000000000000000000000000000001"}],"decision":{"kind":"held","agent":null,"turn":2,"reason":"CC is blocked since turn 1: no key","why":"blocked","next":"answer with `loop say TEXT`, which wakes CC again, or go on with `loop resume [--to NAME]`","by":null,"commit":null,"verified":null,"unreviewed":null},"diagnostics":[]}"#);
        insta::assert_snapshot!(json(&Scene::new("CC Codex", "CC pass")), @r#"{"state":"passed","turns":[{"n":1,"agent":"CC","to":null,"summary":"work 1","verdict":"pass","line":10,"commit":"a000000000000000000000000000000000000001"}],"decision":{"kind":"passed","agent":null,"turn":2,"reason":"passed by CC in turn 1, unverified","why":null,"next":null,"by":"CC","commit":null,"verified":false,"unreviewed":0},"diagnostics":[]}"#);
        let nothing = serde_json::to_string(&Report::idle()).unwrap_or_default();
        assert_eq!(nothing, r#"{"state":"idle","turns":[],"decision":null,"diagnostics":[]}"#);
    }
}
