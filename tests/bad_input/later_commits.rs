//! What later commits do to earlier sections, while the router looks.

use std::process::Stdio;

use loop_testkit::TestRepo;
use serde_json::Value;

use super::bench::{Bench, CAST};

/// A loop that is up, with a section of each agent.
fn two_turns(bench: &Bench) -> TestRepo {
    let repo = bench.up("shop", CAST);
    for (name, summary) in [("CC", "first"), ("Codex", "second")] {
        bench.until_woken(&repo, name);
        bench.run(repo.path(), &["commit", name, "-m", summary]).check(0, &[]);
    }
    bench.until(&repo, "running", "second");
    bench.until_woken(&repo, "CC");
    repo
}

fn commit(repo: &TestRepo, text: &str, message: &str) {
    repo.write("STATUS.md", text);
    repo.git(&["commit", "--quiet", "--all", "-m", message]);
}

#[test]
fn damage_holds_the_loop_names_the_commit_and_mended_it_goes_on() {
    let bench = Bench::new();
    let repo = two_turns(&bench);
    let whole = repo.read("STATUS.md");
    let cases = [
        ("removed", whole.replace("## CC: first\n", ""), "CC"),
        ("given to another", whole.replace("## CC: first", "## Codex: first"), "Codex"),
        ("all new", "# My notes\n\n## CC: I did it all\n\nREVIEW-PASS\n".to_owned(), "CC"),
        ("put in before", whole.replace("## CC: first", "## Codex: earlier\n\n## CC: first"), "Codex"),
    ];
    for (what, text, name) in cases {
        assert_ne!(text, whole, "{what}");
        commit(&repo, &text, what);
        let held = bench.until(&repo, "held", name);
        let reason = held["decision"]["reason"].as_str().unwrap_or_default();
        let you = held["you"].as_str().unwrap_or_default();
        assert!(!reason.is_empty() && you.contains(&repo.tip()[..7]), "{what}: {held}");
        assert!(you.contains("and commit; the loop then goes on by itself"), "{what}: {you}");
        repo.git(&["revert", "--no-edit", "HEAD"]);
        assert_eq!(repo.read("STATUS.md"), whole);
        let mended = bench.until(&repo, "running", "second");
        assert_eq!(mended["decision"]["agent"], "CC", "{what}: {mended}");
    }
}

#[test]
fn an_edited_older_section_is_a_diagnostic_only() {
    let bench = Bench::new();
    let repo = two_turns(&bench);
    let text = repo.read("STATUS.md").replace("## CC: first", "## CC: first, and better");
    commit(&repo, &text, "reworded");
    let status = bench.until(&repo, "running", "and better");
    assert_eq!(status["decision"]["agent"], "CC", "{status}");
    assert!(codes(&status).contains(&"old-body-changed".to_owned()), "{status}");
}

fn codes(status: &Value) -> Vec<String> {
    let diagnostics = status["diagnostics"].as_array().cloned().unwrap_or_default();
    diagnostics.iter().filter_map(|one| Some(one["code"].as_str()?.to_owned())).collect()
}

#[test]
fn sections_of_two_names_in_one_commit_hold_the_loop() {
    let bench = Bench::new();
    let repo = two_turns(&bench);
    let text = repo.read("STATUS.md") + "\n## CC: third\n\n## Codex: I agree with myself\n\nREVIEW-PASS\n";
    commit(&repo, &text, "both at once");
    let held = bench.until(&repo, "held", "Codex");
    let you = held["you"].as_str().unwrap_or_default();
    assert!(you.contains("CC") && you.contains(&repo.tip()[..7]), "{held}");
}

#[test]
fn a_pass_by_an_agent_that_was_not_woken_is_ignored() {
    let bench = Bench::new();
    let repo = bench.up("shop", CAST);
    bench.until_woken(&repo, "CC");
    // CC plays both sides.
    bench.run(repo.path(), &["commit", "CC", "-m", "first"]).check(0, &[]);
    bench.run(repo.path(), &["commit", "CC", "-m", "second"]).check(0, &[]);
    let said = bench.run(repo.path(), &["commit", "Codex", "-m", "fine by me", "--pass"]);
    said.check(0, &[]);
    let status = bench.until(&repo, "running", "fine by me");
    assert_eq!(status["turns"][2]["verdict"], "pass", "{status}");
    assert_eq!(status["decision"]["agent"], "CC", "{status}");
    assert!(codes(&status).iter().any(|code| code.contains("woken")), "{status}");
}

#[test]
fn two_that_append_at_the_same_moment_are_both_kept() {
    const ROUNDS: usize = 6;
    let bench = Bench::new();
    let repo = bench.opened("shop", CAST);
    let mut started = Vec::new();
    for round in 0..ROUNDS {
        for name in ["CC", "Codex"] {
            let summary = format!("{name} {round}");
            let mut command = bench.command(repo.path(), &["commit", name, "-m", &summary]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            started.push((summary, command.spawn().expect("loop starts")));
        }
    }
    for (summary, child) in started {
        let output = child.wait_with_output().expect("loop ends");
        super::bench::Said::of(&output).check(0, &[&summary]);
    }
    let status = bench.status(&repo);
    let turns = status["turns"].as_array().cloned().unwrap_or_default();
    let mut said: Vec<&str> = turns.iter().filter_map(|turn| turn["summary"].as_str()).collect();
    said.sort_unstable();
    let mut expected: Vec<String> =
        (0..ROUNDS).flat_map(|round| ["CC", "Codex"].map(|name| format!("{name} {round}"))).collect();
    expected.sort_unstable();
    assert_eq!(said, expected);
    let mut commits: Vec<&str> = turns.iter().filter_map(|turn| turn["commit"].as_str()).collect();
    commits.sort_unstable();
    commits.dedup();
    assert_eq!(commits.len(), ROUNDS * 2, "a commit for each: {status}");
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
}
