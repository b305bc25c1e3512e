//! Adding a section as STATUS.md grows: `loop commit` against the same by hand (`cat >>` and `git commit`).

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::lab::{Lab, time};
use super::parse::{SIZES, status};
use super::{Row, median, timed};
use crate::process::output;

const COMMITS: usize = 7;

/// Measures both in turn at every size, each in a repository of its own.
pub(super) fn run(lab: &Lab) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (name, size) in SIZES {
        let ours = lab.repository(&format!("append-{size}"))?;
        let hand = lab.repository(&format!("by-hand-{size}"))?;
        for repository in [&ours, &hand] {
            std::fs::write(repository.join("STATUS.md"), status(*size))?;
            output(lab.git(repository).args(["commit", "--quiet", "--all", "--message", "grow"]))?;
        }
        let mut by_hand = Vec::new();
        let mut by_loop = Vec::new();
        for _ in 0..COMMITS {
            by_hand.push(commit_by_hand(lab, &hand)?);
            by_loop.push(time(lab.subject(&ours).args(["commit", "CC", "-m", "one more"]))?);
        }
        let floor = median(&mut by_hand);
        rows.push(timed(&format!("by hand, {name} (floor)"), &mut by_hand, None));
        rows.push(timed(&format!("loop commit, {name}"), &mut by_loop, Some(floor)));
    }
    Ok(rows)
}

fn commit_by_hand(lab: &Lab, repository: &Path) -> Result<Duration> {
    let start = Instant::now();
    let mut file = OpenOptions::new().append(true).open(repository.join("STATUS.md"))?;
    file.write_all(b"\n## CC: one more\n")?;
    drop(file);
    time(lab.git(repository).args(["commit", "--quiet", "--all", "--message", "CC: one more"]))?;
    Ok(start.elapsed())
}
