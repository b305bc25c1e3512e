//! `loop attach`.

use std::os::unix::process::CommandExt;

use crate::failure::{Done, Failure};
use crate::here::Here;
use crate::world::World;

/// Show the agents' windows
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Whose window to show first
    pub(crate) name: Option<String>,
}

/// Runs the command.
pub(crate) async fn run(world: &World, args: Args) -> Done {
    let here = Here::with_store(world).await?;
    let row = here.known_row()?;
    let Some(session) = &row.session else {
        return Err(Failure::say("this loop has no windows")
            .next("`loop up` opens them; headless turns are in `loop log`"));
    };
    let server = world.tmux();
    let panes = server.panes_of(&row.id).await.map_err(Failure::users)?;
    if panes.is_empty() {
        return Err(Failure::say("the windows are gone").next("`loop up` opens them again"));
    }
    let target = match &args.name {
        None => format!("={session}:"),
        Some(name) => panes
            .iter()
            .find(|pane| pane.tags.as_ref().is_some_and(|tags| tags.agent.matches(name)))
            .map(|pane| pane.id.to_string())
            .ok_or_else(|| Failure::say(format!("no window of this loop is {name}'s")))?,
    };
    let inside = world.env.contains_key("TMUX");
    let word = if inside { "switch-client" } else { "attach-session" };
    let words = server.arguments();
    let (program, arguments) = words.split_first().ok_or_else(|| Failure::say("no tmux program is known"))?;
    let error = std::process::Command::new(program).args(arguments).args([word, "-t", &target]).exec();
    Err(Failure::users(anyhow::Error::new(error).context("cannot run tmux")))
}
