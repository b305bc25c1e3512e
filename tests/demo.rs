//! `loop demo`: what it tells, and that it leaves nothing but the folder that it names.

use std::path::PathBuf;

use loop_testkit::{Sandbox, require_tool};

use crate::stage::{LOOP, Stage};

fn play(arguments: &[&str]) -> String {
    let stage = Stage::new("");
    let output = stage.sandbox.command(LOOP).arg("demo").args(arguments).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    stage.nothing_runs();
    in_order(
        &said,
        &[
            "$ loop init",
            "$ loop up",
            "turn 1 by Ada: write leap.sh",
            "turn 2 by Rex: one finding",
            "turn 3 by Ada: mend F1",
            "turn 4 by Rex: F1 is mended",
            "turn 5 by Tess: add test.sh",
            "turn 6 by Ada: read the tests and ran them REVIEW-PASS",
            "succeeds in a clean checkout",
            "passed",
            "$ loop archive",
            "Nothing is left running",
            "loop init",
        ],
    );
    // An agent may be quicker than the line that says it was woken.
    let woken = ["Ada", "Rex", "Ada", "Rex", "Tess", "Ada"].into_iter().zip(1..);
    let lines: Vec<String> = woken.map(|(name, turn)| format!("-> {name} woken for turn {turn} ")).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    in_order(&said, &lines);
    as_left(&stage.sandbox, &said);
    said
}

#[track_caller]
fn in_order(said: &str, expected: &[&str]) {
    let mut rest = said;
    for words in expected {
        let Some((_, behind)) = rest.split_once(words) else {
            panic!("no {words:?} in its place in\n{said}")
        };
        rest = behind;
    }
}

/// The repository that it names has the whole story in its history and nothing uncommitted; the rest is gone.
fn as_left(sandbox: &Sandbox, said: &str) {
    let place = said.lines().find_map(|line| line.trim().strip_prefix("cd ")).expect("where to look");
    let repo = PathBuf::from(place);
    let git = |arguments: &[&str]| {
        let output = sandbox.command("git").arg("-C").arg(&repo).args(arguments).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert_eq!(git(&["status", "--porcelain"]), "");
    let log = git(&["log", "--format=%s"]);
    assert!(log.contains("Ada: write leap.sh") && log.contains("Tess: add test.sh"), "{log}");
    let archived = git(&["ls-files", "project-archive"]);
    assert!(archived.contains("STATUS.md"), "{archived}");
    let root = repo.parent().unwrap();
    let left: Vec<String> = std::fs::read_dir(root)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into())
        .collect();
    assert_eq!(left, ["leap"], "{said}");
    assert!(said.contains(&format!("rm -r {}", root.display())), "{said}");
}

#[test]
fn in_windows() {
    if !require_tool("tmux", "-V") {
        return;
    }
    let said = play(&[]);
    assert!(said.contains("each agent has a window of its own"), "{said}");
}

#[test]
fn headless() {
    let said = play(&["--headless"]);
    assert!(said.contains("no windows here"), "{said}");
}
