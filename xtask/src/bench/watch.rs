//! What watching an agent's records costs: processor time per look, and what a program that writes to its database
//! notices of being watched.
//!
//! The measuring is done by an example of `loop-watch`, which this program runs: it may use no crate of the workspace.

use anyhow::{Context, Result, bail};

use super::Row;
use super::lab::Lab;
use crate::process::{cargo, output, succeeds};
use crate::tools::target_dir;

const LOOKS: &str = "400";

/// Builds the example as users' programs are built, and shows its lines.
pub(super) fn run(lab: &Lab) -> Result<Vec<Row>> {
    let root = lab.root();
    if !succeeds(cargo(root).args(["build", "--release", "--package", "loop-watch", "--example", "measure"]))?
    {
        bail!("the measuring program could not be built");
    }
    let program = target_dir(root)?.join("release/examples/measure");
    let lines = output(lab.command(&program, &lab.folder("watch")?).arg(LOOKS))?;
    lines.lines().map(row).collect()
}

/// Name, figure and ratio, between tabs.
fn row(line: &str) -> Result<Row> {
    let mut parts = line.split('\t');
    let (Some(what), Some(figure), Some(ratio)) = (parts.next(), parts.next(), parts.next()) else {
        bail!("not a line of three parts: {line}");
    };
    let ratio = match ratio {
        "-" => None,
        ratio => Some(ratio.parse().with_context(|| format!("not a ratio: {line}"))?),
    };
    Ok(Row { what: what.to_owned(), figure: figure.to_owned(), ratio })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read() {
        let read = row("a write\t0.200 ms\t1.010").map(|row| (row.what, row.figure, row.ratio));
        assert_eq!(read.ok(), Some(("a write".to_owned(), "0.200 ms".to_owned(), Some(1.01))));
        assert_eq!(row("a look\t20 us\t-").ok().and_then(|row| row.ratio), None);
        assert!(row("a look").is_err());
    }
}
