//! One agent in one window of a tmux server of its own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use loop_core::{Name, Profile};
use loop_testkit::script::{LogLine, Script, Step, read_log, submitted};
use loop_testkit::{Sandbox, TestRepo, eventually_async, require_tool};
use loop_transport::tmux::{NotReady, OpenWindow, PaneId, Server, Tags};
use loop_transport::{NoProgress, Options, Presence, Receipt, Session, Transport, TransportError, Wake};

/// Longer than anything here takes, also on a busy machine.
pub(crate) const LONG: Duration = Duration::from_secs(30);

/// A program that prompts, takes a line, works until the gate is open, and prompts again.
const PROMPT: &str = "while printf '> ' && IFS= read -r line; do
    printf '%s\\n' \"$line\" >> heard
    echo 'working ...'
    while ! test -e gate; do sleep 0.05; done
    rm gate
    echo 'that is done.'
done
";

pub(crate) struct Stage {
    pub(crate) sandbox: Sandbox,
    pub(crate) repo: TestRepo,
    pub(crate) server: Server,
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) session: Session,
    pub(crate) pane: PaneId,
    pub(crate) ready: Result<(), NotReady>,
    log: PathBuf,
}

impl Stage {
    /// Opens a window for an agent that plays `script`; `None`, loudly, where there is no tmux.
    pub(crate) async fn open(script: &Script) -> Option<Self> {
        Self::open_as("CC", script, |_| {}).await
    }

    pub(crate) async fn open_as(
        name: &str,
        script: &Script,
        change: impl FnOnce(&mut OpenWindow),
    ) -> Option<Self> {
        let profile = loop_core::profile::builtin("scripted").unwrap();
        let argv = |sandbox: &Sandbox, log: &Path| {
            let script = sandbox.write("script.json", script.to_json());
            let program = env!("CARGO_BIN_EXE_loop-fake-agent");
            let (script, log) = (script.to_str().unwrap(), log.to_str().unwrap());
            [program, "--name", name, "--script", script, "--log", log].map(str::to_owned).into()
        };
        Self::open_with(name, profile, argv, change).await
    }

    /// Opens a window for a program with a prompt and nothing else, read by the signs of docs/loop-yaml.md.
    pub(crate) async fn open_prompt(yaml: &str) -> Option<Self> {
        let config = loop_core::Config::parse(yaml, "loop.yaml", &BTreeMap::new()).unwrap();
        let agent = config.agents[0].clone();
        let argv = |sandbox: &Sandbox, _: &Path| {
            let program = sandbox.write("prompt", PROMPT);
            vec!["sh".to_owned(), program.display().to_string()]
        };
        Self::open_with(agent.name.as_str(), agent.profile, argv, |_| {}).await
    }

    async fn open_with(
        name: &str,
        profile: Profile,
        argv: impl FnOnce(&Sandbox, &Path) -> Vec<String>,
        change: impl FnOnce(&mut OpenWindow),
    ) -> Option<Self> {
        if !require_tool("tmux", "-V") {
            return None;
        }
        let sandbox = Sandbox::new();
        let repo = sandbox.repo("project");
        let log = sandbox.root().join("agent.log");
        let argv = argv(&sandbox, &log);
        let words = |text: &str| text.to_owned();
        let server = Server {
            env: Some(sandbox.env_text()),
            config: Some("/dev/null".into()),
            ..Server::at(sandbox.tmux_socket())
        };
        let name = Name::new(name).unwrap();
        let mut window = OpenWindow {
            session: words("loop-project"),
            name: name.to_string(),
            kind: profile.kind.clone(),
            argv: argv.clone(),
            env: sandbox.env_text(),
            cwd: repo.path().to_owned(),
            tags: Tags { loop_id: words("loop-1"), agent: name.clone() },
        };
        change(&mut window);
        let pane = server.open_window(&window).await.unwrap();
        let ready = server.wait_ready(&pane, &profile, &argv[0], repo.path(), LONG).await;
        let options = Options { tmux: server.clone(), ..Options::new(sandbox.root().join("locks")) };
        let session = Session {
            address: serde_json::json!({"pane": pane}),
            command: Some(argv),
            env: sandbox.env_text(),
            outputs: sandbox.root().join("outputs"),
            ..Session::new("loop-1", name, "tmux", profile, repo.path())
        };
        let transport = loop_transport::open("tmux", &options).unwrap();
        Some(Self { sandbox, repo, server, transport, session, pane, ready, log })
    }

    pub(crate) fn text(&self) -> String {
        self.session.profile.wake_text(self.session.agent.as_str())
    }

    pub(crate) async fn wake(&self) -> Result<Receipt, TransportError> {
        self.wake_with(&self.text()).await
    }

    pub(crate) async fn wake_with(&self, text: &str) -> Result<Receipt, TransportError> {
        let wake = Wake { delivery_id: "d-1".to_owned(), attempt: 1, text: text.to_owned() };
        self.transport.wake(&self.session, &wake, &NoProgress).await
    }

    pub(crate) async fn probe(&self) -> Presence {
        self.transport.probe(&self.session).await.unwrap()
    }

    pub(crate) async fn until(&self, expected: Presence) {
        eventually_async(&format!("{expected:?}"), LONG, || async {
            let presence = self.probe().await;
            if presence == expected { Ok(()) } else { Err(format!("{presence:?}\n{}", self.picture())) }
        })
        .await;
    }

    /// Waits for an event in the agent's own log.
    pub(crate) async fn until_logged(&self, event: &str) {
        eventually_async(&format!("`{event}` in the log"), LONG, || async {
            let log = self.log();
            if log.iter().any(|line| line.event == event) { Ok(()) } else { Err(format!("{log:?}")) }
        })
        .await;
    }

    /// What was really submitted.
    pub(crate) fn submitted(&self) -> Vec<String> {
        submitted(&self.log)
    }

    pub(crate) fn log(&self) -> Vec<LogLine> {
        read_log(&self.log)
    }

    pub(crate) fn count(&self, event: &str) -> usize {
        self.log().iter().filter(|line| line.event == event).count()
    }

    pub(crate) fn keys(&self, keys: &[&str]) {
        self.sandbox.tmux(&[&["send-keys", "-t", self.pane.as_str()], keys].concat());
    }

    pub(crate) fn picture(&self) -> String {
        self.sandbox.tmux(&["capture-pane", "-p", "-t", self.pane.as_str()])
    }

    /// Lets a turn that waits for the file `gate` end.
    pub(crate) fn open_gate(&self) {
        self.repo.write("gate", "");
    }
}

/// A turn that works until the gate is opened.
pub(crate) fn gated() -> Vec<Step> {
    vec![Step::WaitFor("gate".to_owned())]
}
