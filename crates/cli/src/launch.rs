//! Giving every agent a session: a window of its own, or a headless run per turn.

use std::time::Duration;

use loop_core::config::{Agent, Fill};
use loop_core::plain::plain;
use loop_core::{Config, Name};
use loop_router::{agent_environment, transport_session};
use loop_store::{LoopRow, SessionRow};
use loop_transport::kinds::exec;
use loop_transport::kinds::tmux::Address;
use loop_transport::tmux::{OpenWindow, Pane, Server, Tags};
use serde::Serialize;

use crate::client::Client;
use crate::failure::Failure;
use crate::output;
use crate::world::World;

/// How long a CLI may take until it takes input.
const READY: Duration = Duration::from_secs(90);

/// What became of one agent's session.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Launched {
    /// The agent.
    pub(crate) agent: Name,
    /// Its kind of CLI.
    pub(crate) kind: String,
    /// How it is reached.
    pub(crate) transport: String,
    /// Where, in words.
    pub(crate) place: String,
    /// What stands in the way of waking it, and what a person does about it.
    pub(crate) trouble: Option<String>,
}

/// Opens what is missing and registers it. Sessions that are there and alive stay as they are.
pub(crate) async fn launch(
    world: &World,
    client: &Client,
    row: &LoopRow,
    config: &Config,
    headless: bool,
) -> Result<Vec<Launched>, Failure> {
    let server = world.tmux();
    let tmux = !headless && server.version().await.is_ok_and(|version| version.works());
    let wanted = config.agents.iter().filter(|agent| takes_part(config, agent));
    let session = if tmux { Some(session_name(client, &server, row).await?) } else { None };
    let mut opened = Vec::new();
    for agent in wanted {
        let transport = transport_of(agent, tmux);
        let launched = match (&session, transport.as_str()) {
            (Some(session), "tmux") => window(world, client, &server, row, config, agent, session).await?,
            _ => without_window(world, client, row, config, agent, &transport).await?,
        };
        opened.push(launched);
    }
    // Programs start side by side; only then is each waited for.
    if tmux {
        for launched in
            opened.iter_mut().filter(|launched| launched.transport == "tmux" && launched.trouble.is_none())
        {
            launched.trouble = wait_until_ready(&server, row, config, &launched.agent).await;
        }
    }
    Ok(opened)
}

/// The rotation's agents, those that a hand-over can name, and a planner with a window of its own.
fn takes_part(config: &Config, agent: &Agent) -> bool {
    !agent.skip || config.planner.as_ref() == Some(&agent.name)
}

/// The transport by which an agent is reached, where `tmux` is there or not.
pub(crate) fn transport_of(agent: &Agent, tmux: bool) -> String {
    let possible = |name: &&String| name.as_str() != "tmux" || tmux;
    match agent.transport.iter().find(possible) {
        Some(transport) => transport.clone(),
        None if tmux && agent.transport.is_empty() => "tmux".to_owned(),
        None => "exec".to_owned(),
    }
}

/// `loop-<repository>`, or with the loop's id where another loop has that name.
async fn session_name(client: &Client, server: &Server, row: &LoopRow) -> Result<String, Failure> {
    if let Some(session) = &row.session {
        return Ok(session.clone());
    }
    let folder = row.worktree.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    // tmux reads `.` and `:` in a target as separators.
    let tidy: String =
        folder.chars().map(|c| if c.is_alphanumeric() || c == '-' || c == '_' { c } else { '_' }).collect();
    let mut name = format!("loop-{tidy}");
    if server.session_exists(&name).await.map_err(Failure::ours)? {
        let id: String = row.id.chars().rev().take(6).collect::<Vec<_>>().into_iter().rev().collect();
        name = format!("{name}-{id}");
    }
    let patch =
        loop_store::LoopPatch { session: Some(Some(name.clone())), ..loop_store::LoopPatch::default() };
    client.store.update_loop(&row.id, patch).await?;
    Ok(name)
}

async fn window(
    world: &World,
    client: &Client,
    server: &Server,
    row: &LoopRow,
    config: &Config,
    agent: &Agent,
    session: &str,
) -> Result<Launched, Failure> {
    let tags = Tags { loop_id: row.id.clone(), agent: agent.name.clone() };
    let mut launched = Launched {
        agent: agent.name.clone(),
        kind: agent.kind.clone(),
        transport: "tmux".to_owned(),
        place: format!("{session}:{}", agent.name),
        trouble: None,
    };
    let argv = start_command(row, config, agent);
    if argv.is_empty() {
        launched.trouble = Some(format!(
            "kind `{}` starts no program; give {} a `command:` in loop.yaml",
            agent.kind, agent.name
        ));
        return Ok(launched);
    }
    let open = OpenWindow {
        session: session.to_owned(),
        name: agent.name.to_string(),
        argv,
        env: agent_environment(agent, &world.agent_env()),
        cwd: row.worktree.clone(),
        tags: tags.clone(),
    };
    let there = server.find(&tags).await.map_err(Failure::ours)?;
    let id = match there {
        // A tagged pane that shows a shell is not the agent: it is started anew in its place.
        Some(pane) if pane.dead || is_shell(&pane) => {
            server.respawn(&pane.id, &open).await.map_err(Failure::users)?;
            pane.id
        }
        Some(pane) => pane.id,
        None => match server.open_window(&open).await {
            Ok(id) => id,
            Err(error) => {
                launched.trouble = Some(format!("its window cannot be opened: {error}"));
                return Ok(launched);
            }
        },
    };
    let pane = server.pane(&id).await.map_err(Failure::ours)?;
    register(client, row, agent, &pane, true).await?;
    Ok(launched)
}

/// Registers a pane as an agent's session.
pub(crate) async fn register(
    client: &Client,
    row: &LoopRow,
    agent: &Agent,
    pane: &Pane,
    started_by_loop: bool,
) -> Result<(), Failure> {
    let address = Address { pane: pane.id.clone(), socket: Some(pane.socket.clone()) };
    client
        .put_session(&SessionRow {
            loop_id: row.id.clone(),
            agent: agent.name.clone(),
            transport: "tmux".to_owned(),
            address: serde_json::to_string(&address).map_err(Failure::ours)?,
            conversation: None,
            pid: pane.pid.map(i64::from),
            started_by_loop,
            registered_at: jiff::Timestamp::now(),
        })
        .await
}

async fn without_window(
    world: &World,
    client: &Client,
    row: &LoopRow,
    config: &Config,
    agent: &Agent,
    transport: &str,
) -> Result<Launched, Failure> {
    let before = client.store.session(&row.id, &agent.name).await?;
    let same = before.as_ref().filter(|session| session.transport == transport);
    let session = SessionRow {
        loop_id: row.id.clone(),
        agent: agent.name.clone(),
        transport: transport.to_owned(),
        address: same.map_or_else(|| "null".to_owned(), |session| session.address.clone()),
        conversation: same.and_then(|session| session.conversation.clone()),
        pid: None,
        started_by_loop: true,
        registered_at: jiff::Timestamp::now(),
    };
    client.put_session(&session).await?;
    let missing = || {
        let available = world.agent_env();
        let session = transport_session(row, config, agent, &session, &available, &world.state_dir);
        exec::program_missing(&session)
    };
    let runs = agent.command.is_some() || !agent.profile.headless.is_empty();
    let (place, trouble) = match transport {
        "exec" if runs => ("one headless run per turn".to_owned(), missing()),
        "exec" | "command" if !runs => (
            "nowhere".to_owned(),
            Some(format!("kind `{}` has no headless command; give {} a `command:`", agent.kind, agent.name)),
        ),
        "command" => ("your program is called per wake".to_owned(), missing()),
        "wait" => (format!("it must call `loop wait {}`", agent.name), None),
        "person" if world.tell.is_empty() => (
            "a person".to_owned(),
            Some("nobody can be told: set `tell:` in your config.yaml (`loop help loop-yaml`)".to_owned()),
        ),
        "person" => ("a person, told by your `tell:`".to_owned(), None),
        other => (other.to_owned(), None),
    };
    Ok(Launched {
        agent: agent.name.clone(),
        kind: agent.kind.clone(),
        transport: transport.to_owned(),
        place,
        trouble,
    })
}

/// Program and arguments of an agent's window.
fn start_command(row: &LoopRow, config: &Config, agent: &Agent) -> Vec<String> {
    let template = match &agent.command {
        Some(command) => command.clone(),
        None if agent.profile.start.is_empty() => return Vec::new(),
        None => [&agent.profile.start, agent.profile.flags(agent.permissions)].concat(),
    };
    let repo = row.worktree.to_string_lossy();
    let git_dir = row.common_dir.to_string_lossy();
    let verify = config.verify.as_ref().map(|words| words.join(" "));
    let fill = Fill {
        name: agent.name.as_str(),
        text: "",
        repo: &repo,
        session: "",
        git_dir: Some(&git_dir),
        verify: verify.as_deref(),
    };
    fill.command(&template)
}

/// Whether a pane shows a shell instead of an agent.
pub(crate) fn is_shell(pane: &Pane) -> bool {
    let shells = ["sh", "bash", "zsh", "fish", "dash", "ksh", "nu", "pwsh"];
    shells.contains(&pane.command.trim_start_matches('-'))
}

async fn wait_until_ready(server: &Server, row: &LoopRow, config: &Config, name: &Name) -> Option<String> {
    let agent = config.agent(name)?;
    let tags = Tags { loop_id: row.id.clone(), agent: name.clone() };
    let pane = match server.find(&tags).await {
        Ok(Some(pane)) => pane,
        Ok(None) => return Some("its window is gone".to_owned()),
        Err(error) => return Some(error.to_string()),
    };
    let argv = start_command(row, config, agent);
    let program = argv.first().map(String::as_str).unwrap_or_default();
    let ready = server.wait_ready(&pane.id, &agent.profile, program, &row.worktree, READY);
    match with_word(ready, &format!("waiting until {name} takes input …")).await {
        Ok(()) => None,
        Err(error) => Some(plain(&error.to_string()).into_owned()),
    }
}

/// Says what is waited for when it takes more than a second.
async fn with_word<T>(work: impl Future<Output = T>, word: &str) -> T {
    tokio::pin!(work);
    tokio::select! {
        done = &mut work => return done,
        () = tokio::time::sleep(Duration::from_secs(1)) => output::note(word),
    }
    work.await
}
