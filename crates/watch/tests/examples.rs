//! The measuring program runs, and prints what the benchmark reads.
#![allow(clippy::unwrap_used)]

use std::process::Command;

#[test]
fn what_watching_costs_is_measured() {
    let test = std::env::current_exe().unwrap();
    let program = test.ancestors().nth(2).unwrap().join("examples/measure");
    if !program.exists() {
        // Only this test was asked for: `cargo test` without a filter builds the examples beside it.
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        let build = ["build", "--quiet", "--example", "measure", "--manifest-path", manifest];
        assert!(Command::new(cargo).args(build).status().unwrap().success());
    }
    let output = Command::new(program).arg("3").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(text.lines().count(), 10, "{text}");
    for line in text.lines() {
        assert_eq!(line.split('\t').count(), 3, "{line}");
    }
}
