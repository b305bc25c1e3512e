//! `loop say`.

use loop_core::append::NewSection;
use loop_core::{Config, Name, Role};

use crate::casting;
use crate::commands::DONE;
use crate::commands::commit::{nobody, on_the_loops_branch, target};
use crate::failure::{COMMAND_LINE, Done, Failure};
use crate::here::Here;
use crate::world::World;
use crate::{output, section};

/// Add a section of your own; also reopens a passed loop
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What to say
    pub(crate) text: String,
    /// Hand the turn to this agent
    #[arg(long, value_name = "NAME")]
    pub(crate) to: Option<String>,
    /// Your name, when loop.yaml has several people
    #[arg(long = "as", value_name = "NAME")]
    pub(crate) author: Option<String>,
}

/// Runs the command.
pub(crate) async fn run(world: &World, args: Args) -> Done {
    if args.text.trim().is_empty() {
        return Err(Failure::say("there is nothing to say")
            .code(COMMAND_LINE)
            .next("loop say \"what the agents should know\""));
    }
    let mut here = Here::with_store(world).await?;
    let (config, _) = here.config(world)?;
    here.observed(world)?;
    on_the_loops_branch(&here)?;
    let author = author(world, &here, &config, args.author.as_deref())?;
    let (summary, body) = split(&args.text);
    let to = target(&config, args.to.as_deref())?;
    let section = NewSection { author: author.clone(), to, summary, body, verdict: None };
    let written = section::write(world, here.reader.repo(), &config, &section, Vec::new())?;
    output::line(format!("{} {author}: {}", written.commit.short(), section.summary));
    for line in written.lines {
        output::note(line);
    }
    Ok(DONE)
}

/// Who speaks: named, else the one of `people:` whom git knows, else the only one, else the planner.
fn author(world: &World, here: &Here, config: &Config, named: Option<&str>) -> Result<Name, Failure> {
    let cast = config.cast();
    let candidate = match named {
        Some(named) => named.to_owned(),
        None if !config.people.is_empty() => here.person(world),
        None => config.planner.as_ref().map(ToString::to_string).unwrap_or_default(),
    };
    match cast.find(&candidate) {
        Some((name, Role::Person | Role::Planner)) => Ok(name.clone()),
        Some((name, Role::Agent)) => {
            Err(Failure::say(format!("{name} is an agent; `loop say` is for people"))
                .next(format!("an agent writes with `loop commit {name} -m …`")))
        }
        None if named.is_some() => Err(nobody(config, &candidate)),
        None => {
            let identity = here.reader.repo().git(&world.git_env).identity();
            let taken: Vec<&Name> = cast.names().collect();
            let you = identity.ok().and_then(|(name, _)| casting::person(&name, &taken));
            Err(Failure::say("loop.yaml names no person and no planner, so nobody could say this")
                .next(name_a_person(you.as_ref())))
        }
    }
}

/// The steps that make somebody a person of the loop.
fn name_a_person(you: Option<&Name>) -> String {
    let you = you.map_or("YOURNAME", Name::as_str);
    format!(
        "add the line `people: [{you}]` to loop.yaml, then `git commit -m \"loop.yaml: {you} may speak\" -- loop.yaml && loop trust`, then again"
    )
}

/// The first line is the summary, the rest the body.
fn split(text: &str) -> (String, String) {
    let text = text.trim();
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    (first.trim().to_owned(), rest.trim().to_owned())
}
