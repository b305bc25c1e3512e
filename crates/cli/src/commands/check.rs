//! `loop check`.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use loop_core::decide::decide;
use loop_core::plain::plain;
use loop_core::report::Report;
use loop_core::status::parse;
use loop_core::{Config, Facts};
use loop_router::reading::{CONFIG_FILE, mend};

use crate::commands::DONE;
use crate::failure::{Done, Failure, USERS};
use crate::output;
use crate::world::World;

/// Read a STATUS.md: sections, verdicts, decision and diagnostics
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The file (default: the STATUS.md of this folder)
    pub(crate) file: Option<PathBuf>,
    /// The loop.yaml (default: beside the file)
    #[arg(long, value_name = "F")]
    pub(crate) config: Option<PathBuf>,
    /// Exit 1 unless the loop has this state
    #[arg(long, value_name = "STATE", value_parser = ["passed"])]
    pub(crate) require: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Runs the command.
pub(crate) async fn run(world: &World, args: Args) -> Done {
    let beside = args.file.as_deref().map(|file| file.with_file_name(CONFIG_FILE));
    let config_file = args.config.or(beside).unwrap_or_else(|| PathBuf::from(CONFIG_FILE));
    let shown = config_file.display().to_string();
    let text = std::fs::read_to_string(&config_file).map_err(|error| {
        Failure::users(anyhow::Error::new(error).context(format!("cannot read {shown}")))
            .next("name the loop.yaml with --config")
    })?;
    let config = Config::parse(&text, &shown, &world.settings.kinds).map_err(Failure::say)?;
    let file = args.file.unwrap_or_else(|| config_file.with_file_name(&config.status_file));
    let report = match read(&file)? {
        None => Report::idle(),
        Some(bytes) => {
            let status = parse(&bytes, &config.cast())
                .map_err(|error| Failure::say(mend(&file.display().to_string(), &error)))?;
            let decided = decide(&status, &config, &Facts::default());
            Report::new(&status, &decided, |_| None)
        }
    };
    if args.json {
        output::json(&report);
    } else {
        output::print(&words(&report));
    }
    let short = args.require.is_some_and(|state| state != report.state);
    Ok(if short { ExitCode::from(USERS) } else { DONE })
}

/// The file's bytes; `None` when there is no file.
fn read(file: &Path) -> Result<Option<Vec<u8>>, Failure> {
    let shown = file.display();
    let kind = match std::fs::symlink_metadata(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(Failure::users(anyhow::Error::new(error).context(format!("cannot read {shown}"))));
        }
        Ok(meta) => meta.file_type(),
    };
    if kind.is_dir() {
        return Err(Failure::say(format!("{shown} is a directory")).next("put a file in its place"));
    }
    if kind.is_symlink() {
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let root = std::fs::canonicalize(folder).ok().map(|folder| repository_root(&folder));
        let target = std::fs::canonicalize(file).ok();
        let inside = matches!((&root, &target), (Some(root), Some(target)) if target.starts_with(root));
        if !inside {
            return Err(Failure::say(format!("{shown} is a symlink that leads out of its repository"))
                .next("put a file in its place"));
        }
    }
    // A pipe or a device would be waited for, perhaps for ever.
    if std::fs::metadata(file).is_ok_and(|target| !target.is_file()) {
        return Err(Failure::say(format!("{shown} is no file")).next("put a file in its place"));
    }
    match std::fs::read(file) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) => Err(Failure::users(anyhow::Error::new(error).context(format!("cannot read {shown}")))),
    }
}

/// The folder with `.git` around `folder`, else the folder itself.
fn repository_root(folder: &Path) -> PathBuf {
    folder.ancestors().find(|above| above.join(".git").exists()).unwrap_or(folder).to_owned()
}

/// The report for a person.
pub(crate) fn words(report: &Report) -> String {
    let mut text = String::new();
    match &report.decision {
        None => text.push_str("idle: there is no STATUS.md\n"),
        Some(decision) => {
            let who = decision.agent.as_ref().map(|agent| format!(" {agent}")).unwrap_or_default();
            let kind = if decision.kind == report.state {
                String::new()
            } else {
                format!("{}{who}: ", decision.kind)
            };
            let reason = plain(&decision.reason);
            let reason = reason.strip_prefix(&format!("{}: ", report.state)).unwrap_or(&reason);
            text.push_str(&format!("{}: {kind}{reason}\n", report.state));
        }
    }
    for turn in &report.turns {
        let to = turn.to.as_ref().map(|to| format!(" -> {to}")).unwrap_or_default();
        let verdict = turn.verdict.map(|verdict| format!("  [{verdict}]")).unwrap_or_default();
        text.push_str(&format!(
            "{:>4}  line {:<5} {}{to}: {}{verdict}\n",
            turn.n,
            turn.line,
            turn.agent,
            plain(&turn.summary)
        ));
    }
    for diagnostic in &report.diagnostics {
        text.push_str(&format!(
            "line {}: {}: {}\n  hint: {}\n",
            diagnostic.line,
            diagnostic.code.as_str(),
            plain(&diagnostic.message),
            plain(&diagnostic.hint)
        ));
    }
    text
}
