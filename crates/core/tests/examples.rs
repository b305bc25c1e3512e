//! The example does what it says.
#![allow(clippy::unwrap_used)]

use std::process::Command;

#[test]
fn a_status_file_is_read_and_decided() {
    let test = std::env::current_exe().unwrap();
    let program = test.ancestors().nth(2).unwrap().join("examples/read_status");
    if !program.exists() {
        // Only this test was asked for: `cargo test` without a filter builds the examples beside it.
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        let build = ["build", "--quiet", "--example", "read_status", "--manifest-path", manifest];
        assert!(Command::new(cargo).args(build).status().unwrap().success());
    }
    let output = Command::new(program).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(output.status.success());
    assert_eq!(lines[0], "turn 1 by CC: wrote it (line 3)");
    assert_eq!(lines[1], "turn 2 by Codex: looked (line 7)");
    assert_eq!(lines[2], "running: CC comes after Codex in the rotation");
    assert!(lines[3].starts_with("line 9: "), "the mention is pointed out: {text}");
}
