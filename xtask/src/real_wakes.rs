//! `cargo xtask conformance --real`: wake after wake through the real router into the real CLIs.
//!
//! The tests `real_agents::all_together::wakes` do it, with a stub in the model's place, and hold what the ledger
//! claims against what that model was asked. Here their figures become a table.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::process::{End, cargo, succeeds, watch};
use crate::tools::{self, REAL_AGENTS};

const USAGE: &str = "\
cargo xtask conformance --real [--wakes N] [--agent NAME]

--wakes N     wakes for each CLI (20)
--agent NAME  one CLI alone: claude_code, codex, opencode, gemini, qwen
";

/// What the tests measure stands behind this.
const MARK: &str = "measured: wakes ";
/// The most that one CLI may take for its start, and for one wake.
const START: Duration = Duration::from_secs(120);
const WAKE: Duration = Duration::from_secs(90);

/// Fails (exit code 1) when a wake did not arrive or arrived twice.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<ExitCode> {
    let (mut wakes, mut only) = (20_u32, None);
    let mut words = words.iter().copied().filter(|word| *word != "--real");
    while let Some(word) = words.next() {
        match (word, words.next()) {
            ("--wakes", Some(number)) => {
                wakes = number.parse().with_context(|| format!("--wakes needs a number, not {number}"))?;
            }
            ("--agent", Some(name)) => only = Some(name),
            _ => bail!("{word} is no option of conformance --real, or has no value\n\n{USAGE}"),
        }
    }
    let name_of = |tests: &'static str| tests.trim_start_matches("real_agents::");
    let agents: Vec<_> =
        REAL_AGENTS.iter().filter(|agent| only.is_none_or(|only| only == name_of(agent.tests))).collect();
    if agents.is_empty() {
        bail!("{} is none of the CLIs\n\n{USAGE}", only.unwrap_or_default());
    }
    for (program, package) in [("git", "git"), ("tmux", "tmux"), ("node", "nodejs"), ("npm", "npm")] {
        tools::require(program, package, root)?;
    }
    if !succeeds(cargo(root).args(["build", "--package", "loop-testkit", "--bins"]))? {
        bail!("the stub model could not be built");
    }
    let mut rows = vec![HEAD.map(str::to_owned)];
    let mut held = true;
    for agent in agents {
        let program = tools::real_agent(agent, root)?;
        let test = format!("real_agents::all_together::wakes::of_{}", name_of(agent.tests));
        let mut play = cargo(root);
        play.args(["test", "--package", "loop-cli", "--test", "e2e", "--", "--nocapture", "--exact", &test]);
        play.env("LOOP_TEST_REAL_AGENTS", "1").env("LOOP_TEST_REQUIRE_TOOLS", "1");
        play.env(agent.variable, &program).env("LOOP_TEST_WAKES", wakes.to_string());
        let mut measured = None;
        let end = watch(&mut play, START + WAKE * wakes, |line| {
            measured =
                line.strip_prefix(MARK).and_then(|told| serde_json::from_str(told).ok()).or(measured.take());
        })?;
        let row = measured.filter(|_| end == End::Exited(true));
        held &= row.is_some();
        rows.push(row.map_or_else(|| failed(agent.about), |told: Value| row_of(agent.about, &told)));
    }
    println!(
        "\nminimum, median and maximum in milliseconds; the key follows the text after the profile's pause\n"
    );
    rows.iter().for_each(|row| println!("{}", line(row, &rows)));
    Ok(if held { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

const HEAD: [&str; 7] = [
    "CLI",
    "arrived",
    "requests per wake",
    "started",
    "commit to text",
    "key to request",
    "commit to request",
];

fn row_of(about: &str, told: &Value) -> [String; 7] {
    let count = |key: &str| format!("{} of {}", told[key], told["wakes"]);
    let spread = |key: &str| {
        let all: Vec<String> = told[key].as_array().into_iter().flatten().map(Value::to_string).collect();
        all.join(" ")
    };
    [
        about.to_owned(),
        count("arrived"),
        told["requests"].to_string(),
        count("started"),
        spread("text"),
        spread("request"),
        spread("whole"),
    ]
}

fn failed(about: &str) -> [String; 7] {
    let mut row: [String; 7] = Default::default();
    row[0] = about.to_owned();
    row[1] = "FAILED".to_owned();
    row
}

/// One line of the table, in columns as wide as their widest cell.
fn line(row: &[String; 7], rows: &[[String; 7]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let cells = row.iter().enumerate().map(|(column, cell)| format!("{cell:<0$}", width(column)));
    cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_become_a_row() {
        let told = serde_json::json!({
            "wakes": 20, "arrived": 20, "requests": 1, "started": 19,
            "text": [400, 450, 600], "request": [60, 80, 300], "whole": [800, 850, 1200],
        });
        let row = row_of("Codex", &told);
        let head = HEAD.map(str::to_owned);
        let rows = [head, row];
        assert_eq!(
            line(&rows[1], &rows),
            "Codex  20 of 20  1                  19 of 20  400 450 600     60 80 300       800 850 1200"
        );
    }

    #[test]
    fn an_unknown_option_or_cli_is_told() {
        for words in [&["--real", "--wake", "3"][..], &["--real", "--wakes"], &["--real", "--agent", "vim"]] {
            let told = run(Path::new("/"), words).map_err(|error| error.to_string());
            assert!(told.is_err_and(|text| text.contains("cargo xtask conformance --real")), "{words:?}");
        }
    }
}
