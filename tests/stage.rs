//! Where every scenario plays: one user with a home, a router and a tmux server of their own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use loop_testkit::script::{Script, Step, Turn, submitted};
use loop_testkit::{Sandbox, TestRepo, eventually};
use serde_json::Value;

/// The program under test.
pub(crate) const LOOP: &str = env!("CARGO_BIN_EXE_loop");

/// The longest that a single step of a scenario may take on a busy machine.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// One user: a sandbox with settings that make the router quick.
pub(crate) struct Stage {
    pub(crate) sandbox: Sandbox,
}

impl Stage {
    /// A user whose settings are a free port, a private tmux server, short times, and `settings`.
    pub(crate) fn new(settings: &str) -> Self {
        let sandbox = Sandbox::new();
        let timings =
            if settings.contains("timings:") { "" } else { "timings: {look: 0.2, quiet: 1.5, sweep: 2}\n" };
        let socket = sandbox.tmux_socket();
        let text = format!("port: 0\ntmux_socket: {}\n{timings}{settings}\n", socket.display());
        sandbox.write("home/.config/agent-loop/config.yaml", text);
        sandbox.write("home/.tmux.conf", "set -g default-shell /bin/sh\n");
        Self { sandbox }
    }

    /// A repository with a first commit.
    pub(crate) fn shop(&self) -> Place<'_> {
        self.place(self.sandbox.repo("shop"), "shop")
    }

    /// A place around a repository; `key` names the folder of its agents' scripts and logs.
    pub(crate) fn place(&self, repo: TestRepo, key: &str) -> Place<'_> {
        Place { stage: self, repo, key: format!("cast-of-{key}") }
    }

    /// The state folder.
    pub(crate) fn state(&self) -> PathBuf {
        self.sandbox.home().join(".local/state/agent-loop")
    }

    /// The process of the running router.
    pub(crate) fn router(&self) -> Option<u32> {
        let text = std::fs::read_to_string(self.state().join("router.json")).ok()?;
        let file: Value = serde_json::from_str(&text).ok()?;
        u32::try_from(file.get("pid")?.as_u64()?).ok()
    }

    /// Ends the router as a crash would.
    pub(crate) fn kill_router(&self) {
        let pid = self.router().expect("a running router");
        kill(pid);
        eventually("the router's end", LONG, || {
            match self.running().iter().find(|(other, _)| *other == pid) {
                None => Ok(()),
                Some(process) => Err(format!("{process:?}")),
            }
        });
    }

    /// Everything that runs with this sandbox's home: the truth about what was left behind.
    pub(crate) fn running(&self) -> Vec<(u32, String)> {
        // A demo has a home of its own below the sandbox.
        let home = format!("HOME={}", self.sandbox.root().display());
        let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
        let pids = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        pids.filter(|pid| *pid != std::process::id())
            .filter_map(|pid| {
                let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
                let ours =
                    environment.split(|byte| *byte == 0).any(|entry| entry.starts_with(home.as_bytes()));
                let words =
                    std::fs::read(format!("/proc/{pid}/cmdline")).ok().filter(|words| !words.is_empty())?;
                ours.then(|| (pid, String::from_utf8_lossy(&words).replace('\0', " ")))
            })
            .collect()
    }

    /// Waits until nothing of this user runs any more.
    #[track_caller]
    pub(crate) fn nothing_runs(&self) {
        eventually("the end of every process", LONG, || match self.running() {
            running if running.is_empty() => Ok(()),
            running => Err(format!("{running:?}")),
        });
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = std::fs::read_to_string(self.state().join("router.log")).unwrap_or_default();
            eprintln!("--- the router's log\n{log}\n--- still running: {:#?}", self.running());
        }
        // A scenario that failed half way leaves processes; they are known by the sandbox's home.
        for (pid, _) in self.running() {
            kill(pid);
        }
    }
}

/// Ends one process at once.
pub(crate) fn kill(pid: u32) {
    // It may be gone already.
    let _ =
        Command::new("kill").args(["-KILL", &pid.to_string()]).stderr(std::process::Stdio::null()).status();
}

/// What a command said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    pub(crate) fn of(output: &std::process::Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// A repository with its agents.
pub(crate) struct Place<'stage> {
    pub(crate) stage: &'stage Stage,
    pub(crate) repo: TestRepo,
    key: String,
}

impl Place<'_> {
    /// Runs `loop`, whatever it answers.
    pub(crate) fn try_loop(&self, arguments: &[&str]) -> Said {
        let output = self.repo.command(LOOP).args(arguments).stdin(std::process::Stdio::null()).output();
        Said::of(&output.expect("loop runs"))
    }

    /// Runs `loop` and returns what it printed.
    #[track_caller]
    pub(crate) fn run(&self, arguments: &[&str]) -> String {
        let said = self.try_loop(arguments);
        assert_eq!(said.code, Some(0), "loop {arguments:?}: {said:?}\n{}", self.story());
        said.out
    }

    /// The command line of a scripted agent, for `command:`; in a window `{text}` is empty.
    pub(crate) fn agent(&self, name: &str, script: &Script) -> String {
        let file = self.stage.sandbox.write(&format!("{}/{name}.json", self.key), script.to_json());
        let words = [
            fake_agent().display().to_string(),
            "--name".into(),
            name.into(),
            "--script".into(),
            file.display().to_string(),
            "--log".into(),
            self.log_file(name).display().to_string(),
            "--loop-bin".into(),
            LOOP.into(),
            "--headless".into(),
            "{text}".into(),
        ];
        serde_json::to_string(&words).expect("words")
    }

    fn log_file(&self, name: &str) -> PathBuf {
        self.stage.sandbox.root().join(&self.key).join(format!("{name}.log"))
    }

    /// Commits a `loop.yaml` with these agents in a ring, and `rest`, which may hold a rotation of its own.
    pub(crate) fn cast(&self, agents: &[(&str, Script)], rest: &str) {
        let mut text = "agents:\n".to_owned();
        for (name, script) in agents {
            text.push_str(&format!("  {name}: {{kind: scripted, command: {}}}\n", self.agent(name, script)));
        }
        if !rest.contains("rotation:") {
            let names: Vec<&str> = agents.iter().map(|(name, _)| *name).collect();
            text.push_str(&format!("rotation: [{}]\n", names.join(", ")));
        }
        text.push_str(rest);
        text.push('\n');
        self.repo.commit("loop.yaml", text, "how the loop works here");
    }

    /// What was really submitted to an agent.
    pub(crate) fn wakes(&self, name: &str) -> usize {
        submitted(&self.log_file(name)).len()
    }

    /// How often each agent was really woken.
    pub(crate) fn all_wakes<'name>(&self, names: &[&'name str]) -> BTreeMap<&'name str, usize> {
        names.iter().map(|name| (*name, self.wakes(name))).collect()
    }

    /// `loop status --json`.
    pub(crate) fn status(&self) -> Value {
        serde_json::from_str(&self.run(&["status", "--json"])).expect("JSON")
    }

    /// The authors of all turns, in order.
    pub(crate) fn authors(&self) -> Vec<String> {
        let status = self.status();
        let turns = status["turns"].as_array().cloned().unwrap_or_default();
        turns.iter().filter_map(|turn| Some(turn["agent"].as_str()?.to_owned())).collect()
    }

    /// Waits until the loop is in `state` and its decision's reason contains `words`; returns the status.
    #[track_caller]
    pub(crate) fn until(&self, state: &str, words: &str) -> Value {
        let what = format!("`{state}` with {words:?}");
        let mut status = Value::Null;
        let reached = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            eventually(&what, LONG, || {
                status = self.status();
                let reason = status["decision"]["reason"].as_str().unwrap_or_default();
                if status["state"] == state && reason.contains(words) {
                    Ok(())
                } else {
                    Err(status.to_string())
                }
            });
        }));
        assert!(reached.is_ok(), "never {what}\n{}", self.story());
        status
    }

    /// Waits until `loop wait --passed` says so.
    #[track_caller]
    pub(crate) fn passes(&self) {
        let said = self.try_loop(&["wait", "--passed", "--timeout", "90s"]);
        assert_eq!(said.code, Some(0), "{said:?}\n{}", self.story());
    }

    /// The loop's log with its agents' logs, for a failing test.
    pub(crate) fn story(&self) -> String {
        let mut story = self.try_loop(&["log"]).out;
        let folder = self.stage.sandbox.root().join(&self.key);
        for file in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if file.path().extension().is_some_and(|extension| extension == "log") {
                let log = std::fs::read_to_string(file.path()).unwrap_or_default();
                story.push_str(&format!("--- {}\n{log}", file.file_name().to_string_lossy()));
            }
        }
        story
    }
}

/// A turn as the skill has it: `loop turn`, these steps, and, unless they commit themselves, `loop commit`.
pub(crate) fn turn(steps: impl IntoIterator<Item = Step>) -> Vec<Step> {
    let look = Step::Run(["{loop}", "turn", "{name}"].map(str::to_owned).to_vec());
    std::iter::once(look).chain(steps).collect()
}

/// Adds a line to a file of the agent's own and commits.
pub(crate) fn work(summary: &str) -> Vec<Step> {
    turn([write_line(summary), commit(summary)])
}

/// Looks and says no more than `summary`.
pub(crate) fn review(summary: &str) -> Vec<Step> {
    turn([commit(summary)])
}

/// Gives the verdict.
pub(crate) fn pass() -> Vec<Step> {
    turn([Step::Commit { summary: "reviewed".into(), body: None, pass: true, blocked: None, to: None }])
}

/// Adds a line to a file of the agent's own.
pub(crate) fn write_line(text: &str) -> Step {
    Step::Append { file: "{name}.txt".into(), text: format!("{text}\n") }
}

/// `loop commit`.
pub(crate) fn commit(summary: &str) -> Step {
    Step::Commit { summary: summary.into(), body: None, pass: false, blocked: None, to: None }
}

/// Runs a line of shell.
pub(crate) fn sh(line: &str) -> Step {
    Step::Run(["sh", "-ec", line].map(str::to_owned).to_vec())
}

/// A script whose last turn is repeated.
pub(crate) fn again(turns: impl IntoIterator<Item = Vec<Step>>) -> Script {
    let turns = turns.into_iter().map(|steps| Turn { delay_ms: 0, steps }).collect();
    Script { turns, repeat_last: true, ..Script::default() }
}

/// The scripted agent, built beside the program under test.
fn fake_agent() -> PathBuf {
    let path = Path::new(LOOP).with_file_name("loop-fake-agent");
    assert!(path.exists(), "{} is not built: cargo build -p loop-testkit", path.display());
    path
}
