//! `cargo xtask bench`: what `loop` costs, as ratios.
//!
//! A machine's speed changes from hour to hour, so no figure here is compared with one of another run: everything
//! is measured beside its floor, turn and turn about, and what counts is the ratio. The program under test is the
//! one that `cargo install` gives.

mod append;
mod hook;
mod lab;
mod loopback;
mod parse;
mod watch;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};

use lab::Lab;

/// One measurement: a new one is a new file and a row here.
struct Bench {
    name: &'static str,
    about: &'static str,
    run: fn(&Lab) -> Result<Vec<Row>>,
}

const TABLE: &[Bench] = &[
    Bench { name: "hook", about: "time added to `git commit`", run: hook::run },
    Bench { name: "parse", about: "reading STATUS.md as it grows", run: parse::run },
    Bench { name: "append", about: "adding a section as STATUS.md grows", run: append::run },
    Bench { name: "router", about: "start, memory at rest, loopback requests", run: loopback::run },
    Bench { name: "watch", about: "looking at an agent's records", run: watch::run },
];

/// One line of a result.
struct Row {
    what: String,
    /// The median of the measured times, or a figure of another kind.
    figure: String,
    /// How it stands to the row's floor, where it has one.
    ratio: Option<f64>,
}

/// Measures what `names` says, or everything, and prints a table for each.
pub(crate) fn run(root: &Path, names: &[&str]) -> Result<ExitCode> {
    if let Some(unknown) = names.iter().find(|name| TABLE.iter().all(|bench| bench.name != **name)) {
        let known: Vec<&str> = TABLE.iter().map(|bench| bench.name).collect();
        bail!("{unknown} is no benchmark; there are: {}", known.join(", "));
    }
    let lab = Lab::open(root)?;
    for bench in TABLE.iter().filter(|bench| names.is_empty() || names.contains(&bench.name)) {
        println!("\n{}: {}", bench.name, bench.about);
        for row in (bench.run)(&lab)? {
            let ratio = row.ratio.map(|ratio| format!("{ratio:.2} x")).unwrap_or_default();
            println!("  {:<52} {:>14} {:>10}", row.what, row.figure, ratio);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A row for `times` against the floor's median; the floor itself gets no ratio.
fn timed(what: &str, times: &mut [Duration], floor: Option<Duration>) -> Row {
    let median = median(times);
    let ratio = floor.map(|floor| median.as_secs_f64() / floor.as_secs_f64());
    Row { what: what.to_owned(), figure: format!("{:.2} ms", median.as_secs_f64() * 1000.0), ratio }
}

/// The middle one. One slow run (another process's turn on the core) moves a mean, not a median.
fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_ignores_the_one_slow_run() {
        let mut times = [3, 1, 900, 2, 4].map(Duration::from_millis);
        assert_eq!(median(&mut times), Duration::from_millis(3));
        assert_eq!(median(&mut []), Duration::ZERO);
    }

    #[test]
    fn a_row_shows_the_ratio_to_its_floor() {
        let mut times = [Duration::from_millis(6); 3];
        let row = timed("x", &mut times, Some(Duration::from_millis(4)));
        assert_eq!((row.figure.as_str(), row.ratio), ("6.00 ms", Some(1.5)));
    }
}
