//! Giving every agent a session: a window of its own, or a headless run per turn.

mod alone;
mod ready;
mod standing;

use std::collections::BTreeMap;

use loop_core::config::Agent;
use loop_core::{Config, Name};
use loop_router::{agent_environment, transport_session};
use loop_store::{LoopRow, SessionRow};
use loop_transport::kinds::exec;
use loop_transport::kinds::tmux::Address;
use loop_transport::tmux::{OpenWindow, Pane, PaneId, Server, Tags};
use serde::Serialize;

use self::alone::Alone;
use crate::client::Client;
use crate::failure::Failure;
use crate::output;
use crate::starting::{Ground, Start};
use crate::world::World;

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
    /// The CLI's own id of the conversation, where it is known.
    pub(crate) conversation: Option<String>,
    /// Whether its window goes on in a conversation that it had.
    pub(crate) resumed: bool,
    /// What stands in the way of waking it, and what a person does about it.
    pub(crate) trouble: Option<String>,
    /// A window that was opened now.
    #[serde(skip)]
    opened: Option<Opened>,
}

impl Launched {
    fn new(agent: &Agent, transport: &str, place: String) -> Self {
        Self {
            agent: agent.name.clone(),
            kind: agent.kind.clone(),
            transport: transport.to_owned(),
            place,
            conversation: None,
            resumed: false,
            trouble: None,
            opened: None,
        }
    }
}

/// A window that was opened now, and with what.
#[derive(Debug, Clone)]
struct Opened {
    pane: PaneId,
    program: String,
}

/// Which windows are to be opened, and how.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Wanted {
    /// None: each turn is a headless run.
    pub(crate) headless: bool,
    /// A new loop goes on in the conversations of the one before it in this folder.
    pub(crate) keep_conversations: bool,
}

/// Opens what is missing and registers it. Sessions that are there and alive stay as they are; a window that is
/// opened again goes on in the agent's conversation.
pub(crate) async fn launch(
    world: &World,
    client: &Client,
    row: &LoopRow,
    config: &Config,
    wanted: Wanted,
) -> Result<Vec<Launched>, Failure> {
    let _alone = Alone::take(&world.state_dir.join("locks"), &row.id).await?;
    // Another `loop up` may have chosen the session meanwhile.
    let fresh = client.store.loop_row(&row.id).await?;
    let row = fresh.as_ref().unwrap_or(row);
    let server = world.tmux();
    let tmux = !wanted.headless && server.version().await.is_ok_and(|version| version.works());
    let session = if tmux { Some(session_name(client, &server, row).await?) } else { None };
    let earlier = if wanted.keep_conversations { earlier_loop(client, row).await? } else { None };
    let launcher = Launcher { world, client, server: &server, row, config, earlier: earlier.as_ref() };
    let mut opened = Vec::new();
    for agent in config.agents.iter().filter(|agent| takes_part(config, agent)) {
        let transport = transport_of(agent, tmux);
        let launched = match (&session, transport.as_str()) {
            (Some(session), "tmux") => launcher.window(agent, session).await?,
            _ => launcher.without_window(agent, &transport).await?,
        };
        opened.push(launched);
    }
    if tmux {
        launcher.tell_of_strays().await;
    }
    // Programs start side by side; only then is each waited for.
    if let Some(session) = &session {
        for launched in opened.iter_mut().filter(|launched| launched.transport == "tmux") {
            if launched.trouble.is_none() {
                launcher.until_ready(launched, session).await?;
            }
        }
    }
    Ok(opened)
}

/// The newest loop before this one in its folder.
async fn earlier_loop(client: &Client, row: &LoopRow) -> Result<Option<LoopRow>, Failure> {
    let loops = client.store.loops(true).await?;
    let before = loops.into_iter().filter(|old| old.worktree == row.worktree && old.id != row.id);
    Ok(before.filter(|old| old.created_at <= row.created_at).max_by_key(|old| old.created_at))
}

/// What every agent's session is made from.
struct Launcher<'a> {
    world: &'a World,
    client: &'a Client,
    server: &'a Server,
    row: &'a LoopRow,
    config: &'a Config,
    /// The loop in whose conversations this one goes on.
    earlier: Option<&'a LoopRow>,
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

impl Launcher<'_> {
    async fn window(&self, agent: &Agent, session: &str) -> Result<Launched, Failure> {
        let tags = Tags { loop_id: self.row.id.clone(), agent: agent.name.clone() };
        let mut launched = Launched::new(agent, "tmux", format!("{session}:{}", agent.name));
        let there = match self.there(&tags).await? {
            Some(pane) => Some(pane),
            None => self.adopted(agent, &tags).await?,
        };
        let known = self.known_conversation(agent).await?;
        // A tagged pane that shows a shell is not the agent: it is started anew in its place.
        if let Some(pane) = there.as_ref().filter(|pane| !pane.dead && !pane.shows_shell()) {
            if let Some(other) = self.other_program(agent, pane) {
                output::note(format!(
                    "note: {}'s window ran {other}; it is started anew as {}.",
                    agent.name, agent.kind
                ));
            } else {
                launched.conversation.clone_from(&known);
                // A window that a person opened stays theirs, and open.
                let is_ours = pane.started.is_some();
                register(self.client, self.row, agent, pane, known, is_ours).await?;
                return Ok(launched);
            }
        }
        self.open(&mut launched, agent, session, there.map(|pane| pane.id), known.as_deref()).await?;
        Ok(launched)
    }

    /// The conversation in which the agent goes on: the one of this loop, once it has had a turn there; else one of
    /// the loop before, where that is wanted.
    async fn known_conversation(&self, agent: &Agent) -> Result<Option<String>, Failure> {
        let store = &self.client.store;
        if let Some(id) = store.witnessed(&self.row.id, &agent.name).await?.conversation {
            return Ok(Some(id));
        }
        match self.earlier {
            Some(earlier) => Ok(store.witnessed(&earlier.id, &agent.name).await?.conversation),
            None => Ok(None),
        }
    }

    /// Opens the agent's window, or starts its program again in the one that is left.
    async fn open(
        &self,
        launched: &mut Launched,
        agent: &Agent,
        session: &str,
        left: Option<PaneId>,
        known: Option<&str>,
    ) -> Result<(), Failure> {
        let start = start(self.row, self.config, agent, known);
        let Some(program) = start.argv.first().cloned() else {
            launched.trouble = Some(format!(
                "kind `{}` starts no program; give {} a `command:` in loop.yaml",
                agent.kind, agent.name
            ));
            return Ok(());
        };
        let open = OpenWindow {
            session: session.to_owned(),
            name: agent.name.to_string(),
            kind: agent.kind.clone(),
            argv: start.argv,
            env: environment(self.world, self.row, self.config, agent),
            cwd: self.row.worktree.clone(),
            tags: Tags { loop_id: self.row.id.clone(), agent: agent.name.clone() },
        };
        let id = match left {
            Some(id) => {
                self.server.respawn(&id, &open).await.map_err(Failure::users)?;
                id
            }
            None => match self.server.open_window(&open).await {
                Ok(id) => id,
                Err(error) => {
                    launched.trouble = Some(format!("its window cannot be opened: {error}"));
                    return Ok(());
                }
            },
        };
        let pane = self.server.pane(&id).await.map_err(Failure::ours)?;
        launched.conversation.clone_from(&start.conversation);
        launched.resumed = start.resumes;
        launched.opened = Some(Opened { pane: id, program });
        register(self.client, self.row, agent, &pane, start.conversation, true).await
    }
}

/// Registers a pane as an agent's session.
pub(crate) async fn register(
    client: &Client,
    row: &LoopRow,
    agent: &Agent,
    pane: &Pane,
    conversation: Option<String>,
    started_by_loop: bool,
) -> Result<(), Failure> {
    // A program that runs on is no new one.
    let pid = pane.pid.map(i64::from);
    let known = client.store.session(&row.id, &agent.name).await?;
    let known = known.filter(|known| pid.is_some() && known.pid == pid).map(|known| known.registered_at);
    let address = Address { pane: pane.id.clone(), socket: Some(pane.socket.clone()) };
    client
        .put_session(&SessionRow {
            loop_id: row.id.clone(),
            agent: agent.name.clone(),
            transport: "tmux".to_owned(),
            address: serde_json::to_string(&address).map_err(Failure::ours)?,
            conversation,
            pid,
            started_by_loop,
            registered_at: known.unwrap_or_else(jiff::Timestamp::now),
        })
        .await
}

impl Launcher<'_> {
    async fn without_window(&self, agent: &Agent, transport: &str) -> Result<Launched, Failure> {
        let before = self.client.store.session(&self.row.id, &agent.name).await?;
        let same = before.as_ref().filter(|session| session.transport == transport);
        // A run of another transport would be resumed by it as little as another CLI's conversation.
        let known = if transport == "exec" { self.known_conversation(agent).await? } else { None };
        let session = SessionRow {
            loop_id: self.row.id.clone(),
            agent: agent.name.clone(),
            transport: transport.to_owned(),
            address: same.map_or_else(|| "null".to_owned(), |session| session.address.clone()),
            conversation: same.and_then(|session| session.conversation.clone()).or(known),
            pid: None,
            started_by_loop: true,
            registered_at: jiff::Timestamp::now(),
        };
        self.client.put_session(&session).await?;
        let missing = || {
            let available = self.world.agent_env();
            let state = &self.world.state_dir;
            let session = transport_session(self.row, self.config, agent, &session, &available, state);
            exec::program_missing(&session)
        };
        let runs = agent.command.is_some() || !agent.profile.headless.is_empty();
        let (place, trouble) = match transport {
            "exec" if runs => ("one headless run per turn".to_owned(), missing()),
            "exec" | "command" if !runs => (
                "nowhere".to_owned(),
                Some(format!(
                    "kind `{}` has no headless command; give {} a `command:`",
                    agent.kind, agent.name
                )),
            ),
            "command" => ("your program is called per wake".to_owned(), missing()),
            "wait" => (format!("it must call `loop wait {}`", agent.name), None),
            "person" if self.world.tell.is_empty() => (
                "a person".to_owned(),
                Some(
                    "nobody can be told: set `tell:` in your config.yaml (`loop help loop-yaml`)".to_owned(),
                ),
            ),
            "person" => ("a person, told by your `tell:`".to_owned(), None),
            other => (other.to_owned(), None),
        };
        let mut launched = Launched::new(agent, transport, place);
        launched.conversation = session.conversation;
        launched.trouble = trouble;
        Ok(launched)
    }
}

/// How an agent's window is started.
fn start(row: &LoopRow, config: &Config, agent: &Agent, known: Option<&str>) -> Start {
    on_ground(row, config, |ground| Start::new(agent, ground, known))
}

/// The variables of an agent's window.
fn environment(world: &World, row: &LoopRow, config: &Config, agent: &Agent) -> BTreeMap<String, String> {
    let available = world.agent_env();
    on_ground(row, config, |ground| agent_environment(&row.id, agent, &available, &ground.fill(agent, "")))
}

fn on_ground<T>(row: &LoopRow, config: &Config, make: impl FnOnce(Ground<'_>) -> T) -> T {
    let repo = row.worktree.to_string_lossy();
    let git_dir = row.common_dir.to_string_lossy();
    let verify = config.verify.as_ref().map(|words| words.join(" "));
    make(Ground { repo: &repo, git_dir: &git_dir, verify: verify.as_deref() })
}
