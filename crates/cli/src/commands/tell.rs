//! `loop tell`.

use std::process::ExitCode;

use jiff::Timestamp;
use loop_core::plain::plain;
use loop_router::tell::{Message, Tried};
use serde::Serialize;

use crate::commands::DONE;
use crate::failure::{Done, Failure, USERS};
use crate::output;
use crate::telling;
use crate::world::World;

/// Try the channels that reach a person
///
/// Sends a test message by every channel of `tell:` in your config.yaml, all at once, and says of each whether it was
/// taken; exits 1 when one was not. `loop help tell` has a line to copy for each kind of channel.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Send a test message
    #[arg(long, required = true)]
    pub(crate) test: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Serialize)]
struct View {
    channels: Vec<ChannelView>,
}

#[derive(Serialize)]
struct ChannelView {
    channel: &'static str,
    place: String,
    ok: bool,
    ms: u128,
    error: Option<String>,
    next: Option<String>,
}

impl From<&Tried> for ChannelView {
    fn from(tried: &Tried) -> Self {
        let error = tried.outcome.as_ref().err();
        Self {
            channel: tried.channel,
            place: tried.place.clone(),
            ok: error.is_none(),
            ms: tried.took.as_millis(),
            error: error.map(ToString::to_string),
            next: error.map(|error| error.next()),
        }
    }
}

/// Runs the command.
pub(crate) async fn run(world: &World, args: Args) -> Done {
    if world.tell.is_empty() {
        return Err(Failure::say("no way to reach a person is configured").next(telling::how(world)));
    }
    let tried = world.tell.send(&Message::test(&world.cwd, Timestamp::now())).await;
    let channels: Vec<ChannelView> = tried.iter().map(ChannelView::from).collect();
    let all_told = channels.iter().all(|channel| channel.ok);
    if args.json {
        output::json(&View { channels });
    } else {
        for channel in &channels {
            output::line(line(channel));
        }
    }
    for (file, mode) in telling::open_to_others(world) {
        let file = file.display();
        output::note(format!(
            "note: {file} holds secrets and can be read by others (mode {mode:o}): chmod 600 {file}"
        ));
    }
    Ok(if all_told { DONE } else { ExitCode::from(USERS) })
}

fn line(channel: &ChannelView) -> String {
    let name = output::pad(channel.channel, 8);
    let text = match (&channel.error, &channel.next) {
        (Some(error), Some(next)) => format!("{name} failed: {error}; next: {next}"),
        _ => format!("{name} ok in {} ms ({})", channel.ms, channel.place),
    };
    plain(&text).into_owned()
}
