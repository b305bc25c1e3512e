//! `cargo xtask`: set-up, tests and measurements of the workspace.
//!
//! [`tests`] is what continuous integration runs: it fetches the tools, runs every suite and every check, and ends
//! with one line that counts them. [`mod@conformance`] tries the sender against fake agent CLIs, [`real_wakes`] against the real ones. [`mod@bench`] prints ratios against the floor of the machine it runs on. [`fuzz`]
//! gives the parsers bytes that nobody would write.

mod bench;
mod conformance;
mod fuzz;
mod process;
mod real_wakes;
mod tally;
mod tests;
mod tools;

use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask test [--fast]        every suite and check; the last line counts them
cargo xtask bench [NAME]...      ratios, measured side by side on this machine
cargo xtask conformance [OPTION] the sender against fake agent CLIs, with troubles at random (--help)
cargo xtask conformance --real   wakes of the real CLIs, and how soon they arrive [--wakes N] [--agent NAME]
cargo xtask fuzz [--seconds N]   each fuzz target for N seconds (60)

test --fast leaves out the test with a real agent from npm.
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["test"] => tests::run(&root(), false),
        ["test", "--fast"] => tests::run(&root(), true),
        ["bench", names @ ..] => bench::run(&root(), names),
        ["conformance", words @ ..] if words.contains(&"--real") => real_wakes::run(&root(), words),
        ["conformance", words @ ..] => conformance::run(&root(), words),
        ["fuzz"] => fuzz::run(&root(), 60),
        ["fuzz", "--seconds", seconds] if seconds.parse::<u64>().is_ok() => {
            fuzz::run(&root(), seconds.parse().unwrap_or(60))
        }
        [] | ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprint!("error: {} is no task\n\n{USAGE}", words.join(" "));
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The workspace's folder: the parent of this package's.
fn root() -> PathBuf {
    let package = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    package.parent().map(PathBuf::from).unwrap_or(package)
}
