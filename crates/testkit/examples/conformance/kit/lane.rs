//! One window with a fake agent, and the wakes that go there.

use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use loop_core::Name;
use loop_testkit::Sandbox;
use loop_testkit::tui::{Script, Truth};
use loop_transport::tmux::{OpenWindow, PaneId, Server, Tags};
use loop_transport::{NoProgress, Options, Presence, Receipt, Session, Transport, TransportError, Wake};
use tokio::process::Command;
use tokio::time::sleep;

use super::case::Case;
use super::judge::{Outcome, Verdict, judge};

/// For how long what is waited for is tried again, as the router does.
const WAITS: Duration = Duration::from_secs(4);
/// A state that holds so long has settled.
const QUIET: Duration = Duration::from_millis(700);
/// How long a wake of which nothing is known is looked after.
const LOOKED_AFTER: Duration = Duration::from_secs(12);
/// For how long a key that was pressed may be on its way.
const ON_ITS_WAY: Duration = Duration::from_millis(250);
/// How long a fake may take to begin a script, its start in a machine with many others included.
const BEGINS: Duration = Duration::from_secs(180);

pub(crate) struct Lane {
    persona: String,
    server: Server,
    socket: PathBuf,
    env: BTreeMap<String, String>,
    window: OpenWindow,
    pane: PaneId,
    session: Session,
    transport: Arc<dyn Transport>,
    script: PathBuf,
    log: PathBuf,
    /// How much of the log belongs to earlier cases.
    read: u64,
}

impl Lane {
    pub(crate) async fn open(
        sandbox: &Sandbox,
        server: &Server,
        fake: &Path,
        persona: &str,
        number: usize,
    ) -> Self {
        let folder = format!("{persona}-{number}");
        let script = sandbox.write(&format!("{folder}/script.json"), "{}");
        let cwd = sandbox.root().join(&folder);
        let log = cwd.join("truth.jsonl");
        let words = |path: &Path| path.to_string_lossy().into_owned();
        let argv = vec![
            words(fake),
            "--persona".to_owned(),
            persona.to_owned(),
            "--script".to_owned(),
            words(&script),
            "--log".to_owned(),
            words(&log),
        ];
        // Two of one name in two repositories, a name of wide letters, and a long one.
        let names = ["CC", "CC", "小明小明", "LongestNameOfAll-1"];
        let name = Name::new(names[number % names.len()]).expect("a name");
        let window = OpenWindow {
            session: format!("loop-{folder}"),
            name: name.to_string(),
            kind: persona.to_owned(),
            argv: argv.clone(),
            env: sandbox.env_text(),
            cwd: cwd.clone(),
            tags: Tags { loop_id: format!("loop-{folder}"), agent: name.clone() },
        };
        let pane = server.open_window(&window).await.expect("a window");
        let options = Options { tmux: server.clone(), ..Options::new(sandbox.root().join("locks")) };
        let kind = if persona == "generic" { "scripted" } else { persona };
        let profile = loop_core::profile::builtin(kind).expect("a profile");
        let mut session = Session::new(&window.tags.loop_id, name, "tmux", profile, &cwd);
        session.address = serde_json::json!({"pane": pane});
        session.command = Some(argv);
        session.env = sandbox.env_text();
        Self {
            persona: persona.to_owned(),
            server: server.clone(),
            socket: sandbox.tmux_socket(),
            env: sandbox.env_text(),
            window,
            pane,
            session,
            transport: loop_transport::open("tmux", &options).expect("the transport"),
            script,
            log,
            read: 0,
        }
    }

    /// Plays the case of this seed.
    pub(crate) async fn play(&mut self, seed: u64) -> Verdict {
        let case = Case::of(seed, &self.persona);
        self.set_up(&case).await;
        sleep(Duration::from_millis(case.wait_ms)).await;
        let outcome = tokio::join!(self.wake_as_the_router(), self.meddle(&case)).0;
        let screen = self.screen().await;
        // What was read up to here was caused by the sender alone.
        let truth = self.truth(&case.script);
        let verdict = judge(&case, &self.text(), &outcome, &truth);
        self.read = std::fs::metadata(&self.log).map_or(self.read, |file| file.len());
        verdict.seen(&self.persona, &case, &truth, &screen)
    }

    async fn set_up(&self, case: &Case) {
        self.tmux(&["send-keys", "-t", self.pane.as_str(), "-X", "cancel"]).await;
        self.begin(&case.script, case.columns, case.rows).await;
    }

    /// Lets the fake begin `script` in a window of this size, and waits until it has.
    pub(crate) async fn begin(&self, script: &Script, columns: u64, rows: u64) {
        let (columns, rows) = (columns.to_string(), rows.to_string());
        self.tmux(&["resize-window", "-t", self.pane.as_str(), "-x", &columns, "-y", &rows]).await;
        let new = self.script.with_extension("new");
        std::fs::write(&new, serde_json::to_string(script).expect("plain data")).expect("a script");
        std::fs::rename(&new, &self.script).expect("a script");
        let deadline = Instant::now() + BEGINS;
        let mut looks = 0_u32;
        while !self.truth(script).iter().any(|line| line.event == "begin") {
            // It may end, or become a shell, also behind the first look.
            if looks.is_multiple_of(100)
                && !self.server.pane(&self.pane).await.is_ok_and(|pane| !pane.dead && pane.command != "sh")
            {
                self.server.respawn(&self.pane, &self.window).await.expect("the window again");
            }
            looks += 1;
            let late = Instant::now() >= deadline;
            assert!(!late, "the fake {} does not read its script:\n{}", self.persona, self.screen().await);
            sleep(Duration::from_millis(10)).await;
        }
    }

    /// What a person does to the window meanwhile.
    async fn meddle(&self, case: &Case) {
        let copy = async {
            if let Some(after) = case.copy_mode_ms {
                sleep(Duration::from_millis(after)).await;
                self.tmux(&["copy-mode", "-t", self.pane.as_str()]).await;
            }
        };
        let resize = async {
            if let Some((after, columns)) = case.resize_ms {
                sleep(Duration::from_millis(after)).await;
                let columns = columns.to_string();
                self.tmux(&["resize-window", "-t", self.pane.as_str(), "-x", &columns]).await;
            }
        };
        tokio::join!(copy, resize);
    }

    /// Wakes it as the router does: waits and tries again while it may not be spoken to, and looks after a wake of
    /// which nothing is known.
    async fn wake_as_the_router(&self) -> Outcome {
        let began = Instant::now();
        let (first, took) = loop {
            let started = Instant::now();
            let sent = self.wake().await;
            let may_change = match &sent {
                Err(TransportError::NotNow(presence)) => {
                    matches!(presence, Presence::Busy | Presence::Starting | Presence::Unknown(_))
                }
                _ => false,
            };
            if !may_change || began.elapsed() >= WAITS {
                break (sent, started.elapsed());
            }
            sleep(Duration::from_millis(300)).await;
        };
        sleep(ON_ITS_WAY).await;
        let later = match &first {
            Err(TransportError::Unknown(_)) => self.look_after().await,
            _ => Vec::new(),
        };
        Outcome { first, took, later }
    }

    /// Looks until the window has settled; what stands still with nothing told to it is woken again.
    async fn look_after(&self) -> Vec<Result<Receipt, TransportError>> {
        let deadline = Instant::now() + LOOKED_AFTER;
        let mut later = Vec::new();
        let mut since: Option<(Presence, Instant)> = None;
        while Instant::now() < deadline && later.len() < 3 {
            sleep(Duration::from_millis(150)).await;
            let Ok(presence) = self.transport.probe(&self.session).await else { continue };
            let at = match &since {
                Some((before, at)) if *before == presence => *at,
                _ => Instant::now(),
            };
            since = Some((presence.clone(), at));
            if at.elapsed() < QUIET || presence == Presence::Busy {
                continue;
            }
            match presence {
                // The agent's own records say that a turn of ours began: nothing to be done again.
                _ if self.told() > 0 => break,
                Presence::Idle | Presence::Draft(_) => {
                    let sent = self.wake().await;
                    sleep(ON_ITS_WAY).await;
                    let is_over = !matches!(sent, Err(TransportError::Unknown(_)));
                    later.push(sent);
                    since = None;
                    if is_over {
                        break;
                    }
                }
                Presence::Starting => {}
                // A person must do something first: it is known not to have arrived.
                _ => break,
            }
        }
        later
    }

    pub(crate) async fn wake(&self) -> Result<Receipt, TransportError> {
        let wake = Wake { delivery_id: "d".to_owned(), attempt: 1, text: self.text() };
        self.transport.wake(&self.session, &wake, &NoProgress).await
    }

    #[cfg(test)]
    pub(crate) async fn probe(&self) -> Presence {
        self.transport.probe(&self.session).await.unwrap_or_else(|error| Presence::Unknown(error.to_string()))
    }

    /// Believes to find its agent where another's is.
    #[cfg(test)]
    pub(crate) fn take_address(&mut self, of: &Self) {
        self.session.address = of.session.address.clone();
    }

    pub(crate) fn text(&self) -> String {
        self.session.profile.wake_text(self.session.agent.as_str())
    }

    /// How often our text was really submitted.
    fn told(&self) -> usize {
        let text = self.text();
        self.lines().iter().filter(|line| line.event == "submitted" && line.text == text).count()
    }

    pub(crate) fn truth(&self, script: &Script) -> Vec<Truth> {
        self.lines().into_iter().filter(|line| line.serial == script.serial).collect()
    }

    fn lines(&self) -> Vec<Truth> {
        let mut text = String::new();
        let read = std::fs::File::open(&self.log).and_then(|mut file| {
            file.seek(SeekFrom::Start(self.read))?;
            file.read_to_string(&mut text)
        });
        match read {
            Ok(_) => text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect(),
            Err(_) => Vec::new(),
        }
    }

    async fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-t", self.pane.as_str()]).await
    }

    /// Runs tmux as a person's program would; what it refuses does not matter here.
    async fn tmux(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("tmux");
        command.env_clear().envs(&self.env).arg("-u").arg("-S").arg(&self.socket).args(arguments);
        let output = command.output().await;
        output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
    }
}
