//! `cargo xtask fuzz`: each fuzz target for a while.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::process::{command, on_path, output, succeeds};

/// Runs every target of `fuzz/` for `seconds`; fails at the first that finds something.
pub(crate) fn run(root: &Path, seconds: u64) -> Result<ExitCode> {
    if !on_path("cargo-fuzz") {
        bail!("cargo-fuzz is missing; install it: cargo install cargo-fuzz --locked");
    }
    // `cargo` itself would be the stable one that runs this; rustup's proxy understands `+nightly`.
    let targets =
        output(command("cargo", root).env_remove("RUSTUP_TOOLCHAIN").args(["+nightly", "fuzz", "list"]))?;
    for target in targets.split_whitespace() {
        let limit = format!("-max_total_time={seconds}");
        let mut fuzz = command("cargo", root);
        fuzz.env_remove("RUSTUP_TOOLCHAIN").args(["+nightly", "fuzz", "run", target, "--", &limit]);
        if !succeeds(&mut fuzz)? {
            eprintln!("error: {target} found an input that it cannot take; cargo fuzz named the file above");
            return Ok(ExitCode::FAILURE);
        }
    }
    Ok(ExitCode::SUCCESS)
}
