//! The names on the command line of `loop init`, checked before anything is looked at.

use loop_core::Name;

use crate::casting;
use crate::commands::init::Args;
use crate::failure::{COMMAND_LINE, Failure};
use crate::world::World;

const PASS: &str = "--pass takes any, other, all, or names of agents, separated by commas";

/// Refuses what is wrong wherever it is said: names that are none, kinds that nobody knows.
pub(crate) fn check(world: &World, args: &Args) -> Result<(), Failure> {
    let agents = match args.agents.as_slice() {
        [] => None,
        flags => Some(casting::cast(world, flags)?),
    };
    if let Some(planner) = &args.planner {
        name(planner)?;
    }
    let mut named: Vec<Name> = Vec::new();
    for who in args.pass.iter().filter(|pass| !is_word(pass)).flat_map(|pass| pass.split(',')) {
        let who = name(who.trim()).map_err(|failure| failure.next(PASS))?;
        if agents.as_ref().is_some_and(|agents| agents.iter().all(|(agent, _)| *agent != who)) {
            return Err(Failure::say(format!("--pass names {who}, and no --agent is called so"))
                .code(COMMAND_LINE)
                .next(PASS));
        }
        if named.contains(&who) {
            return Err(Failure::say(format!("--pass names {who} twice")).code(COMMAND_LINE).next(PASS));
        }
        named.push(who);
    }
    Ok(())
}

/// Whether `--pass` is one of the policies that are words.
pub(super) fn is_word(pass: &str) -> bool {
    matches!(pass, "any" | "other" | "all")
}

/// A name.
pub(super) fn name(text: &str) -> Result<Name, Failure> {
    Name::new(text).map_err(|error| Failure::users(error).code(COMMAND_LINE))
}
