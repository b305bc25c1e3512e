//! The sender against the fakes: a short run of the conformance program, and what it once found, by name.

#![allow(clippy::unwrap_used)]

#[path = "../../examples/conformance/kit/mod.rs"]
mod kit;

mod found;

use kit::{Options, run};
use loop_testkit::require_tool;

/// `cargo xtask conformance` plays a thousand wakes for each of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_promise_is_broken_in_a_short_run() {
    if !require_tool("tmux", "-V") {
        return;
    }
    let personas = ["claude-code", "codex", "gemini"].map(str::to_owned).into();
    let fake = env!("CARGO_BIN_EXE_loop-fake-tui").into();
    let report = run(&Options { fake, personas, wakes: 16, lanes: 4, ..Options::default() }).await;
    // The seed is new each time: what it finds can be played again.
    assert!(report.violations().is_empty(), "{report}");
    let (arrived, wakes) = report.arrived();
    assert_eq!(wakes, 48, "{report}");
    assert!(arrived >= 10, "only {arrived} arrived{report}");
}
