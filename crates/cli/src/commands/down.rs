//! `loop down`.

use std::path::PathBuf;

use loop_core::plain::plain;
use loop_router::steer::Steer;
use loop_store::{LoopPatch, LoopRow, SessionRow};
use loop_transport::kinds::tmux::Address;
use loop_transport::tmux::{PaneId, Server};

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
    let (client, rows) = if args.all {
        let client = Client::open(world).await?;
        let rows = client.store.loops(false).await?;
        (client, rows)
    } else {
        let (client, here) = Here::with_client(world).await?;
        // After `loop archive` there is no loop here any more; what still runs is stopped all the same.
        (client, here.row.into_iter().collect())
    };
    let mut closed = 0;
    let mut forgotten = Vec::new();
    for row in &rows {
        only_people(&client, row, "down").await?;
        if row.up {
            client.steer(&row.id, &Steer::Down).await?;
        }
        closed += close(world, &client, row).await?;
        if args.all && loop_router::folder_is_gone(row) {
            client.end_loop(&row.id).await?;
            forgotten.push(row);
        }
    }
    let others = client.store.loops(false).await?.into_iter().filter(|row| row.up).count();
    let mut said = format!("down: {} closed", windows(closed));
    match &client.router {
        Some(router) if others == 0 => {
            stop_router(world, router).await?;
            said.push_str(", the router has stopped.");
        }
        Some(_) if others == 1 => said.push_str("; the router stays for another loop."),
        Some(_) => said.push_str(&format!("; the router stays for {others} other loops.")),
        None => said.push_str("; no router ran."),
    }
    if args.json {
        let forgotten: Vec<_> = forgotten.iter().map(|row| &row.id).collect();
        output::json(&serde_json::json!({
            "status": "ok", "windows": closed, "others": others, "forgotten": forgotten,
        }));
    } else {
        for row in forgotten {
            let folder = row.worktree.display().to_string();
            output::line(format!("{}: forgotten, its folder {} is gone", plain(&row.slug), plain(&folder)));
        }
        output::line(said);
    }
    Ok(DONE)
}

/// So many windows, in words.
pub(crate) fn windows(count: usize) -> String {
    format!("{count} {}", if count == 1 { "window" } else { "windows" })
}

/// Closes the windows that loop opened, and only those.
pub(crate) async fn close(world: &World, client: &Client, row: &LoopRow) -> Result<usize, Failure> {
    let sessions = client.store.sessions(Some(&row.id)).await?;
    let foreign: Vec<PaneId> = sessions
        .iter()
        .filter(|session| !session.started_by_loop)
        .filter_map(|session| Some(address(session)?.pane))
        .collect();
    // Windows may be in more than one server: where the user moved, or set another socket meanwhile.
    let mut sockets: Vec<Option<PathBuf>> = vec![world.tmux().socket];
    sockets.extend(sessions.iter().filter_map(|session| Some(address(session)?.socket)));
    sockets.dedup();
    let mut closed = 0;
    for socket in sockets {
        let server = Server { socket, ..world.tmux() };
        for pane in server.panes_of(&row.id).await.unwrap_or_default() {
            if !foreign.contains(&pane.id) && server.kill_window(&pane.id).await.is_ok() {
                closed += 1;
            }
        }
    }
    for session in sessions.iter().filter(|session| session.started_by_loop) {
        client.forget_session(&row.id, &session.agent).await?;
    }
    let patch = LoopPatch { session: Some(None), ..LoopPatch::default() };
    client.store.update_loop(&row.id, patch).await?;
    Ok(closed)
}

fn address(session: &SessionRow) -> Option<Address> {
    (session.transport == "tmux").then(|| serde_json::from_str(&session.address).ok())?
}
