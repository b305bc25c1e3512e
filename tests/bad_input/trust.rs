//! A `loop.yaml` that an agent's commit changes: held until a person approves it, and nothing of it is run.

use super::bench::{Bench, CAST};

#[test]
fn a_changed_loop_yaml_is_held_until_it_is_trusted() {
    let bench = Bench::new();
    let repo = bench.up("shop", CAST);
    bench.until_woken(&repo, "CC");
    let marker = bench.sandbox.root().join("pwned");
    let touch = format!("[touch, {}]", marker.display());
    let text = CAST.replace(
        "Codex: {kind: scripted, transport: wait}",
        &format!("Codex: {{kind: generic, transport: command, command: {touch}}}"),
    ) + &format!("verify: {touch}\nsetup: {touch}\n");
    repo.write("loop.yaml", &text);
    let said = bench.run(repo.path(), &["commit", "CC", "-m", "better rules", "--pass", "--all"]);
    said.check(0, &["loop.yaml"]);
    let held = bench.until(&repo, "held", "loop.yaml is not the one that was approved");
    assert!(held["you"].as_str().is_some_and(|you| you.contains("loop trust")), "{held}");
    // Nobody is there to be asked.
    let said = bench.refuses(&repo, &["trust"], 1, &["nobody can be asked here", "loop trust --yes"]);
    assert!(said.err.contains(&format!("+ verify: {touch}")), "the difference is shown: {said:?}");
    bench.run(repo.path(), &["up"]).check(1, &["nobody can be asked here"]);
    bench.run(repo.path(), &["resume"]).check(0, &[]);
    let held = bench.until(&repo, "held", "loop.yaml");
    assert_eq!(held["decision"]["kind"], "held", "{held}");
    assert!(!marker.exists(), "something of the new text was run");
    // The old text back: it goes on by itself, with the pass that CC had given.
    repo.write("loop.yaml", CAST);
    repo.git(&["commit", "--quiet", "--all", "-m", "put the rules back"]);
    bench.until(&repo, "passed", "better rules");
    assert!(!marker.exists(), "something of the new text was run");
}

#[test]
fn a_strangers_loop_yaml_is_shown_and_asked_for() {
    let bench = Bench::new();
    let marker = bench.sandbox.root().join("pwned");
    let config = CAST.replace("transport: wait}", &format!("command: [touch, {}]}}", marker.display()));
    let repo = bench.opened("shop", &config);
    for _ in 0..2 {
        let said = bench.run(repo.path(), &["up"]);
        said.check(1, &["loop.yaml is not approved", "next: look at it, then `loop trust --yes`", "touch"]);
    }
    assert!(bench.router().is_none(), "a router was started for it");
    assert!(!marker.exists());
}

#[test]
fn a_loop_yaml_with_a_slip_is_held_with_its_place() {
    let bench = Bench::new();
    let repo = bench.up("shop", CAST);
    bench.until_woken(&repo, "CC");
    repo.write("loop.yaml", CAST.replace("rotation: [CC, Codex]", "rotation: [CC, Codx]"));
    bench.run(repo.path(), &["commit", "CC", "-m", "a slip", "--all"]);
    let held = bench.until(&repo, "held", "loop.yaml:4:16: `Codx` in `rotation` is no agent");
    let you = held["you"].as_str().unwrap_or_default();
    assert!(you.contains("mend that line and commit, then `loop trust`"), "{held}");
    bench.run(repo.path(), &["status"]).check(0, &["did you mean `Codex`?"]);
}
