//! Playing the demo: what a user would type, and what happens in between.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use loop_core::plain::plain;
use loop_store::{LoopRow, Store};

use crate::failure::{Failure, LIMIT};
use crate::output::{line, note};
use crate::world::World;

/// The demo's loop.yaml; `{exe}` is this program.
const CONFIG: &str = r#"# Three scripted agents; yours would say {kind: claude-code} or {kind: codex}.
agents:
  Ada:  {kind: scripted, command: ["{exe}", demo-agent, Ada, "--turn={text}"]}
  Rex:  {kind: scripted, command: ["{exe}", demo-agent, Rex, "--turn={text}"]}
  Tess: {kind: scripted, command: ["{exe}", demo-agent, Tess, "--turn={text}"]}
rotation: [Ada, Rex, Tess]
people: [You]
pass: other
verify: [sh, test.sh]
limits: {rounds: 6, hours: 1, turn_minutes: 5}
"#;

/// After so long something is wrong.
const LIMIT_OF_ALL: Duration = Duration::from_secs(120);

/// The scratch home of a demo.
struct Stage {
    root: PathBuf,
    repo: PathBuf,
    exe: PathBuf,
    env: BTreeMap<String, String>,
    up: bool,
}

/// Plays the whole demo.
pub(crate) async fn play(world: &World, headless: bool, keep: bool) -> Result<(), Failure> {
    let start = Instant::now();
    let mut stage = Stage::set(world)?;
    line("loop demo: three scripted agents, offline, in a scratch repository.");
    line("Ada writes a program, Rex reviews it, Tess tests it. You only watch.\n");
    let played = stage.run(headless).await;
    // Whatever happened: nothing is left running.
    let down = stage.down();
    played?;
    down?;
    line(format!(
        "\nThat took {:.1} s. Nothing is left running. Where to look:",
        start.elapsed().as_secs_f64()
    ));
    line(format!("  cd {}", stage.repo.display()));
    line("  git log --stat                 every turn is a commit");
    line("  cat project-archive/*/STATUS.md  what the agents said to each other");
    line("\nWith agents of yours, in a repository of yours:");
    line("  loop init \"what is to be done\" --agent CC=claude-code --agent Codex=codex");
    line("  loop up");
    if keep {
        line(format!("\nState and settings of the demo are in {} as well.", stage.root.display()));
    } else {
        stage.clear()?;
    }
    line(format!("The folder is yours to remove: rm -r {}", stage.root.display()));
    Ok(())
}

impl Stage {
    fn set(world: &World) -> Result<Self, Failure> {
        let root = tempfile::Builder::new()
            .prefix("loop-demo-")
            .tempdir()
            .map_err(|error| {
                Failure::users(anyhow::Error::new(error).context("cannot make a scratch folder"))
            })?
            .keep();
        let home = root.join("home");
        let repo = root.join("leap");
        let settings = home.join(".config").join("agent-loop");
        for folder in [&home, &repo, &settings] {
            fs::create_dir_all(folder).map_err(Failure::users)?;
        }
        // A port of its own, and a tmux server of its own: nothing of the user's is touched.
        let config = format!("port: 0\ntmux_socket: {}\n", root.join("tmux").display());
        fs::write(settings.join("config.yaml"), config).map_err(Failure::users)?;
        let kept = ["PATH", "LANG", "LC_ALL", "TERM", "TMPDIR", "TZ"];
        let mut env: BTreeMap<String, String> = kept
            .iter()
            .filter_map(|name| world.env.get(*name).map(|value| ((*name).to_owned(), value.clone())))
            .collect();
        env.insert("HOME".to_owned(), home.display().to_string());
        env.insert("GIT_CONFIG_NOSYSTEM".to_owned(), "1".to_owned());
        Ok(Self { root, repo, exe: world.exe.clone(), env, up: false })
    }

    async fn run(&mut self, headless: bool) -> Result<(), Failure> {
        self.git(&["init", "--quiet", "--initial-branch=main"])?;
        self.git(&["config", "user.name", "You"])?;
        self.git(&["config", "user.email", "you@demo.invalid"])?;
        fs::write(self.repo.join("README"), "leap.sh tells leap years from common ones.\n")
            .map_err(Failure::users)?;
        let exe = self.exe.display().to_string().replace('\\', "\\\\").replace('"', "\\\"");
        fs::write(self.repo.join("loop.yaml"), CONFIG.replace("{exe}", &exe)).map_err(Failure::users)?;
        self.git(&["add", "README", "loop.yaml"])?;
        self.git(&["commit", "--quiet", "-m", "first"])?;
        self.typed(&["init", "leap.sh YEAR prints \"leap\" or \"common\""])?;
        let mut up = vec!["up", "--yes"];
        if headless {
            up.push("--headless");
        }
        self.up = true;
        let said = self.typed(&up)?;
        let windows = said.contains(" tmux ");
        line(if windows {
            format!(
                "  each agent has a window of its own: tmux -S {} attach",
                self.root.join("tmux").display()
            )
        } else {
            "  no windows here: each turn is one run of the agent's program".to_owned()
        });
        line("");
        self.follow().await?;
        line("");
        self.typed(&["archive"])?;
        Ok(())
    }

    /// Tells each hand-over as it happens, until the loop has passed.
    async fn follow(&self) -> Result<(), Failure> {
        let state = self.root.join("home/.local/state/agent-loop/loop.db");
        let store = Store::open(&Store::url_of_file(&state)).await?;
        let start = Instant::now();
        let mut after = 0;
        let mut told = false;
        loop {
            let Some(row) = store.loops(true).await?.into_iter().next() else {
                return Err(Failure::ours(anyhow::anyhow!("the demo's loop is gone")));
            };
            for event in store.events(&row.id, after, 1000).await? {
                after = event.id;
                told |= tell(&event.kind, &event.text);
            }
            match row.state.as_str() {
                // The state is on record a moment before the line that says so.
                "passed" if told => return Ok(()),
                "held" | "blocked" if !is_verifying(&row) => {
                    return Err(Failure::say("the demo's loop is held, which should not happen")
                        .next(format!("look into {}", self.root.display())));
                }
                _ => {}
            }
            if start.elapsed() > LIMIT_OF_ALL {
                return Err(Failure::say("the demo did not end in time")
                    .code(LIMIT)
                    .next(format!("{} has the router's log", state.with_file_name("router.log").display())));
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Runs `loop` as the user would, shows it, and returns what it printed.
    fn typed(&self, arguments: &[&str]) -> Result<String, Failure> {
        let shown: Vec<String> = arguments
            .iter()
            .map(
                |argument| {
                    if argument.contains(' ') { format!("'{argument}'") } else { (*argument).to_owned() }
                },
            )
            .collect();
        line(format!("$ loop {}", shown.join(" ")));
        let output = self.command(&self.exe, arguments)?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if arguments.first() != Some(&"up") {
            for said in text.lines() {
                line(format!("  {}", plain(said)));
            }
        }
        if output.status.success() {
            return Ok(text);
        }
        Err(Failure::say(format!(
            "`loop {}` failed: {}",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stderr)
        ))
        .next(format!("look into {}", self.root.display())))
    }

    fn git(&self, arguments: &[&str]) -> Result<(), Failure> {
        let output = self.command(Path::new("git"), arguments)?;
        if output.status.success() {
            return Ok(());
        }
        Err(Failure::say(format!(
            "git {}: {}",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stderr).trim()
        )))
    }

    fn command(&self, program: &Path, arguments: &[&str]) -> Result<Output, Failure> {
        Command::new(program)
            .args(arguments)
            .current_dir(&self.repo)
            .env_clear()
            .envs(&self.env)
            .stdin(std::process::Stdio::null())
            .output()
            .map_err(|error| {
                Failure::users(anyhow::Error::new(error).context(format!("cannot run {}", program.display())))
            })
    }

    /// Stops router, windows and the tmux server.
    fn down(&self) -> Result<(), Failure> {
        if !self.up {
            return Ok(());
        }
        let output = self.command(&self.exe, &["down", "--all"])?;
        // The server ends with its last window; where something of ours is left in it, it ends now.
        let socket = self.root.join("tmux");
        if socket.exists() {
            let socket = socket.display().to_string();
            let _ = self.command(Path::new("tmux"), &["-S", &socket, "kill-server"]);
        }
        let _ = self.command(&self.exe, &["router", "--stop"]);
        if !output.status.success() {
            note(format!("loop down: {}", String::from_utf8_lossy(&output.stderr).trim()));
        }
        Ok(())
    }

    /// Leaves the repository alone and removes the rest.
    fn clear(&self) -> Result<(), Failure> {
        fs::remove_dir_all(self.root.join("home")).map_err(Failure::users)?;
        let _ = fs::remove_file(self.root.join("tmux"));
        Ok(())
    }
}

fn is_verifying(row: &LoopRow) -> bool {
    row.decision_json.as_deref().is_some_and(|decision| decision.contains("\"verifying\""))
}

/// Tells one event; returns whether it was the end.
fn tell(kind: &str, text: &str) -> bool {
    match kind {
        "turn" => line(format!("  {}", plain(text))),
        "delivery" if text.contains(" woken for turn ") => line(format!("      -> {}", plain(text))),
        "verify" => {
            let passed = text.contains("\"passed\":true");
            line(format!(
                "      verify: sh test.sh {}",
                if passed { "succeeds in a clean checkout" } else { "fails" }
            ));
        }
        "decision" if text.starts_with("passed") => {
            line(format!("  {}", plain(text)));
            return true;
        }
        _ => {}
    }
    false
}
