#![allow(clippy::unwrap_used)]

use super::*;
use crate::decide::testing::{Scene, id, name};

/// A scene whose sections have bodies, as a parser would have made it.
fn scene() -> Scene {
    let mut scene = Scene::new("CC Codex", "CC\nCodex\nCC\nCodex > CC").changes("1:CC 3:CC");
    let mut text = "\u{feff}# A parser\n\n<!-- loop: 01 -->\n\nWrite a parser.\n".to_owned();
    scene.status.preamble = 0..text.len();
    for turn in &mut scene.status.turns {
        text.push_str("## heading\n");
        let start = text.len();
        text.push_str(&format!("\nBody of {}.\n\u{1b}[2JF1 P1 src/a.rs:1 wrong\n\n", turn.n));
        turn.body = start..text.len();
    }
    scene.status.text = text;
    scene
}

fn brief(scene: &Scene, agent: &str) -> Brief {
    Brief::new(&scene.status, &scene.config, &scene.facts, &scene.decided(), &name(agent))
}

#[test]
fn a_turn_is_told() {
    let mut brief = brief(&scene(), "CC");
    brief.commits.push(Commit {
        id: id("c", 2),
        by: "Codex".to_owned(),
        subject: "Codex: \u{202e}evil".to_owned(),
    });
    let file = |path: &str, binary| File { path: path.to_owned(), added: 3, removed: 1, binary };
    let files = vec![file("src/a.rs", false), file("logo.png", true)];
    brief.changes = Some(Changes::new(&id("a", 3), &id("c", 2), files, "--- a\n+++ b\n-x\n+y\n"));
    brief.unfinished =
        Unfinished { files: vec!["src/b.rs".to_owned()], refused: Some("hook: no".to_owned()) };
    insta::assert_snapshot!(brief.render(), @r#"
CC: turn 5 is yours, round 3 of 8 (Codex handed over to CC in turn 4).

MISSING: your last turn ended without a section
  git refused the commit:
    hook: no
  changed and not committed:
    src/b.rs
  Finish it, then commit as below.

TASK
  # A parser

  Write a parser.

SECTIONS (2 older ones are in STATUS.md)
  turn 3, CC: work 3 [a000000]
      Body of 3.
      \u{1b}[2JF1 P1 src/a.rs:1 wrong
  turn 4, Codex -> CC: work 4 [a000000]
      Body of 4.
      \u{1b}[2JF1 P1 src/a.rs:1 wrong

COMMITS since your last turn
    c000000 Codex: \u{202e}evil (Codex)

CHANGES a000000..c000000
    src/a.rs +3 -1
    logo.png (binary)

--- a
+++ b
-x
+y

WHAT TO DO
  `--pass` when nothing that blocks is left; a pass of any agent ends the loop.
  Work or review as the agent-loop skill says (`loop help skill`), end with `loop commit CC -m "what I did"`, and stop.
"#);
}

#[test]
fn whose_turn_it_is_not_stops() {
    insta::assert_snapshot!(brief(&scene(), "Codex").render(), @"
It is not your turn, Codex: turn 5 is for CC (Codex handed over to CC in turn 4).
There is nothing for you to do: stop here. You are called when it is your turn.
");
    insta::assert_snapshot!(brief(&Scene::new("CC Codex", "CC pass"), "Codex").render(), @"
The loop is over: passed by CC in turn 1, unverified.
There is nothing for you to do: stop here. You are called when it is your turn.
");
    insta::assert_snapshot!(brief(&Scene::new("CC Codex", "CC blocked no key"), "CC").render(), @"
The loop is blocked: CC is blocked since turn 1: no key.
For a person: answer with `loop say TEXT`, which wakes CC again, or go on with `loop resume [--to NAME]`.
There is nothing for you to do: stop here. You are called when it is your turn.
");
}

#[test]
fn the_first_turn_has_only_the_task() {
    let mut scene = Scene::new("CC Codex", "");
    scene.status.text = "# T\n".to_owned();
    scene.status.preamble = 0..4;
    let brief = brief(&scene, "CC");
    assert!(brief.your_turn);
    assert!(brief.render().contains("\nTASK\n  # T\n"), "{}", brief.render());
    assert!(!brief.render().contains("SECTIONS"));
}

#[test]
fn one_that_was_called_in_words_is_told_the_steps() {
    let mut scene = Scene::new("CC Codex", "");
    scene.status.text = "# T\n".to_owned();
    scene.status.preamble = 0..4;
    let mut brief = brief(&scene, "CC");
    brief.steps = Some("\n## 2. Work\n\nWrite.\n".to_owned());
    brief.reviewer = true;
    insta::assert_snapshot!(brief.render(), @"
CC: turn 1 is yours, round 1 of 8 (no turn yet: the first of the rotation begins).

TASK
  # T

WHAT TO DO
  Review: you are set up as a reviewer and change no file but STATUS.md.
  `--pass` when nothing that blocks is left; a pass of any agent ends the loop.

  ## 2. Work

  Write.
");
}

#[test]
fn what_was_wrong_with_the_last_section_is_told() {
    let scene = Scene::new("CC Codex", "CC pass\nCodex").policy(PassPolicy::Other).unwoken(&[1]);
    let brief = brief(&scene, "CC");
    assert_eq!(brief.about_your_last.len(), 1);
    assert!(brief.render().contains("CC was not woken for turn 1"), "{}", brief.render());
}

#[test]
fn everything_is_bounded() {
    let long = "x".repeat(100_000);
    let lines = "line\n".repeat(100_000);
    let mut scene = Scene::new("CC Codex", &["CC", "Codex"].repeat(50).join("\n"));
    scene.status.text = format!("{lines}{long}");
    scene.status.preamble = 0..scene.status.text.len();
    for turn in &mut scene.status.turns {
        turn.body = 0..scene.status.text.len();
        turn.summary = long.clone();
    }
    let mut brief = brief(&scene, "CC");
    let file = |n: usize| File { path: format!("{n}{long}"), added: 0, removed: 0, binary: false };
    brief.changes = Some(Changes::new("a", "b", (0..1000).map(file).collect(), &lines));
    brief.commits =
        (0..1000).map(|n| Commit { id: n.to_string(), by: long.clone(), subject: long.clone() }).collect();
    let text = brief.render();
    assert!(text.len() < 150_000, "{}", text.len());
    assert!(text.contains("(cut: 99600 more lines, see `git diff a b -- . ':!STATUS.md'`)"), "{text}");
}

#[test]
fn the_json_has_the_same_in_fields() {
    let brief = brief(&scene(), "CC");
    let json = serde_json::to_value(&brief).unwrap();
    assert_eq!(json["your_turn"], true);
    assert_eq!(json["turn"], 5);
    assert_eq!(json["round"], serde_json::json!({"n": 3, "of": 8}));
    assert_eq!(json["sections"][0]["agent"], "CC");
    assert_eq!(json["changes"], serde_json::Value::Null);
}
