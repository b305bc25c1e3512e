//! Tries the real sender against fake terminal programs, wake by wake, with troubles at random.
//!
//! `cargo xtask conformance` builds and runs it. What the sender claims is compared with what the fakes logged; a
//! case is played again with `--persona P --case SEED`.

mod kit;

use std::path::PathBuf;
use std::process::ExitCode;

use kit::{Options, PERSONAS};

fn main() -> ExitCode {
    let options = match parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("conformance: {message}");
            return ExitCode::from(2);
        }
    };
    println!("seed {}", options.seed);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let report = match runtime {
        Ok(runtime) => runtime.block_on(kit::run(&options)),
        Err(error) => {
            eprintln!("conformance: cannot start: {error}");
            return ExitCode::FAILURE;
        }
    };
    print!("{report}");
    if report.violations().is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options { fake: beside()?, ..Options::default() };
    while let Some(option) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{option} needs a value"));
        let number = |text: String| text.parse::<u64>().map_err(|_| format!("{text} is no number"));
        match option.as_str() {
            "--wakes" => options.wakes = usize::try_from(number(value()?)?).unwrap_or(usize::MAX),
            "--minutes" => options.minutes = Some(number(value()?)?),
            "--lanes" => options.lanes = usize::try_from(number(value()?)?).unwrap_or(1).max(1),
            "--seed" => options.seed = number(value()?)?,
            "--case" => options.case = Some(number(value()?)?),
            "--tell" => options.tell = Some(value()?),
            "--persona" => {
                let name = value()?;
                if !PERSONAS.contains(&name.as_str()) {
                    return Err(format!("there is no persona {name}; there are: {}", PERSONAS.join(", ")));
                }
                options.personas = vec![name];
            }
            other => return Err(format!("unknown option {other}")),
        }
    }
    Ok(options)
}

/// The fake's program stands in the folder above the examples'.
fn beside() -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|error| format!("where this program is: {error}"))?;
    let folder = own.parent().and_then(|examples| examples.parent());
    let fake = folder.map(|folder| folder.join("loop-fake-tui")).unwrap_or_default();
    if fake.is_file() {
        return Ok(fake);
    }
    Err(format!("{} is not there; run `cargo xtask conformance`, which builds it", fake.display()))
}
