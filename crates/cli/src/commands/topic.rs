//! `loop topic`.

use clap::CommandFactory;

use crate::commands::{Cli, DONE};
use crate::failure::{Done, Failure};
use crate::output;
use crate::world::World;

/// Print a longer text
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The topic; without one, the list
    pub(crate) topic: Option<String>,
}

/// The longer texts: name, what it is about, text.
const TOPICS: [(&str, &str, &str); 6] = [
    ("protocol", "sections, verdicts, who is next", include_str!("../../../../docs/protocol.md")),
    ("loop-yaml", "every key of loop.yaml", include_str!("../../../../docs/loop-yaml.md")),
    ("tell", "how and of what a person is told", include_str!("../../../../docs/tell.md")),
    ("skill", "what an agent does in its turn", crate::skills::SKILL),
    ("http", "the webhook and the API", include_str!("../../../../docs/http.md")),
    ("troubleshooting", "what to do when nothing moves", include_str!("../../../../docs/troubleshooting.md")),
];

/// Runs the command.
pub(crate) async fn run(_world: &World, args: Args) -> Done {
    let Some(topic) = args.topic else {
        output::line("loop help TOPIC, with one of:");
        for (name, about, _) in TOPICS {
            output::line(format!("  {name:16} {about}"));
        }
        output::line("\n`loop --help` lists the commands, `loop COMMAND --help` explains one.");
        return Ok(DONE);
    };
    if let Some((_, _, text)) = TOPICS.iter().find(|(name, ..)| *name == topic) {
        output::print(text);
        return Ok(DONE);
    }
    if let Some(command) = Cli::command().find_subcommand_mut(&topic) {
        output::print(&command.clone().bin_name(format!("loop {topic}")).render_long_help().to_string());
        return Ok(DONE);
    }
    let names: Vec<&str> = TOPICS.iter().map(|(name, ..)| *name).collect();
    Err(Failure::say(format!("there is no topic `{topic}`"))
        .next(format!("the topics: {}", names.join(", "))))
}
