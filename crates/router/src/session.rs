//! Finding the session of an agent: its transport, its address and what it may see.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use loop_core::config::{Agent, Fill};
use loop_core::{Config, Name};
use loop_store::{LoopRow, SessionRow, StoreError};
use loop_transport::{Session, Transport};

use crate::desk::Desk;

/// A session with the transport that reaches it.
pub(crate) struct Reached {
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) session: Session,
}

/// Variables that any program may need, and that say nothing about the user's secrets.
const HARMLESS: [&str; 14] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TERM",
    "COLORTERM",
    "TMPDIR",
    "TZ",
    "XDG_CONFIG_HOME",
    "XDG_STATE_HOME",
];

/// Builds an agent's environment: the harmless variables, what its profile names, what its entry sets, and by which
/// name it takes part in which loop, for its turn hooks. Nothing else is inherited, no `GIT_*` and no foreign key.
/// `fill` is what its permissions are filled with.
pub fn agent_environment(
    loop_id: &str,
    agent: &Agent,
    available: &BTreeMap<String, String>,
    fill: &Fill<'_>,
) -> BTreeMap<String, String> {
    let wanted = HARMLESS.iter().copied().chain(agent.profile.pass_env.iter().map(String::as_str));
    let mut built: BTreeMap<String, String> =
        wanted.filter_map(|name| available.get(name).map(|value| (name.to_owned(), value.clone()))).collect();
    built.extend(agent.profile.env.clone());
    let permissions = agent.profile.variables(agent.permissions);
    built.extend(permissions.map(|(name, value)| (name.to_owned(), fill.variable(value))));
    built.extend(agent.env.clone());
    built.insert("LOOP_ID".to_owned(), loop_id.to_owned());
    built.insert("LOOP_AGENT".to_owned(), agent.name.to_string());
    built
}

/// Puts together what a transport needs to reach an agent: its registered session, its entry in `loop.yaml`, and
/// its environment out of `available`.
pub fn transport_session(
    row: &LoopRow,
    config: &Config,
    agent: &Agent,
    session: &SessionRow,
    available: &BTreeMap<String, String>,
    state_dir: &Path,
) -> Session {
    let verify = config.verify.as_ref().map(|words| words.join(" "));
    let fill = Fill {
        name: agent.name.as_str(),
        repo: &row.worktree.to_string_lossy(),
        git_dir: Some(&row.common_dir.to_string_lossy()),
        verify: verify.as_deref(),
        ..Fill::default()
    };
    Session {
        loop_id: row.id.clone(),
        agent: agent.name.clone(),
        kind: session.transport.clone(),
        address: serde_json::from_str(&session.address).unwrap_or(serde_json::Value::Null),
        workdir: row.worktree.clone(),
        profile: agent.profile.clone(),
        command: agent.command.clone(),
        permissions: agent.permissions,
        env: agent_environment(&row.id, agent, available, &fill),
        conversation: session.conversation.clone(),
        outputs: state_dir.join("outputs").join(&row.id),
        git_dir: Some(row.common_dir.clone()),
        verify,
        past_limit: false,
        // A run of its own per turn has ended with it; when a window began that loop did not open nobody knows.
        began: (session.started_by_loop && session.transport == "tmux").then_some(session.registered_at),
    }
}

impl Desk {
    /// Finds how `agent` is reached now. `Ok(Err(why))`: it is not, in words for a person.
    pub(crate) async fn reach(
        &self,
        row: &LoopRow,
        config: &Config,
        agent: &Name,
    ) -> Result<Result<Reached, String>, StoreError> {
        let Some(entry) = config.agent(agent) else {
            return Ok(Err(format!("{agent} is no agent of loop.yaml")));
        };
        let session = match self.store.session(&row.id, agent).await? {
            Some(session) => session,
            None => match self.default_session(row, entry) {
                Ok(session) => {
                    self.store.put_session(&session).await?;
                    session
                }
                Err(why) => return Ok(Err(why)),
            },
        };
        let Some(transport) = self.transports.get(&session.transport) else {
            return Ok(Err(format!("no transport `{}` is known here", session.transport)));
        };
        let session =
            transport_session(row, config, entry, &session, &self.options.agent_env, &self.options.state_dir);
        Ok(Ok(Reached { transport: Arc::clone(transport), session }))
    }

    /// Writes down the conversation that the agent's last run began, so that the next one goes on in it.
    pub(crate) async fn keep_conversation(
        &self,
        row: &LoopRow,
        reached: &mut Reached,
    ) -> Result<(), StoreError> {
        let limit = self.options.send_limit;
        let finished = tokio::time::timeout(limit, reached.transport.finished(&reached.session)).await;
        let Ok(Ok(Some(finished))) = finished else { return Ok(()) };
        if finished.conversation.is_none() || finished.conversation == reached.session.conversation {
            return Ok(());
        }
        if let Some(mut session) = self.store.session(&row.id, &reached.session.agent).await? {
            session.conversation.clone_from(&finished.conversation);
            self.store.put_session(&session).await?;
        }
        reached.session.conversation = finished.conversation;
        Ok(())
    }

    /// An agent without a registered session: transports that need no window reach it all the same.
    fn default_session(&self, row: &LoopRow, entry: &Agent) -> Result<SessionRow, String> {
        let wanted = entry.transport.first().map(String::as_str);
        match wanted {
            Some("tmux") | None => Err(format!("{} has no window yet; `loop up` opens one", entry.name)),
            Some(transport) => Ok(SessionRow {
                loop_id: row.id.clone(),
                agent: entry.name.clone(),
                transport: transport.to_owned(),
                address: "null".to_owned(),
                conversation: None,
                pid: None,
                started_by_loop: true,
                registered_at: jiff::Timestamp::now(),
            }),
        }
    }
}
