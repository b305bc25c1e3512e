//! `cargo xtask test`: every suite and every check, counted in one last line.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::Result;

use crate::process::{End, cargo, command, succeeds, watch};
use crate::tally::{Reader, Tally};
use crate::tools::{self, REAL_AGENTS, RealAgent};

/// Suites that have not ended by then hang; a full run takes minutes.
const SUITES_LIMIT: Duration = Duration::from_secs(40 * 60);

/// The names of all tests that drive a real agent from npm hold this word.
const REAL_AGENT_TESTS: &str = "real_agents";

/// The names of those that need every one of them begin with this.
const ALL_TOGETHER: &str = "real_agents::all_together";

/// Runs everything. Fails (exit code 1) when anything failed; what could not be run is counted as skipped and named.
pub(crate) fn run(root: &Path, fast: bool) -> Result<ExitCode> {
    let mut report = Report::default();

    report.check("git", || tools::require("git", "git", root).map(|()| true));
    report.check("tmux", || tools::require("tmux", "tmux", root).map(|()| true));
    let agents = if fast { Vec::new() } else { real_agents(root, &mut report) };

    report.check("cargo fmt", || succeeds(cargo(root).args(["fmt", "--all", "--check"])));
    // First everything is built, so that the end-to-end tests find the programs of the testkit beside `loop`.
    let built =
        report.check("build", || succeeds(cargo(root).args(["build", "--workspace", "--all-targets"])));
    if built {
        suites(root, fast, &agents, &mut report)?;
        report.check("cargo clippy", || {
            let lint = ["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"];
            succeeds(cargo(root).args(lint))
        });
        report.check("cargo doc", || {
            let mut doc = cargo(root);
            doc.args(["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "--deny warnings");
            succeeds(&mut doc)
        });
    } else {
        report.skip("the suites, cargo clippy and cargo doc", "the build failed");
    }
    dependencies(root, fast, &mut report);

    Ok(report.print())
}

/// `cargo test` over the workspace, doc tests included, however many fail.
fn suites(root: &Path, fast: bool, agents: &[(&RealAgent, PathBuf)], report: &mut Report) -> Result<()> {
    let mut tests = cargo(root);
    tests.args(["test", "--workspace", "--no-fail-fast"]);
    // Under this variable a test whose tool is missing fails instead of skipping itself.
    tests.env("LOOP_TEST_REQUIRE_TOOLS", "1");
    tests.envs(agents.iter().map(|(agent, program)| (agent.variable, program)));
    if agents.is_empty() {
        tests.env_remove("LOOP_TEST_REAL_AGENTS").args(["--", "--skip", REAL_AGENT_TESTS]);
    } else {
        tests.env("LOOP_TEST_REAL_AGENTS", "1").arg("--");
        let there = |agent: &RealAgent| agents.iter().any(|(other, _)| other.tests == agent.tests);
        for agent in REAL_AGENTS.iter().filter(|agent| !there(agent)) {
            tests.args(["--skip", agent.tests]);
        }
        if agents.len() < REAL_AGENTS.len() {
            tests.args(["--skip", ALL_TOGETHER]);
        }
    }
    if agents.len() < REAL_AGENTS.len() && !fast {
        report.note("tests with real agents: not all could be fetched");
    }

    let mut reader = Reader::default();
    let end = watch(&mut tests, SUITES_LIMIT, |line| reader.line(line))?;
    let (tally, failures, skips) = reader.finish(end == End::Exited(true) || end == End::LeftRunning(true));
    report.tally += tally;
    report.failures.extend(failures);
    report.skips.extend(skips);
    match end {
        End::Exited(_) => {}
        End::TimedOut => {
            report.fail(&format!("the suites: not done after {} minutes", SUITES_LIMIT.as_secs() / 60))
        }
        End::LeftRunning(_) => report.fail("the suites: a test left a process running that holds its output"),
    }
    Ok(())
}

/// Node and the pinned agents; those that could not be fetched are missing, and reported.
fn real_agents(root: &Path, report: &mut Report) -> Vec<(&'static RealAgent, PathBuf)> {
    let npm = || tools::require("node", "nodejs", root).and_then(|()| tools::require("npm", "npm", root));
    if !report.check("node and npm", || npm().map(|()| true)) {
        return Vec::new();
    }
    let fetch = |agent: &'static RealAgent| {
        let program =
            report.fetch(&format!("{} from npm", agent.about), || tools::real_agent(agent, root))?;
        Some((agent, program))
    };
    REAL_AGENTS.iter().filter_map(fetch).collect()
}

/// Licences, banned crates and sources. Advisories are left to `cargo deny check`: they need a database from outside
/// and change without the code.
fn dependencies(root: &Path, fast: bool, report: &mut Report) {
    const WHAT: &str = "cargo deny";
    if fast && crate::process::find("cargo-deny").is_none() {
        return report.skip(WHAT, "cargo-deny is not installed (cargo install cargo-deny --locked)");
    }
    report.check(WHAT, || {
        let program = tools::cargo_deny(root)?;
        let mut deny: Command = command(&program.to_string_lossy(), root);
        deny.args(["--workspace", "check", "licenses", "bans", "sources"]);
        succeeds(&mut deny)
    });
}

/// What was counted, and what a person wants named at the end.
#[derive(Default)]
struct Report {
    tally: Tally,
    failures: Vec<String>,
    skips: Vec<String>,
}

impl Report {
    /// Runs one check that counts as one test; returns whether it held.
    fn check(&mut self, what: &str, check: impl FnOnce() -> Result<bool>) -> bool {
        self.count(what, check().map(|held| held.then_some(()))).is_some()
    }

    /// The same for a check that gives something to work with.
    fn fetch<T>(&mut self, what: &str, fetch: impl FnOnce() -> Result<T>) -> Option<T> {
        self.count(what, fetch().map(Some))
    }

    fn count<T>(&mut self, what: &str, outcome: Result<Option<T>>) -> Option<T> {
        match outcome {
            Ok(Some(value)) => {
                self.tally.passed += 1;
                return Some(value);
            }
            Ok(None) => self.fail(what),
            Err(error) => {
                eprintln!("error: {error:#}");
                self.fail(what);
            }
        }
        None
    }

    fn fail(&mut self, what: &str) {
        self.tally.failed += 1;
        self.failures.push(what.to_owned());
    }

    fn skip(&mut self, what: &str, why: &str) {
        self.tally.skipped += 1;
        self.note(&format!("{what}: {why}"));
    }

    /// Names what is already counted elsewhere.
    fn note(&mut self, what: &str) {
        self.skips.push(what.to_owned());
    }

    /// Prints the end of the run; the last line is for programs.
    fn print(&self) -> ExitCode {
        println!();
        self.skips.iter().for_each(|skip| println!("skipped: {skip}"));
        self.failures.iter().for_each(|failure| println!("failed: {failure}"));
        println!("{}", self.tally);
        if self.tally.failed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }
}
