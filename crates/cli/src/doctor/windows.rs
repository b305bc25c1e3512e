//! tmux: a window is opened on a socket of its own, and closed.

use std::time::Duration;

use loop_core::Name;
use loop_transport::tmux::{OpenWindow, Server, Tags, TmuxError, Version};

use super::{Check, Report};
use crate::world::World;

const DEADLINE: Duration = Duration::from_secs(30);

/// Whether windows can be opened here.
pub(super) async fn tmux(world: &World, report: &mut Report) -> bool {
    let version = match world.tmux().version().await {
        Ok(version) if version.works() => version,
        Ok(version) => {
            let (major, minor) = Version::OLDEST;
            let says = format!("tmux {} is too old; agents run headless", version.text);
            report.add(Check::unproven(
                "tmux",
                says,
                format!("tmux {major}.{minor} or newer opens windows for them"),
            ));
            return false;
        }
        Err(TmuxError::Missing { .. }) => {
            let says = "it is not installed; agents run headless, one process per turn";
            report.add(Check::unproven("tmux", says, "install tmux to have them in windows"));
            return false;
        }
        Err(error) => {
            report.add(Check::not_ok(
                "tmux",
                error.to_string(),
                "mend tmux, or give the agents `transport: exec`",
            ));
            return false;
        }
    };
    let tried = tokio::time::timeout(DEADLINE, open_and_close(world)).await;
    let next = "mend tmux, or give the agents `transport: exec`";
    let (works, check) = match tried {
        Ok(Ok(())) => (
            true,
            Check::ok(
                "tmux",
                format!("{}, a window was opened and closed on a socket of its own", version.text),
            ),
        ),
        Ok(Err(why)) => (false, Check::not_ok("tmux", format!("{}: {why}", version.text), next)),
        Err(_) => (
            false,
            Check::not_ok(
                "tmux",
                format!("{} does not answer within {} s", version.text, DEADLINE.as_secs()),
                next,
            ),
        ),
    };
    report.add(check);
    works
}

async fn open_and_close(world: &World) -> Result<(), String> {
    // A socket's path must be short, which the user's own folder for temporary files need not be.
    let short = std::env::temp_dir().as_os_str().len() <= 60;
    let folder = if short { std::env::temp_dir() } else { "/tmp".into() };
    let scratch = tempfile::Builder::new().prefix("loop-doctor-").tempdir_in(folder);
    let scratch = scratch.map_err(|error| format!("no folder for its socket: {error}"))?;
    let config = scratch.path().join("empty.conf");
    std::fs::write(&config, "").map_err(|error| error.to_string())?;
    let server = Server {
        env: Some(world.env.clone()),
        config: Some(config),
        ..Server::at(scratch.path().join("tmux.sock"))
    };
    let agent = Name::new("doctor").map_err(|error| error.to_string())?;
    let window = OpenWindow {
        session: "loop-doctor".to_owned(),
        name: "doctor".to_owned(),
        kind: "doctor".to_owned(),
        argv: vec!["cat".to_owned()],
        env: world
            .env
            .iter()
            .filter(|(name, _)| *name == "PATH")
            .map(|(n, v)| (n.clone(), v.clone()))
            .collect(),
        cwd: scratch.path().to_owned(),
        tags: Tags { loop_id: "doctor".to_owned(), agent },
    };
    let opened = server.open_window(&window).await;
    let found = server.find(&window.tags).await;
    // With its last pane the server ends too.
    for pane in server.panes().await.unwrap_or_default() {
        let _ = server.kill_window(&pane.id).await;
    }
    let id = opened.map_err(|error| error.to_string())?;
    match found.map_err(|error| error.to_string())? {
        Some(pane) if pane.id == id && !pane.dead => {}
        Some(pane) => return Err(format!("the program in the window ended at once ({})", pane.ended)),
        None => return Err("the window was opened, and is not there".to_owned()),
    }
    // A server that is just ending has odd answers to anything else.
    match server.session_exists(&window.session).await {
        Ok(false) => Ok(()),
        Ok(true) => Err("its window cannot be closed".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
