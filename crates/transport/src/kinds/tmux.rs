//! A visible window: types what a person would type, and looks what becomes of it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep};

use super::{Options, Row};
use crate::search_path::names;
use crate::tmux::{Eye, Pane, PaneId, PaneLock, Server, Tags, TmuxError, send};
use crate::transport::{Presence, Progress, Receipt, Session, Transport, TransportError, Wake};

pub(super) const ROW: Row = Row {
    name: "tmux",
    about: "types into the agent's visible tmux window and checks what became of it",
    open: |options: &Options| Arc::new(Tmux { server: options.tmux.clone(), locks: options.locks.clone() }),
};

/// How long an agent may take to stop after Escape.
const STOPS: Duration = Duration::from_secs(3);

/// Where an agent's window is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    /// The pane's id.
    pub pane: PaneId,
    /// The server's socket; absent: the one that this transport was opened with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket: Option<PathBuf>,
}

struct Tmux {
    server: Server,
    locks: PathBuf,
}

/// A session's window, found.
struct Window {
    server: Server,
    id: PaneId,
    tags: Tags,
}

impl Tmux {
    fn window(&self, session: &Session) -> Result<Window, TransportError> {
        let address: Address = match &session.address {
            serde_json::Value::String(pane) => PaneId::new(pane)
                .map(|pane| Address { pane, socket: None })
                .ok_or_else(|| bad_address(session, pane))?,
            other => serde_json::from_value(other.clone())
                .map_err(|error| bad_address(session, &error.to_string()))?,
        };
        let socket = address.socket.or_else(|| self.server.socket.clone());
        let server = Server { socket, ..self.server.clone() };
        let tags = Tags { loop_id: session.loop_id.clone(), agent: session.agent.clone() };
        Ok(Window { server, id: address.pane, tags })
    }
}

fn bad_address(session: &Session, why: &str) -> TransportError {
    TransportError::Failed(format!(
        "the address of {}'s window cannot be read: {why}; `loop agents register {}` writes it anew",
        session.agent, session.agent
    ))
}

impl Window {
    /// The pane, if it is there and the agent's. One that was closed and opened again elsewhere is known by its tags.
    async fn pane(&self) -> Result<Result<Pane, Presence>, TransportError> {
        let why = match self.server.pane(&self.id).await {
            Ok(pane) => match owned(&pane, &self.tags) {
                Ok(()) => return Ok(Ok(pane)),
                Err(why) => why,
            },
            Err(TmuxError::NoPane(id)) => closed(&id),
            Err(error) => return Err(trouble(&error)),
        };
        let again = self.server.all_of(&self.tags).await.map_err(|error| trouble(&error))?;
        let living: Vec<&str> = again.iter().filter(|pane| !pane.dead).map(|pane| pane.id.as_str()).collect();
        if living.len() > 1 {
            let why = format!("{why}, and {} are its windows: close all but one", living.join(" and "));
            return Ok(Err(Presence::Unknown(why)));
        }
        Ok(again.into_iter().next().ok_or(why))
    }
}

fn closed(id: &str) -> Presence {
    Presence::Gone(format!("pane {id} is closed"))
}

/// Whether the pane has the agent's tags: an id alone could be another agent's after the server was restarted.
fn owned(pane: &Pane, tags: &Tags) -> Result<(), Presence> {
    match &pane.tags {
        Some(found) if found == tags => Ok(()),
        Some(found) => Err(Presence::Gone(format!(
            "pane {} belongs to {} of another loop or agent (loop {})",
            pane.id, found.agent, found.loop_id
        ))),
        None => Err(Presence::Gone(format!("pane {} is not an agent's", pane.id))),
    }
}

fn trouble(error: &TmuxError) -> TransportError {
    match error {
        TmuxError::Missing { program, source } => TransportError::ToolMissing {
            tool: program.display().to_string(),
            why: source.to_string(),
            hint: "install tmux, or use the transport `exec`".to_owned(),
        },
        other => TransportError::Failed(other.to_string()),
    }
}

/// What nobody can tell from here, a person sees.
fn with_a_way(presence: Presence, session: &Session) -> Presence {
    match presence {
        Presence::Unknown(seen) => {
            Presence::Unknown(format!("{seen}; `loop attach {}` shows its window", session.agent))
        }
        other => other,
    }
}

/// How to read the session's window. A script runs under its interpreter's name, so that counts as its own.
fn eye(session: &Session) -> Eye<'_> {
    let argv = session.command.as_ref().unwrap_or(&session.profile.start);
    let program = argv.first();
    let programs = program.map(|program| names(program, &session.env, &session.workdir)).unwrap_or_default();
    Eye::new(&session.profile, programs).past_limit(session.past_limit)
}

#[async_trait]
impl Transport for Tmux {
    async fn probe(&self, session: &Session) -> Result<Presence, TransportError> {
        let window = self.window(session)?;
        let eye = eye(session);
        match eye.see(&window.server, &window.id).await {
            Ok(seen) if owned(&seen.pane, &window.tags).is_ok() => {
                return Ok(with_a_way(seen.presence, session));
            }
            Ok(_) | Err(TmuxError::NoPane(_)) => {}
            Err(error) => return Err(trouble(&error)),
        }
        let pane = match window.pane().await? {
            Ok(pane) => pane,
            Err(presence) => return Ok(presence),
        };
        match eye.see(&window.server, &pane.id).await {
            Ok(seen) => {
                Ok(owned(&seen.pane, &window.tags).err().unwrap_or(with_a_way(seen.presence, session)))
            }
            Err(TmuxError::NoPane(id)) => Ok(closed(&id)),
            Err(error) => Err(trouble(&error)),
        }
    }

    async fn wake(
        &self,
        session: &Session,
        wake: &Wake,
        progress: &dyn Progress,
    ) -> Result<Receipt, TransportError> {
        if wake.text.is_empty() || wake.text.chars().any(char::is_control) {
            return Err(TransportError::Failed(format!(
                "the text for {} is not one plain line; check `invoke:` of its kind",
                session.agent
            )));
        }
        let window = self.window(session)?;
        let pane = window.pane().await?.map_err(TransportError::NotNow)?;
        let _lock = PaneLock::take(&self.locks, &pane).await?;
        let check = |pane: &Pane| owned(pane, &window.tags);
        let eye = eye(session);
        if session.past_limit {
            window.server.leave_limit_menu(&eye, &pane.id).await.map_err(|error| trouble(&error))?;
        }
        let ways = session.profile.signs.told.iter();
        let shown: Vec<String> = ways
            .map(|words| words.replace("{name}", session.agent.as_str()).replace("{text}", &wake.text))
            .collect();
        let sent = send(&window.server, &eye, &pane.id, &check, &wake.text, &shown, progress).await;
        let (state, note) = sent.map_err(|error| match error {
            TransportError::NotNow(presence) => TransportError::NotNow(with_a_way(presence, session)),
            other => other,
        })?;
        let moved = (pane.id != window.id)
            .then(|| Address { pane: pane.id.clone(), socket: Some(pane.socket.clone()) })
            .and_then(|address| serde_json::to_value(address).ok());
        Ok(Receipt { state, conversation: None, note, address: moved })
    }

    async fn interrupt(&self, session: &Session) -> Result<(), TransportError> {
        // Escape is what every known CLI offers while it works; at other times it may mean something else.
        for _ in 0..2 {
            match self.probe(session).await? {
                Presence::Busy => {}
                Presence::Idle | Presence::Draft(_) | Presence::Gone(_) | Presence::Shell(_) => return Ok(()),
                other => return Err(TransportError::NotNow(other)),
            }
            let window = self.window(session)?;
            let pane = window.pane().await?.map_err(TransportError::NotNow)?;
            let keys = ["send-keys", "-t", pane.id.as_str(), "Escape"];
            window.server.tmux(&keys).await.map_err(|error| trouble(&error))?;
            let deadline = Instant::now() + STOPS;
            while Instant::now() < deadline {
                sleep(Duration::from_millis(100)).await;
                if self.probe(session).await? != Presence::Busy {
                    return Ok(());
                }
            }
        }
        Err(TransportError::Unknown(format!(
            "{} still works after Escape; stop it in its window (`loop attach {}`)",
            session.agent, session.agent
        )))
    }

    async fn capture(&self, session: &Session) -> Result<String, TransportError> {
        let window = self.window(session)?;
        let pane = window.pane().await?.map_err(TransportError::NotNow)?;
        window.server.last_lines(&pane.id).await.map_err(|error| trouble(&error))
    }

    async fn still_since(&self, session: &Session) -> Result<Option<Timestamp>, TransportError> {
        let window = self.window(session)?;
        let Ok(pane) = window.pane().await? else { return Ok(None) };
        let ask = ["display-message", "-p", "-t", pane.id.as_str(), "#{window_activity}"];
        let answer = window.server.tmux(&ask).await.map_err(|error| trouble(&error))?;
        Ok(answer.trim().parse().ok().and_then(|second| Timestamp::from_second(second).ok()))
    }
}
