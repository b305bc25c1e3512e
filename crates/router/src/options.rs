//! What a router is started with.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use jiff::tz::TimeZone;
use loop_core::Profile;
use loop_git::GitEnv;
use loop_transport::tmux::Server;

use crate::key::Key;

/// Everything that a router needs to know; it reads neither the environment nor a settings file.
#[derive(Clone)]
pub struct Options {
    /// The state folder: `router.json`, outputs of turns, scratch worktrees.
    pub state_dir: PathBuf,
    /// Where the store is, for example `sqlite:///home/dana/.local/state/agent-loop/loop.db`.
    pub store_url: String,
    /// Where to listen. Loopback addresses only, unless `anywhere` is set.
    pub listen: SocketAddr,
    /// Whether `listen` may be taken by a neighbour: then the next free port is used and recorded.
    pub port_may_move: bool,
    /// Whether an address other than loopback is allowed.
    pub anywhere: bool,
    /// The key that every request but `GET /health` must carry.
    pub key: Key,
    /// The environment for git.
    pub git_env: GitEnv,
    /// The environment from which an agent's is built: only what a profile names is taken from it, plus the
    /// few variables that every program needs (`PATH`, `HOME`, `USER`, `LANG`, `TERM`, `TMPDIR`, …).
    pub agent_env: BTreeMap<String, String>,
    /// Further kinds of agents from the user's settings.
    pub kinds: BTreeMap<String, Profile>,
    /// How a person is reached.
    pub tell: crate::tell::Tell,
    /// The tmux server whose windows are typed into.
    pub tmux: Server,
    /// Transports in addition to the built-in ones, by name; one of the same name replaces it.
    pub transports: Vec<(String, std::sync::Arc<dyn loop_transport::Transport>)>,
    /// Whether references are watched, besides rings and the sweep.
    pub watch: bool,
    /// How often everything is looked at without being rung.
    pub sweep: Duration,
    /// How often agents that have been woken are looked at.
    pub look: Duration,
    /// How long an agent must stand still before it counts as settled.
    pub quiet: Duration,
    /// How long an agent may ask something before a person is told.
    pub ask_patience: Duration,
    /// How long a delivery may wait for another reason before a person is told.
    pub wait_patience: Duration,
    /// The pause after the first failed try to wake; each further one doubles it, up to 24 times this.
    pub first_pause: Duration,
    /// How long after the end of a usage limit the agent is looked at and woken.
    pub limit_margin: Duration,
    /// How long a usage limit may last before the loop is held for a person.
    pub limit_patience: Duration,
    /// The time zone in which agents tell times of the day.
    pub time_zone: TimeZone,
    /// The most that a transport may take to wake an agent; whether the text arrived is unknown then.
    pub send_limit: Duration,
    /// The most that a client may take for the head of its request.
    pub header_limit: Duration,
    /// The most that `verify` may take.
    pub verify_limit: Duration,
    /// The version to be recorded in `router.json`.
    pub version: String,
}

impl Options {
    /// The usual values for a state folder and a key; the caller adds environment and settings.
    pub fn new(state_dir: PathBuf, key: Key, git_env: GitEnv) -> Self {
        let store_url = format!("sqlite://{}", state_dir.join("loop.db").display());
        Self {
            state_dir,
            store_url,
            listen: SocketAddr::from(([127, 0, 0, 1], 5679)),
            port_may_move: true,
            anywhere: false,
            key,
            git_env,
            agent_env: BTreeMap::new(),
            kinds: BTreeMap::new(),
            tell: crate::tell::Tell::default(),
            tmux: Server::default(),
            transports: Vec::new(),
            watch: true,
            sweep: Duration::from_secs(10),
            look: Duration::from_secs(1),
            quiet: Duration::from_secs(15),
            ask_patience: Duration::from_secs(60),
            wait_patience: Duration::from_secs(600),
            first_pause: Duration::from_secs(5),
            limit_margin: Duration::from_secs(120),
            limit_patience: Duration::from_secs(6 * 3600),
            time_zone: TimeZone::UTC,
            send_limit: Duration::from_secs(100),
            header_limit: Duration::from_secs(10),
            verify_limit: Duration::from_secs(1800),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}
