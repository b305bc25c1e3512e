//! The examples do what they say.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// Runs an example of this package to its end and returns what it printed.
async fn output_of(name: &str) -> String {
    let mut command = tokio::process::Command::from(Command::new(built(name)));
    command.kill_on_drop(true);
    let output =
        tokio::time::timeout(Duration::from_secs(60), command.output()).await.expect("it ends").unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

/// `cargo test` builds examples beside tests; when only this test was asked for, it builds them itself.
fn built(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let program = test.ancestors().nth(2).unwrap().join("examples").join(name);
    if !program.exists() {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        let built = Command::new(cargo)
            .args(["build", "--quiet", "--example", name, "--manifest-path", manifest])
            .status();
        assert!(built.unwrap().success(), "cannot build the example {name}");
    }
    program
}

#[tokio::test]
async fn a_transport_of_one_s_own() {
    assert!(output_of("custom_transport").await.starts_with("submitted: Dana: "));
    let text = include_str!("../../../../examples/custom_transport.rs");
    assert!(text.lines().count() < 60, "it must stay short");
}

#[tokio::test]
async fn a_router_inside_another_program() {
    let text = output_of("embed_router").await;
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("turn:")).collect();
    assert_eq!(
        lines,
        ["turn: turn 1 by CC: wrote the shop", "turn: turn 2 by Codex: read the shop REVIEW-PASS"]
    );
    assert!(text.trim_end().lines().last().unwrap().starts_with("decision: passed"), "{text}");
}
