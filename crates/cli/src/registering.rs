//! Registering by hand how an agent is reached, and forgetting it.

use loop_core::config::Agent;
use loop_core::plain::plain;
use loop_core::{Config, Name};
use loop_store::{LoopRow, SessionRow};
use loop_transport::kinds::{TABLE, tmux::Address};
use loop_transport::tmux::{Pane, PaneId, Server, Tags};

use crate::client::Client;
use crate::failure::{COMMAND_LINE, Failure};
use crate::launch;
use crate::presence::pane;
use crate::world::World;

/// Registers an agent's session; says what it is from now on.
pub(crate) async fn register(
    world: &World,
    client: &Client,
    row: &LoopRow,
    config: &Config,
    name: &str,
    transport: &str,
    address: Option<&str>,
) -> Result<String, Failure> {
    let agent = agent(config, name)?;
    if !TABLE.iter().any(|known| known.name == transport) {
        let known: Vec<String> = TABLE.iter().map(|row| format!("{}: {}", row.name, row.about)).collect();
        return Err(Failure::say(format!("there is no transport called `{transport}`"))
            .code(COMMAND_LINE)
            .next(format!("one of\n  {}", known.join("\n  "))));
    }
    if transport == "tmux" {
        return window(world, client, row, agent, address).await;
    }
    if transport == "command" && address.is_none() {
        return Err(Failure::say("what is the address that your command understands?")
            .code(COMMAND_LINE)
            .next(format!("loop agents register {} --transport command --address ADDRESS", agent.name)));
    }
    if let (Some(address), "exec" | "wait" | "person") = (address, transport) {
        return Err(Failure::say(format!(
            "the transport `{transport}` has no address, and {address:?} would say nothing"
        ))
        .code(COMMAND_LINE)
        .next("leave --address out"));
    }
    let runs = agent.command.is_some() || (transport == "exec" && !agent.profile.headless.is_empty());
    if matches!(transport, "exec" | "command") && !runs {
        return Err(Failure::say(format!(
            "nothing says which program `{transport}` runs for {}",
            agent.name
        ))
        .next(format!("give {} a `command:` in loop.yaml", agent.name)));
    }
    leave(world, client, row, &agent.name, false).await?;
    client
        .put_session(&SessionRow {
            loop_id: row.id.clone(),
            agent: agent.name.clone(),
            transport: transport.to_owned(),
            address: address.map_or(serde_json::Value::Null, |address| address.into()).to_string(),
            conversation: None,
            pid: None,
            started_by_loop: false,
            registered_at: jiff::Timestamp::now(),
        })
        .await?;
    Ok(match (transport, address) {
        ("command", Some(address)) => {
            format!("{} is reached by your command, at {}.", agent.name, plain(address))
        }
        ("person", _) => format!("{} is a person, told by your `tell:`.", agent.name),
        ("exec", _) => format!("{} is run headless, once per turn.", agent.name),
        _ => format!("{} is reached where it calls `loop wait {}`.", agent.name, agent.name),
    })
}

fn agent<'config>(config: &'config Config, name: &str) -> Result<&'config Agent, Failure> {
    config.agents.iter().find(|agent| agent.name.matches(name)).ok_or_else(|| {
        let known: Vec<&str> = config.agents.iter().map(|agent| agent.name.as_str()).collect();
        Failure::say(format!("there is no agent {name} in loop.yaml"))
            .next(format!("the agents: {}; `loop agents add {name}` adds one", known.join(", ")))
    })
}

async fn window(
    world: &World,
    client: &Client,
    row: &LoopRow,
    agent: &Agent,
    address: Option<&str>,
) -> Result<String, Failure> {
    let server = world.tmux();
    let panes = server.panes().await.map_err(Failure::users)?;
    let name = &agent.name;
    let Some(address) = address else {
        return Err(Failure::say(format!("in which tmux pane is {name}?"))
            .code(COMMAND_LINE)
            .next(candidates(&panes)));
    };
    let Some(id) = PaneId::new(address) else {
        return Err(Failure::say(format!("{address:?} is no tmux pane id"))
            .code(COMMAND_LINE)
            .next(candidates(&panes)));
    };
    let Some(found) = panes.iter().find(|pane| pane.id == id) else {
        return Err(Failure::say(format!("there is no tmux pane {id}")).next(candidates(&panes)));
    };
    let tags = Tags { loop_id: row.id.clone(), agent: name.clone() };
    if let Some(other) = found.tags.as_ref().filter(|other| **other != tags) {
        let whose = if other.loop_id == row.id { "this loop" } else { "another loop" };
        return Err(Failure::say(format!("{id} is {}'s window in {whose}", other.agent))
            .next(format!("`loop agents forget {}` in that loop's folder lets go of it", other.agent)));
    }
    if found.dead {
        return Err(Failure::say(format!("what ran in {id} has ended ({})", found.ended))
            .next("start the agent there, then again"));
    }
    if found.placeholder || found.shows_shell() {
        return Err(Failure::say(format!("{id} shows a shell ({}), not an agent", plain(&found.command)))
            .next(format!("start {name}'s program in it, then again")));
    }
    if let Some(session) = client.store.session(&row.id, name).await?
        && let Some(old) = pane(world, row, agent, &session).await
        && !old.dead
        && old.id != id
    {
        return Err(Failure::say(format!(
            "{name} is reached in {}:{} ({}) already",
            old.session, old.window, old.id
        ))
        .next(format!("`loop agents forget {name}` first, then again")));
    }
    server.tag(&id, &tags).await.map_err(Failure::users)?;
    launch::register(client, row, agent, found, None, false).await?;
    let mut said = format!(
        "{name} is reached in {}:{} ({id}), which runs {}.",
        plain(&found.session),
        plain(&found.window),
        plain(&found.command)
    );
    if !found.path.as_os_str().is_empty() && !found.path.starts_with(&row.worktree) {
        said.push_str(&format!(
            "\nnote: it runs in {}, not in {}; an agent works in the loop's own folder.",
            found.path.display(),
            row.worktree.display()
        ));
    }
    Ok(said)
}

/// The panes that could be an agent's, for a person to choose from.
fn candidates(panes: &[Pane]) -> String {
    let free = panes
        .iter()
        .filter(|pane| pane.tags.is_none() && !pane.dead && !pane.placeholder && !pane.shows_shell());
    let lines: Vec<String> = free
        .map(|pane| {
            format!(
                "\n  {}  {}:{} runs {}",
                pane.id,
                plain(&pane.session),
                plain(&pane.window),
                plain(&pane.command)
            )
        })
        .collect();
    if lines.is_empty() {
        return "start the agent's program in a tmux window; `tmux display -p '#{pane_id}'` in it says its pane id".to_owned();
    }
    format!("name its pane with --address; these run something:{}", lines.concat())
}

/// Lets go of an agent's session; `close`: also of a window that loop opened. Says what became of its window; `None`
/// when nothing was registered.
pub(crate) async fn leave(
    world: &World,
    client: &Client,
    row: &LoopRow,
    name: &Name,
    close: bool,
) -> Result<Option<String>, Failure> {
    let Some(session) = client.store.session(&row.id, name).await? else { return Ok(None) };
    // Its window may go on in its conversation, in which no second one may write.
    client.store.forget_conversation(&row.id, name).await?;
    let mut said = format!("How {name} is reached is forgotten.");
    if session.transport == "tmux" {
        let socket =
            serde_json::from_str::<Address>(&session.address).ok().and_then(|address| address.socket);
        let server = Server { socket: socket.or_else(|| world.tmux().socket), ..world.tmux() };
        let tags = Tags { loop_id: row.id.clone(), agent: name.clone() };
        if let Ok(Some(pane)) = server.find(&tags).await {
            if close && session.started_by_loop {
                server.kill_window(&pane.id).await.map_err(Failure::users)?;
                said = format!("Its window {} is closed.", pane.id);
            } else {
                server.untag(&pane.id).await.map_err(Failure::users)?;
                said = format!(
                    "How {name} is reached is forgotten; its window {} stays open, and is yours.",
                    pane.id
                );
            }
        }
    }
    client.forget_session(&row.id, name).await?;
    Ok(Some(said))
}
