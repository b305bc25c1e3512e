//! Whole files, as `loop check` sees them: no repository, no facts.

use std::collections::BTreeMap;

use crate::decide::decide;
use crate::report::Report;
use crate::{Config, Facts, status};

const FOUR: &str = "agents:
  CC: {kind: claude-code}
  Codex: {kind: codex}
  OC: {kind: opencode, skip: true}
  Helper: {kind: gemini}
rotation: [CC, Codex, OC]
planner: Hermes
people: [Dana]
verify: make test
";

/// The state and the decision as `running, wake CC, turn 1`.
fn check(config: &str, text: &str, expected: &str) {
    let config = Config::parse(config, "loop.yaml", &BTreeMap::new()).unwrap();
    let status = status::parse(text.as_bytes(), &config.cast()).unwrap();
    let decided = decide(&status, &config, &Facts::default());
    let report = Report::new(&status, &decided, |_| None);
    let decision = report.decision.unwrap();
    let who = decision.agent.map(|agent| format!(" {agent}")).unwrap_or_default();
    let mut told = format!("{}, {}{who}, turn {}", report.state, decision.kind, decision.turn);
    for diagnostic in &report.diagnostics {
        told.push_str(&format!(", {}:{}", diagnostic.line, diagnostic.code.as_str()));
    }
    assert_eq!(told, expected, "{text}");
}

#[test]
fn files_are_decided() {
    for (text, expected) in [
        ("", "running, wake CC, turn 1"),
        ("# A task\n\nTexts.\n", "running, wake CC, turn 1"),
        ("## Hermes: opened\n", "running, wake CC, turn 2"),
        ("## cc: done\n", "running, wake Codex, turn 2"),
        ("## CC: done\n\n## Codex: looked\n\nREVIEW-PASS\n", "passed, passed, turn 3"),
        ("## CC: done\n\n## Codex: looked\n\nREVIEW-PASS `3f9c2ab`\n", "passed, passed, turn 3"),
        ("## CC: done\n\n## Codex: looked\n\nnot REVIEW-PASS yet\n", "running, wake CC, turn 3, 5:mention"),
        ("## CC: done\n\nREVIEW-BLOCKED: no key\n", "blocked, held, turn 2"),
        ("## CC: done\n\nREVIEW-BLOCKED: no key\n\n## Dana: here\n", "running, wake CC, turn 3"),
        ("## CC -> Dana: which one?\n", "held, held, turn 2"),
        ("## CC → Helper: draw it\n\n## Helper: drawn\n", "running, wake Codex, turn 3"),
        ("## CC -> OC: it is skipped\n", "running, wake Codex, turn 2"),
        ("## CC: done\n\n## Codex: yes\n\nREVIEW-PASS\n\n## Dana: one more\n", "running, wake CC, turn 4"),
        ("## Dana: mine\n\nREVIEW-PASS\n", "running, wake CC, turn 2, 3:mention"),
    ] {
        check(FOUR, text, expected);
    }
}

#[test]
fn policies_are_decided() {
    let both = "## CC: done\n\nREVIEW-PASS\n\n## Codex: looked\n\nREVIEW-PASS\n";
    for (pass, text, expected) in [
        ("any", "## CC: REVIEW-PASS\n", "passed, passed, turn 2"),
        ("other", "## CC: REVIEW-PASS\n", "running, wake Codex, turn 2, 1:pass-not-enough"),
        ("other", both, "passed, passed, turn 3"),
        ("all", "## CC: REVIEW-PASS\n", "running, wake Codex, turn 2, 1:pass-not-enough"),
        ("all", both, "passed, passed, turn 3"),
        ("[Codex]", "## CC: REVIEW-PASS\n", "running, wake Codex, turn 2, 1:pass-not-enough"),
        ("[Codex]", both, "passed, passed, turn 3"),
    ] {
        check(&format!("{FOUR}pass: {pass}\n"), text, expected);
    }
}

#[test]
fn a_file_of_many_sections_is_decided_in_one_go() {
    let config = format!("{FOUR}pass: all\n");
    let text = "## CC: REVIEW-PASS 3f9c2ab\n\n## Codex: no\n\n".repeat(20_000);
    check(&config, &text, "running, wake CC, turn 40001");
}
