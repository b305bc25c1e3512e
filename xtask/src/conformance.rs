//! `cargo xtask conformance`: the sender against fake terminal programs, wake by wake.
//!
//! Each fake draws and behaves as one agent CLI does, with troubles at random; what the sender claims is compared
//! with what the fakes logged. The end is a table; a broken promise is told with the seed that plays it again.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::process::{cargo, succeeds};
use crate::tools;

const USAGE: &str = "\
cargo xtask conformance [--wakes N] [--minutes N] [--persona P] [--lanes N] [--seed S] [--tell CLAIM]
cargo xtask conformance --persona P --case SEED       one case again, as a table printed it

--wakes N     wakes for each persona (1000)
--minutes N   begins no further wake after so long
--persona P   one fake alone; `loop-fake-tui --list` names them
--lanes N     windows for each persona at once (4)
--seed S      the same troubles as in the run that printed this seed
--tell CLAIM  tells every case with this outcome in full, for example \"unknown\" or \"refused: draft\"
";

/// What the program itself reads; each has a value.
const OPTIONS: [&str; 7] = ["--wakes", "--minutes", "--persona", "--lanes", "--seed", "--case", "--tell"];

/// Builds the fakes and runs the program of the testkit with `words`.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<ExitCode> {
    if let ["help" | "--help" | "-h"] = words {
        print!("{USAGE}");
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(unknown) = words.iter().step_by(2).find(|word| !OPTIONS.contains(word)) {
        bail!("{unknown} is no option of conformance\n\n{USAGE}");
    }
    tools::require("tmux", "tmux", root)?;
    // The fakes stand beside the program that starts them.
    let built = succeeds(cargo(root).args(["build", "--package", "loop-testkit", "--bins"]))?;
    let mut play = cargo(root);
    play.args(["run", "--package", "loop-testkit", "--example", "conformance", "--"]).args(words);
    let held = built && succeeds(&mut play)?;
    Ok(if held { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_option_is_told_with_the_known_ones() {
        let told = run(Path::new("/"), &["--wake", "3"]).map_err(|error| error.to_string());
        assert!(told.is_err_and(|text| text.contains("--wake is no option") && text.contains("--wakes N")));
    }
}
