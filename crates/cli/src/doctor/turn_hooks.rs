//! Each agent's turn hooks: whether they are installed, and whether one of them was ever heard.

use jiff::Timestamp;
use loop_core::config::Agent;
use loop_git::Place;

use super::Check;
use crate::client::Client;
use crate::here::Here;
use crate::turn_hooks::{Stand, standing};
use crate::world::World;

/// Looks after an agent's turn hooks; nothing is said of hooks that could be had and were not asked for.
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

/// Why nothing can install them; `None`: it can.
fn not_to_be_had(agent: &Agent) -> Option<String> {
    match agent.profile.turn_hooks.as_deref().map(loop_hooks::turn::find) {
        None | Some(None) => Some(format!("kind `{}` has none that loop knows", agent.kind)),
        Some(Some(hooks)) => hooks.by_hand().map(str::to_owned),
    }
}

/// Only a signal proves them: a CLI may leave hooks out without a word.
fn said(agent: &Agent, place: &Place, stand: &Stand, heard: Option<Timestamp>) -> Option<Check> {
    let what = format!("{} turn hooks", agent.name);
    let again = "`loop init --turn-hooks` writes them anew";
    match (stand, heard) {
        (Stand::None, None) => {
            let why = not_to_be_had(agent)?;
            Some(Check::unproven(
                what,
                why,
                "its records, its window or the end of its run tell when it has finished",
            ))
        }
        // By a person's own hand, or from the user's own settings.
        (Stand::None, Some(at)) => Some(Check::ok(what, format!("heard at {at:.0}"))),
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
            Some(Check::ok(what, format!("in {path}, heard at {at:.0}")))
        }
        (Stand::Current(path), None) => {
            let path = path.strip_prefix(&place.worktree).unwrap_or(path).display();
            let once = agent.profile.turn_hooks.as_deref().and_then(loop_hooks::turn::find);
            let next = once.and_then(|hooks| hooks.once).unwrap_or("the agent's next turn proves them");
            Some(Check::unproven(what, format!("in {path}, but none of them was heard yet"), next))
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use loop_core::Config;
    use loop_testkit::Sandbox;

    use super::*;

    #[test]
    fn hooks_that_cannot_be_had_are_unproven() {
        let sandbox = Sandbox::new();
        let repo = loop_git::Repo::discover(sandbox.repo("shop").path()).unwrap();
        let said_of = |fields: &str| {
            let text = format!("agents: {{CC: {{kind: generic, command: x{fields}}}}}\nrotation: [CC]\n");
            let config = Config::parse(&text, "loop.yaml", &std::collections::BTreeMap::new()).unwrap();
            let check = said(&config.agents[0], repo.place(), &Stand::None, None)?;
            Some(serde_json::to_value(check).unwrap())
        };
        for (fields, why) in [
            ("", "kind `generic` has none that loop knows"),
            (", turn_hooks: hermes", "config.yaml"),
            (", turn_hooks: unheard-of", "none that loop knows"),
        ] {
            let check = said_of(fields).unwrap();
            assert_eq!(check["state"], "unproven");
            assert!(check["says"].as_str().unwrap().contains(why), "{check}");
        }
        assert_eq!(said_of(", turn_hooks: claude-code"), None, "nobody asked for them");
    }
}
