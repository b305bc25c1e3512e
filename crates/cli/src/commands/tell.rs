//! `loop tell`.

use loop_router::tell::Message;

use crate::commands::DONE;
use crate::failure::{Done, Failure};
use crate::output;
use crate::world::World;

/// Try the channels that reach a person
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Send a test message
    #[arg(long, required = true)]
    pub(crate) test: bool,
}

/// Runs the command.
pub(crate) async fn run(world: &World, _args: Args) -> Done {
    let message = Message {
        title: "loop: a test".to_owned(),
        text: "This is how loop reaches you when a loop is held, blocked, dead or passed.".to_owned(),
        repo: world.cwd.display().to_string(),
    };
    match world.tell()?.send(&message).await {
        Ok(()) => {
            output::line("told: the command of `tell:` ended with 0.");
            Ok(DONE)
        }
        Err(error) => Err(Failure::users(error).next(format!(
            "set `tell: {{command: [PROGRAM, \"{{title}}\", \"{{text}}\"]}}` in {}",
            world.config_dir.join("config.yaml").display()
        ))),
    }
}
