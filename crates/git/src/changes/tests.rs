#![allow(clippy::unwrap_used)]

use super::*;
use crate::testing::Sandbox;

const NOTHING: fn(&str) -> bool = |_| false;

fn numbered(from: usize, to: usize) -> String {
    (from..to).map(|n| format!("line {n}\n")).collect()
}

fn names(diff: &DiffText) -> Vec<(&str, bool)> {
    diff.stat.iter().map(|file| (file.path.as_str(), file.shown)).collect()
}

#[test]
fn a_small_change_is_shown_whole() {
    let sandbox = Sandbox::new();
    sandbox.write("src/a.rs", "one\ntwo\nthree\n");
    sandbox.write("moved.rs", &numbered(0, 30));
    sandbox.write("Cargo.lock", "1\n");
    sandbox.write("STATUS.md", "1\n");
    std::fs::write(sandbox.path().join("logo.png"), b"\x89PNG\0\x01").unwrap();
    let from = sandbox.commit_all("first");
    sandbox.write("src/a.rs", "one\n2 \u{1b}[31m\nthree\n");
    sandbox.run(&["mv", "moved.rs", "src/moved.rs"]);
    sandbox.write("sub/Cargo.lock", "1\n2\n3\n");
    sandbox.write("STATUS.md", "2\n");
    std::fs::write(sandbox.path().join("logo.png"), b"\x89PNG\0\x02").unwrap();
    let to = sandbox.commit_all("second");
    let diff = sandbox.repo().diff(&from, &to, &|path| path == "STATUS.md", 400, 32 * 1024).unwrap();
    assert!(!diff.cut);
    let paths: Vec<&str> = diff.stat.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["logo.png", "src/a.rs", "src/moved.rs", "sub/Cargo.lock"]);
    assert!(diff.text.contains("-two\n+2 \\u{1b}[31m\n three\n"), "{}", diff.text);
    assert!(diff.text.contains("logo.png (binary, changed)\n"), "{}", diff.text);
    assert!(diff.text.contains("sub/Cargo.lock (a lock file, +3 -0)\n"), "{}", diff.text);
    assert!(diff.text.contains("rename from moved.rs\n"), "{}", diff.text);
    assert_eq!((diff.stat[1].added, diff.stat[1].removed), (1, 1));
    assert!(diff.stat[0].binary && diff.stat.iter().all(|file| file.shown));
}

#[test]
fn what_does_not_fit_is_counted() {
    let sandbox = Sandbox::new();
    sandbox.write("x", "1\n");
    let from = sandbox.commit_all("first");
    sandbox.write("a", &numbered(0, 40));
    sandbox.write("b", &numbered(0, 500));
    sandbox.write("c", &numbered(0, 40));
    let to = sandbox.commit_all("second");
    let repo = sandbox.repo();
    let diff = repo.diff(&from, &to, &NOTHING, 120, 32 * 1024).unwrap();
    assert_eq!(names(&diff), [("a", true), ("b", false), ("c", true)]);
    assert!(diff.cut && diff.text.lines().count() <= 120);
    assert_eq!(diff.stat[1].added, 500);

    let diff = repo.diff(&from, &to, &|path| path != "b", 100, 32 * 1024).unwrap();
    assert_eq!(diff.text.lines().count(), 100, "the first file is begun");
    assert!(diff.text.ends_with("more lines of this file]\n"), "{}", diff.text);
    for (lines, bytes) in [(1, 1), (0, 0), (400, 100), (5, 32 * 1024), (60, 700)] {
        let diff = repo.diff(&from, &to, &NOTHING, lines, bytes).unwrap();
        assert!(
            diff.text.lines().count() <= lines && diff.text.len() <= bytes,
            "{lines} {bytes}: {}",
            diff.text
        );
        assert!(diff.cut);
    }
    assert_eq!(repo.diff(&to, &to, &NOTHING, 10, 10).unwrap(), DiffText::default());
}

#[test]
fn long_lines_foreign_encodings_and_crlf_are_readable() {
    let sandbox = Sandbox::new();
    sandbox.write("x", "1\n");
    let from = sandbox.commit_all("first");
    sandbox.write("min.js", &format!("{}\n", "ü".repeat(5000)));
    std::fs::write(sandbox.path().join("latin1.txt"), b"caf\xe9\n").unwrap();
    sandbox.write("crlf.txt", "one\r\ntwo\rmore\r\n");
    let to = sandbox.commit_all("second");
    let diff = sandbox.repo().diff(&from, &to, &NOTHING, 400, 32 * 1024).unwrap();
    assert!(diff.text.contains("bytes more]"), "{}", diff.text);
    assert!(diff.text.contains("+caf\u{fffd}\n"));
    assert!(diff.text.contains("+one\n+two\\u{d}more\n"), "{}", diff.text);
    assert!(diff.text.lines().all(|line| line.len() < 1100));
}

#[test]
fn the_patch_can_be_applied() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "one\r\ntwo");
    sandbox.write("gone", "1\n");
    sandbox.write("STATUS.md", "1\n");
    std::fs::write(sandbox.path().join("bin"), b"\0\x01\x02").unwrap();
    let from = sandbox.commit_all("first");
    sandbox.write("a", "one\r\n2\n");
    sandbox.write("folder/new file", "1");
    sandbox.write("STATUS.md", "2\n");
    std::fs::write(sandbox.path().join("bin"), b"\0\x01\x03\xff").unwrap();
    std::fs::remove_file(sandbox.path().join("gone")).unwrap();
    let to = sandbox.commit_all("second");
    let patch = sandbox.repo().patch(&from, &to, &|path| path == "STATUS.md").unwrap();
    let file = sandbox.outside("loop.patch");
    std::fs::write(&file, patch).unwrap();
    sandbox.run(&["checkout", "-q", from.as_str()]);
    sandbox.run(&["apply", "--index", &file.to_string_lossy()]);
    assert_eq!(sandbox.run(&["diff", "--cached", "--name-only", to.as_str()]), "STATUS.md\n");
}
