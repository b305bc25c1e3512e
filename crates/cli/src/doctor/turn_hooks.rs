//! Each agent's turn hooks: whether they are installed, and whether one of them was ever heard.

use jiff::Timestamp;
use loop_core::config::Agent;
use loop_git::Place;

use super::Check;
use crate::client::Client;
use crate::here::Here;
use crate::turn_hooks::{Stand, standing};
use crate::world::World;

/// Looks after an agent's turn hooks; nothing is said of hooks that were not asked for.
pub(super) async fn check(
    world: &World,
    client: Option<&Client>,
    here: &Here,
    agent: &Agent,
) -> Option<Check> {
    let place = here.reader.repo().place();
    let stand = standing(world, place, agent);
    let heard = match (client, &here.row) {
        (Some(client), Some(row)) => client.store.witnessed(&row.id, &agent.name).await.ok(),
        _ => None,
    };
    said(agent, place, &stand, heard.and_then(|witnessed| witnessed.signal().map(|signal| signal.at)))
}

/// Only a signal proves them: a CLI may leave hooks out without a word.
fn said(agent: &Agent, place: &Place, stand: &Stand, heard: Option<Timestamp>) -> Option<Check> {
    let what = format!("{} turn hooks", agent.name);
    let again = "`loop init --turn-hooks` writes them anew";
    match (stand, heard) {
        (Stand::None, None) => None,
        // By a person's own hand, or from the user's own settings.
        (Stand::None, Some(at)) => Some(Check::ok(what, format!("heard at {at}"))),
        (Stand::Other(path), _) => {
            let path = path.strip_prefix(&place.worktree).unwrap_or(path).display();
            Some(Check::not_ok(
                what,
                format!("those in {path} call another `loop`, or are incomplete"),
                again,
            ))
        }
        (Stand::Current(path), Some(at)) => {
            let path = path.strip_prefix(&place.worktree).unwrap_or(path).display();
            Some(Check::ok(what, format!("in {path}, heard at {at}")))
        }
        (Stand::Current(path), None) => {
            let path = path.strip_prefix(&place.worktree).unwrap_or(path).display();
            let once = agent.profile.turn_hooks.as_deref().and_then(loop_hooks::turn::find);
            let next = once.and_then(|hooks| hooks.once).unwrap_or("the agent's next turn proves them");
            Some(Check::unproven(what, format!("in {path}, but none of them was heard yet"), next))
        }
    }
}
