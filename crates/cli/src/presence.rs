//! How an agent is reached, where, and how it is now.

use std::time::Duration;

use loop_core::Config;
use loop_core::config::Agent;
use loop_core::plain::plain;
use loop_router::tell::teller;
use loop_router::transport_session;
use loop_store::{LoopRow, SessionRow};
use loop_transport::kinds::tmux::Address;
use loop_transport::tmux::{Pane, Server, Tags};
use loop_transport::{Presence, kinds};
use serde::Serialize;
use serde_json::Value;

use crate::client::Client;
use crate::failure::Failure;
use crate::world::World;

/// How long a look at one agent may take.
const LOOK: Duration = Duration::from_secs(15);

/// What a look at one agent gave.
#[derive(Debug, Serialize)]
pub(crate) struct Look {
    /// The transport that reaches it.
    pub(crate) transport: Option<String>,
    /// Where it is, in words.
    pub(crate) place: String,
    /// How it is, in words that follow its name (`is idle`).
    pub(crate) state: String,
    /// The same for programs, as the transport says it; null where it could not be looked at.
    pub(crate) presence: Value,
    /// The CLI's own id of the conversation.
    pub(crate) conversation: Option<String>,
    /// Whether loop started it, and so may end it.
    pub(crate) started_by_loop: bool,
}

impl Look {
    /// The presence's word, for example `idle`.
    pub(crate) fn word(&self) -> Option<&str> {
        self.presence.get("is").and_then(Value::as_str)
    }

    fn none(state: &str) -> Self {
        Self {
            transport: None,
            place: "-".to_owned(),
            state: state.to_owned(),
            presence: Value::Null,
            conversation: None,
            started_by_loop: false,
        }
    }
}

/// Looks at one agent: through the router while it runs, else directly.
pub(crate) async fn look(
    world: &World,
    client: &Client,
    row: Option<&LoopRow>,
    config: &Config,
    agent: &Agent,
) -> Result<Look, Failure> {
    let Some(row) = row else { return Ok(Look::none("is not started")) };
    let Some(session) = client.store.session(&row.id, &agent.name).await? else {
        return Ok(Look::none("is not started; `loop up` starts it"));
    };
    let (state, presence) = match &client.router {
        Some(router) => {
            let path = format!("/api/loops/{}/screen/{}", row.id, agent.name);
            match tokio::time::timeout(LOOK, router.get::<Value>(&path)).await {
                Ok(Ok(answer)) => {
                    let state = answer.get("state").and_then(Value::as_str).unwrap_or_default();
                    let name = format!("{} ", agent.name);
                    let state = state.strip_prefix(&name).unwrap_or(state).to_owned();
                    (state, answer.get("presence").cloned().unwrap_or_default())
                }
                Ok(Err(failure)) => (format!("cannot be looked at: {}", failure.words()), Value::Null),
                Err(_) => (format!("did not show itself within {} s", LOOK.as_secs()), Value::Null),
            }
        }
        None => probe(world, client, row, config, agent, &session).await,
    };
    Ok(Look {
        place: place(world, row, agent, &session).await,
        transport: Some(session.transport),
        state: plain(&state).into_owned(),
        presence,
        conversation: session.conversation,
        started_by_loop: session.started_by_loop,
    })
}

async fn probe(
    world: &World,
    client: &Client,
    row: &LoopRow,
    config: &Config,
    agent: &Agent,
    session: &SessionRow,
) -> (String, Value) {
    let mut options = kinds::Options::new(world.state_dir.join("locks"));
    options.tmux = world.tmux();
    options.teller = teller(&world.tell, &client.store);
    let Some(transport) = kinds::open(&session.transport, &options) else {
        return (format!("has the transport `{}`, which is not known here", session.transport), Value::Null);
    };
    let session = transport_session(row, config, agent, session, &world.env, &world.state_dir);
    match tokio::time::timeout(LOOK, transport.probe(&session)).await {
        Ok(Ok(presence)) => (words(&presence), serde_json::to_value(&presence).unwrap_or_default()),
        Ok(Err(error)) => (format!("cannot be looked at: {error}"), Value::Null),
        Err(_) => (format!("did not show itself within {} s", LOOK.as_secs()), Value::Null),
    }
}

/// A presence in words that follow the agent's name.
fn words(presence: &Presence) -> String {
    if let Presence::Unknown(seen) = presence {
        return format!("cannot be told: {seen}");
    }
    let text = presence.to_string();
    match text.strip_prefix("it ") {
        Some(rest) => rest.to_owned(),
        None => format!("is not ready: {text}"),
    }
}

async fn place(world: &World, row: &LoopRow, agent: &Agent, session: &SessionRow) -> String {
    match session.transport.as_str() {
        "tmux" => match pane(world, row, agent, session).await {
            Some(pane) => format!("{}:{} ({})", plain(&pane.session), plain(&pane.window), pane.id),
            None => "no window".to_owned(),
        },
        "exec" => "headless, one run per turn".to_owned(),
        "command" => "your program, one call per wake".to_owned(),
        "wait" => format!("in `loop wait {}`", agent.name),
        "person" => "a person".to_owned(),
        other => other.to_owned(),
    }
}

/// The pane in which an agent's registered session is.
pub(crate) async fn pane(world: &World, row: &LoopRow, agent: &Agent, session: &SessionRow) -> Option<Pane> {
    let address: Address = serde_json::from_str(&session.address).ok()?;
    let socket = address.socket.or_else(|| world.tmux().socket);
    let server = Server { socket, ..world.tmux() };
    let tags = Tags { loop_id: row.id.clone(), agent: agent.name.clone() };
    match server.pane(&address.pane).await {
        Ok(pane) if pane.tags.as_ref() == Some(&tags) => Some(pane),
        _ => server.find(&tags).await.ok().flatten(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_presence_follows_the_name() {
        for (presence, expected) in [
            (Presence::Idle, "is idle"),
            (Presence::Waiting, "waits to be called"),
            (Presence::Asks { says: "trust?".into(), press: String::new() }, "asks: trust?"),
            (Presence::Shell("bash".into()), "is not ready: a shell (bash) is in its window"),
            (Presence::Unknown("x".into()), "cannot be told: x"),
        ] {
            assert_eq!(words(&presence), expected);
        }
    }
}
