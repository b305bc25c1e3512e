//! `loop wait --file F`.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use jiff::Timestamp;
use loop_core::plain::plain;
use serde_json::{Value, json};

use crate::commands::DONE;
use crate::failure::{Done, Failure, LIMIT};
use crate::handover::take::{Taken, take};
use crate::handover::{Place, Seen, Watch};
use crate::output;
use crate::waiting::Patience;
use crate::world::World;

/// How often the place is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// What lies there when the time is up may take so long to prove whole.
const LAST_LOOK: Duration = Duration::from_millis(1500);

/// 0 one was taken, 4 timed out, 1 what lies there is none or cannot be taken.
pub(crate) async fn wait(world: &World, path: &Path, since: Option<Timestamp>, patience: Patience) -> Done {
    let place = Place::new(&world.cwd, path)?;
    // Better told now than after an hour of waiting.
    place.folder_takes_files()?;
    let mut watch = Watch::new(place.clone(), since);
    for file in watch.left_over() {
        output::note(format!(
            "note: {} was taken, but whoever took it was ended before it had printed it: read it and remove it.",
            plain(&file.display().to_string())
        ));
    }
    let mut notes = Notes::default();
    loop {
        let seen = watch.look()?;
        if let Seen::Whole(stamp) = seen {
            match take(&place, stamp).await? {
                Some(taken) => return deliver(taken, &place, patience),
                None => output::note("somebody else took it; waiting for the next one."),
            }
        }
        notes.say(&place, seen, patience);
        let is_settling = matches!(seen, Seen::Unfinished(None));
        let overtime = patience.overtime();
        if overtime.is_some_and(|overtime| !is_settling || overtime >= LAST_LOOK) {
            return Ok(timed_out(&place, seen, patience));
        }
        tokio::time::sleep(patience.pause(LOOK).max(Duration::from_millis(10))).await;
    }
}

/// Prints it, and only then lets the file go.
fn deliver(taken: Taken, place: &Place, patience: Patience) -> Done {
    let after = seconds(patience);
    let text = if patience.json {
        format!("{:#}\n", answer(true, after, Some(&taken.text), place))
    } else {
        let text = plain(&taken.text);
        let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        format!("HANDSHAKE-RECEIVED after {after:.1}s\n{text}{end}")
    };
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => {
            taken.done()?;
            Ok(DONE)
        }
        Err(error) => Err(taken.back(Failure::users(
            anyhow::Error::new(error).context("nobody reads what was handed over, so it was left there"),
        ))),
    }
}

fn timed_out(place: &Place, seen: Seen, patience: Patience) -> ExitCode {
    let path = plain(&place.path.display().to_string()).into_owned();
    let why = match seen {
        Seen::Older(changed) => format!("{path} is of {changed}, before --since"),
        Seen::Unfinished(Some(pid)) => format!("process {pid} is still writing {path}"),
        Seen::Unfinished(None) => format!("{path} is still being written"),
        Seen::Nothing | Seen::Whole(_) => format!("{path} is not there"),
    };
    if patience.json {
        output::json(&answer(false, seconds(patience), None, place));
    }
    output::note(format!("timed out: {why}."));
    ExitCode::from(LIMIT)
}

fn answer(received: bool, after: f64, content: Option<&str>, place: &Place) -> Value {
    json!({"received": received, "after_s": after, "content": content, "path": place.path.display().to_string()})
}

/// How long was waited, in tenths of a second.
fn seconds(patience: Patience) -> f64 {
    (patience.began.elapsed().as_secs_f64() * 10.0).round() / 10.0
}

/// What is said once while it is waited.
#[derive(Default)]
struct Notes {
    older: bool,
    unfinished: bool,
}

impl Notes {
    fn say(&mut self, place: &Place, seen: Seen, patience: Patience) {
        let path = place.path.display().to_string();
        let path = plain(&path);
        match seen {
            Seen::Older(changed) if !self.older => {
                self.older = true;
                output::note(format!("{path} is of {changed}, before --since; waiting for a newer one."));
            }
            Seen::Unfinished(Some(pid))
                if !self.unfinished && patience.began.elapsed() > Duration::from_secs(2) =>
            {
                self.unfinished = true;
                output::note(format!("process {pid} has {path} open for writing; waiting until it is done."));
            }
            _ => {}
        }
    }
}
