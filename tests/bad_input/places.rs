//! Loops that could be taken for each other.

use serde_json::Value;

use super::bench::{Bench, CAST};

#[test]
fn two_repositories_of_the_same_folder_name() {
    let bench = Bench::new();
    let one = bench.up("one/shop", CAST);
    let two = bench.up("two/shop", CAST);
    bench.until_woken(&one, "CC");
    bench.run(one.path(), &["commit", "CC", "-m", "only in one"]).check(0, &[]);
    let first = bench.until(&one, "running", "only in one");
    assert_eq!(first["decision"]["agent"], "Codex", "{first}");
    let second = bench.status(&two);
    assert_eq!(
        (&second["decision"]["agent"], second["turns"].as_array().map(Vec::len)),
        (&Value::from("CC"), Some(0))
    );
    assert_ne!(first["loop"], second["loop"]);
    let said = bench.run(one.path(), &["status", "--all"]);
    said.check(0, &["one/shop", "two/shop"]);
    bench.run(one.path(), &["down"]).check(0, &["another loop"]);
    assert_eq!(bench.status(&two)["up"], true);
}

#[test]
fn two_loops_in_two_worktrees_of_one_repository() {
    let bench = Bench::new();
    let repo = bench.sandbox.repo("shop");
    repo.commit("loop.yaml", CAST, "how the loop works here");
    for task in ["red door", "blue door"] {
        bench.run(repo.path(), &["init", task, "--worktree"]).check(0, &[]);
    }
    let places = ["shop-red-door", "shop-blue-door"].map(|name| bench.sandbox.root().join(name));
    for place in &places {
        bench.run(place, &["up", "--yes"]).check(0, &[]);
    }
    for place in &places {
        bench.run(place, &["wait", "CC", "--timeout", "60s"]).check(0, &[]);
        let summary = place.file_name().unwrap().to_string_lossy().into_owned();
        bench.run(place, &["commit", "CC", "-m", &summary]).check(0, &[]);
        bench.run(place, &["wait", "Codex", "--timeout", "60s"]).check(0, &[]);
    }
    for (place, other) in [(&places[0], "blue"), (&places[1], "red")] {
        let said = bench.run(place, &["status", "--json"]);
        let status: Value = serde_json::from_str(&said.out).unwrap();
        assert_eq!(status["turns"].as_array().map(Vec::len), Some(1), "{status}");
        assert!(!status["turns"].to_string().contains(other), "{status}");
        assert_eq!(status["decision"]["agent"], "Codex", "{status}");
    }
    // The repository itself has no loop, and says so.
    bench.run(repo.path(), &["status"]).check(0, &["There is no loop here"]);
    bench.run(repo.path(), &["pause"]).check(1, &["there is no loop here"]);
}

#[test]
fn a_commit_on_another_branch_is_refused() {
    let bench = Bench::new();
    let repo = bench.opened("shop", CAST);
    repo.git(&["switch", "--quiet", "-c", "elsewhere"]);
    for arguments in [&["commit", "CC", "-m", "x"][..], &["say", "x"], &["turn", "CC"]] {
        bench.refuses(
            &repo,
            arguments,
            1,
            &["this is branch elsewhere; the loop lives on main", "git switch main"],
        );
    }
    repo.git(&["switch", "--quiet", "--detach"]);
    for arguments in [&["commit", "CC", "-m", "x"][..], &["say", "x"]] {
        bench.refuses(&repo, arguments, 1, &["HEAD is detached"]);
    }
}
