//! `loop run --headless`: what it prints and how it ends, as CI sees it.

use loop_testkit::script::{Script, Step};

use crate::stage::{Said, Stage, pass, review, turn, work};

fn run_headless(codex: Script, rest: &str) -> Said {
    let stage = Stage::new("");
    let shop = stage.shop();
    shop.cast(&[("CC", Script::of([work("first"), work("second"), work("third")])), ("Codex", codex)], rest);
    let said = shop.try_loop(&["run", "the login form", "--headless", "--yes"]);
    assert!(said.out.contains("turn 1 by CC: first"), "{said:?}\n{}", shop.story());
    shop.run(&["down"]);
    stage.nothing_runs();
    said
}

#[test]
fn a_pass_is_0() {
    let said = run_headless(Script::of([review("one finding"), pass()]), "pass: other");
    assert_eq!(said.code, Some(0), "{said:?}");
    let told = [
        "turn 1 by CC",
        "turn 2 by Codex",
        "turn 3 by CC",
        "turn 4 by Codex: reviewed REVIEW-PASS",
        "passed",
    ];
    for words in told {
        assert!(said.out.contains(words), "{words}: {said:?}");
    }
}

#[test]
fn a_block_is_1() {
    let blocked = Step::Commit {
        summary: "cannot go on".into(),
        body: None,
        pass: false,
        blocked: Some("which table is the right one?".into()),
        to: None,
    };
    let said = run_headless(Script::of([turn([blocked])]), "pass: other");
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.err.contains("which table is the right one?"), "{said:?}");
}

#[test]
fn a_limit_is_4() {
    let said = run_headless(Script::of([review("a finding"), review("another")]), "limits: {rounds: 1}");
    assert_eq!(said.code, Some(4), "{said:?}");
    assert!(said.err.contains("round"), "{said:?}");
}
