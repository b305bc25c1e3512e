//! Reading STATUS.md as it grows to 10 MB: the whole program, against its own start and against `cat`.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use super::lab::{LOOP_YAML, Lab, time};
use super::{Row, median, timed};

/// How large STATUS.md is, in words and in bytes.
pub(super) const SIZES: &[(&str, usize)] =
    &[("10 kB", 10_000), ("100 kB", 100_000), ("1 MB", 1_000_000), ("10 MB", 10_000_000)];
const READS: usize = 9;

/// Measures `loop check --json` at every size.
pub(super) fn run(lab: &Lab) -> Result<Vec<Row>> {
    let dir = lab.folder("parse")?;
    std::fs::write(dir.join("loop.yaml"), LOOP_YAML)?;
    let mut start = repeat(|| time(lab.subject(&dir).arg("--version")))?;
    let start_floor = median(&mut start);
    let mut rows = vec![timed("loop --version (floor)", &mut start, None)];

    for (name, size) in SIZES {
        std::fs::write(dir.join("STATUS.md"), status(*size))?;
        let mut cat = repeat(|| time(lab.command(Path::new("cat"), &dir).arg("STATUS.md")))?;
        let mut check = repeat(|| {
            time(lab.subject(&dir).args(["check", "STATUS.md", "--config", "loop.yaml", "--json"]))
        })?;
        let cat_floor = median(&mut cat);
        rows.push(timed(&format!("loop check, {name}, against its start"), &mut check, Some(start_floor)));
        rows.push(timed(&format!("loop check, {name}, against cat"), &mut check, Some(cat_floor)));
    }
    Ok(rows)
}

fn repeat(mut once: impl FnMut() -> Result<Duration>) -> Result<Vec<Duration>> {
    (0..READS).map(|_| once()).collect()
}

/// A STATUS.md of about `size` bytes, as agents write them: prose, a list, a fence, now and then a table.
pub(super) fn status(size: usize) -> String {
    let mut text = String::from("# Bench\n\n<!-- loop: bench -->\n");
    let mut turn = 0;
    while text.len() < size {
        let name = if turn % 2 == 0 { "CC" } else { "Codex" };
        let _ = write!(
            text,
            "\n## {name}: turn {turn}\n\nThe parser takes **both** newline styles now.\n\n- F{turn} P1 src/lib.rs:{turn} \
             an off-by-one at the end\n- fixed in the last commit\n\n```rust\nlet end = start + {turn};\n```\n\n\
             | case | result |\n|---|---|\n| LF | right |\n"
        );
        turn += 1;
    }
    text
}
