//! `loop signal`.

use std::io::{self, Read};
use std::path::PathBuf;

use loop_core::plain::plain;
use serde_json::json;

use crate::commands::DONE;
use crate::failure::{Done, Failure};
use crate::handover::{MOST, Place, put};
use crate::output;
use crate::world::World;

/// Hand over to whoever waits in `loop wait --file FILE`
///
/// Writes the file whole or not at all, and never over one that nobody has taken yet. Needs no repository and no
/// router.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The hand-over file; its folder must exist
    pub(crate) file: PathBuf,
    /// What to hand over, at most 1 MB; `-` reads it from standard input
    pub(crate) text: Option<String>,
    /// Move one that was not taken yet aside
    #[arg(long)]
    pub(crate) force: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Runs the command.
pub(crate) async fn run(world: &World, args: Args) -> Done {
    let place = Place::new(&world.cwd, &args.file)?;
    let bytes = match args.text.as_deref() {
        None => Vec::new(),
        Some("-") => from_stdin()?,
        Some(text) => format!("{text}\n").into_bytes(),
    };
    let length = bytes.len();
    let replaced = put::put(&place, bytes, args.force)?;
    let path = place.path.display().to_string();
    let replaced = replaced.map(|replaced| replaced.display().to_string());
    if args.json {
        output::json(&json!({"status": "ok", "path": path, "bytes": length, "replaced": replaced}));
        return Ok(DONE);
    }
    if let Some(replaced) = replaced {
        output::note(format!("note: the one that nobody had taken lies in {} now.", plain(&replaced)));
    }
    output::line(format!("handed over in {}", plain(&path)));
    Ok(DONE)
}

/// One byte more than a hand-over may have is enough to refuse it.
fn from_stdin() -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = io::stdin().lock().take(MOST + 1).read_to_end(&mut bytes);
    read.map_err(|error| {
        Failure::users(anyhow::Error::new(error).context("cannot read the text from standard input"))
    })?;
    Ok(bytes)
}
