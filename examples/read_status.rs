//! Reads a STATUS.md and says whose turn it is: no repository, no router, values in and values out.
//!
//! `cargo run -p loop-core --example read_status [STATUS.md]`

use std::collections::BTreeMap;
use std::error::Error;

use loop_core::decide::{Facts, decide};
use loop_core::{Config, status};

const CONFIG: &str = "agents:\n  CC: {kind: claude-code}\n  Codex: {kind: codex}\nrotation: [CC, Codex]\n";

const SAMPLE: &str = "# Build a shop\n\n## CC: wrote it\n\nSee shop.rs.\n\n\
                      ## Codex: looked\n\nF1 P1 shop.rs:3 sells nothing. Not REVIEW-PASS yet\n";

fn main() -> Result<(), Box<dyn Error>> {
    let text = match std::env::args_os().nth(1) {
        Some(path) => std::fs::read(path)?,
        None => SAMPLE.as_bytes().to_vec(),
    };
    let config = Config::parse(CONFIG, "loop.yaml", &BTreeMap::new()).map_err(|error| error.to_string())?;
    let status = status::parse(&text, &config.cast())?;
    for turn in &status.turns {
        println!("turn {} by {}: {} (line {})", turn.n, turn.author, turn.summary, turn.line);
    }
    let decided = decide(&status, &config, &Facts::default());
    println!("{}: {}", decided.decision.state(), decided.decision.reason());
    for diagnostic in status.diagnostics.iter().chain(&decided.diagnostics) {
        println!("line {}: {}", diagnostic.line, diagnostic.message);
    }
    Ok(())
}
