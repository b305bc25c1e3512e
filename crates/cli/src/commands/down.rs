//! `loop down`.

use loop_router::steer::Steer;
use loop_store::{LoopPatch, LoopRow};
use loop_transport::kinds::tmux::Address;
use loop_transport::tmux::{Server, Tags};

use crate::client::Client;
use crate::commands::DONE;
use crate::daemon::stop_router;
use crate::failure::{Done, Failure};
use crate::here::Here;
use crate::output;
use crate::people::only_people;
use crate::world::World;

/// Stop the windows that loop started, and the router when no other loop needs it
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Every loop that is known, not only the one here
    #[arg(long)]
    pub(crate) all: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Runs the command.
pub(crate) async fn run(world: &World, args: Args) -> Done {
    let client = Client::open(world).await?;
    let rows = if args.all {
        client.store.loops(false).await?
    } else {
        vec![Here::open(world, Some(&client.store)).await?.known_row()?.clone()]
    };
    let mut closed = 0;
    for row in &rows {
        only_people(&client, row, "down").await?;
        client.steer(&row.id, &Steer::Stop { why: Some("loop down".to_owned()) }).await?;
        client.steer(&row.id, &Steer::Down).await?;
        closed += close(world, &client, row).await?;
    }
    let others = client.store.loops(false).await?.into_iter().filter(|row| row.up).count();
    let mut said = format!("down: {closed} windows closed");
    match &client.router {
        Some(router) if others == 0 => {
            stop_router(world, router).await?;
            said.push_str(", the router has stopped.");
        }
        Some(_) => said.push_str(&format!("; the router stays for {others} other loops.")),
        None => said.push_str("; no router ran."),
    }
    if args.json {
        output::json(&serde_json::json!({"status": "ok", "windows": closed, "others": others}));
    } else {
        output::line(said);
    }
    Ok(DONE)
}

/// Closes the windows that loop opened, and only those.
pub(crate) async fn close(world: &World, client: &Client, row: &LoopRow) -> Result<usize, Failure> {
    let mut closed = 0;
    for session in client.store.sessions(Some(&row.id)).await? {
        if !session.started_by_loop {
            continue;
        }
        if session.transport == "tmux" {
            let address: Result<Address, _> = serde_json::from_str(&session.address);
            let socket = address.ok().and_then(|address| address.socket).or_else(|| world.tmux().socket);
            let server = Server { socket, ..world.tmux() };
            let tags = Tags { loop_id: row.id.clone(), agent: session.agent.clone() };
            if let Ok(Some(pane)) = server.find(&tags).await {
                server.kill_window(&pane.id).await.map_err(Failure::users)?;
                closed += 1;
            }
        }
        client.forget_session(&row.id, &session.agent).await?;
    }
    let patch = LoopPatch { session: Some(None), ..LoopPatch::default() };
    client.store.update_loop(&row.id, patch).await?;
    Ok(closed)
}
