//! A real agent CLI in a real window, driven by a stub model on loopback, takes turns with a scripted partner.
//!
//! `cargo xtask test` fetches the CLIs and sets `LOOP_TEST_REAL_AGENTS`; without it these tests skip themselves.

mod all_together;
mod claude_code;
mod codex;
mod gemini;
mod opencode;
mod player;
mod qwen;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use loop_testkit::script::Script;
use loop_testkit::stub_model::{ModelLine, ModelScript, ModelStep, read_model_log};
use loop_testkit::{eventually, require_tool, skipped};
use serde_json::Value;

use crate::stage::{LONG, LOOP, Place, Said, Stage, pass, review, sh};

/// What the ledger says of a wake in a window, and of one headless run.
const WINDOW: &[&str] = &["queued", "typing", "typed", "submitted", "answered"];
const RUN: &[&str] = &["queued", "typing", "started", "answered"];

/// No key of anybody's.
const KEY: &str = "dummy-key-of-the-tests-0000000000";

/// Commits a `loop.yaml` of the real agent and Rex, who finds something once.
fn cast(shop: &Place<'_>, agent: &str) {
    let name = agent.split(':').next().unwrap();
    let finds =
        [review("F1 P1 greeting.txt:1 no name in it"), vec![sh("date +%s%3N > ../rex-handed-over")]].concat();
    let partner = shop.agent("Rex", &Script::of([finds, pass()]));
    let text = format!(
        "agents:\n  {agent}\n  Rex: {{kind: scripted, command: {partner}}}\nrotation: [{name}, Rex]\npass: other\n"
    );
    shop.repo.commit("loop.yaml", text, "how the loop works here");
}

/// Write a file and commit it; mend it and commit again.
fn two_turns(repo: &Path) -> ModelScript {
    let turn = |text: &str, summary: &str| {
        vec![
            ModelStep::Shell("loop turn {name}".to_owned()),
            ModelStep::Write { path: repo.join("greeting.txt").display().to_string(), text: text.to_owned() },
            ModelStep::Shell(format!("loop commit {{name}} -m '{summary}'")),
        ]
    };
    ModelScript {
        turns: vec![turn("hello\n", "a greeting"), turn("hello, {name}\n", "F1 fixed: it names you")],
        ..ModelScript::default()
    }
}

/// Opens the loop and lets it begin; returns what `loop up` said.
fn play(shop: &Place<'_>, model: &Model, program: &Path, agent: &str, options: &[&str]) -> String {
    shop.run(&["init", "a greeting for everybody"]);
    let start = Instant::now();
    let up = up(shop, model, &[program], options);
    measured(&format!("{agent}: `loop up` took {:.1} s", start.elapsed().as_secs_f64()));
    // The exit code says whether every agent can be woken.
    let expected = i32::from(up.out.contains("NOT READY"));
    assert_eq!(up.code, Some(expected), "{up:?}\n{}", story(shop, model));
    up.out
}

/// `loop up`, from an environment in which every CLI finds the model.
fn up(shop: &Place<'_>, model: &Model, programs: &[&Path], options: &[&str]) -> Said {
    let env = [
        ("ANTHROPIC_BASE_URL", model.url.clone()),
        ("ANTHROPIC_API_KEY", KEY.to_owned()),
        ("OPENAI_API_KEY", KEY.to_owned()),
        ("OPENAI_BASE_URL", format!("{}/v1", model.url)),
        ("OPENAI_MODEL", "stub-model".to_owned()),
        ("GEMINI_API_KEY", KEY.to_owned()),
        ("GOOGLE_GEMINI_BASE_URL", model.url.clone()),
        // A model by name: else each prompt is first sent to another one that is to choose.
        ("GEMINI_MODEL", "gemini-2.5-flash".to_owned()),
        ("PATH", path_with(programs)),
    ];
    Said::of(&shop.repo.command(LOOP).args(["up", "--yes"]).args(options).envs(env).output().unwrap())
}

/// Waits for the pass, and compares what `loop` claims with what the model and the partner saw. `expanded`: whether the
/// CLI puts the skill's body beside the call.
fn passed(stage: &Stage, shop: &Place<'_>, model: &Model, agent: &str, expected: &[&str], expanded: bool) {
    let wait = shop.try_loop(&["wait", "--passed", "--timeout", "120s"]);
    assert_eq!(wait.code, Some(0), "{wait:?}\n{}", story(shop, model));
    assert_eq!(shop.authors(), [agent, "Rex", agent, "Rex"], "{}", story(shop, model));

    // The skill was called twice in one conversation, its body beside it, and nothing else was ever typed.
    let log = model.log();
    let calls: Vec<&ModelLine> = log.iter().filter(|line| line.event == "call").collect();
    let seen: Vec<_> = calls.iter().map(|line| (line.name.as_deref(), line.call, line.expanded)).collect();
    assert_eq!(seen, [(Some(agent), 1, expanded), (Some(agent), 2, expanded)], "{}", story(shop, model));
    assert!(log.iter().all(|line| line.event != "words"), "{}", story(shop, model));
    assert_eq!(shop.wakes("Rex"), 2, "{}", story(shop, model));

    // Its own tools wrote the file and made the commits.
    assert_eq!(shop.repo.read("greeting.txt"), format!("hello, {agent}\n"));
    let subjects = shop.repo.git(&["log", "--format=%s", "--grep", &format!("Loop-Agent: {agent}")]);
    assert_eq!(subjects, format!("{agent}: F1 fixed: it names you\n{agent}: a greeting"));

    // The ledger says of each of its wakes, at the first attempt, that it went well.
    let story_told: Value = serde_json::from_str(&shop.run(&["log", "--json"])).unwrap();
    let list = |key: &str| story_told[key].as_array().cloned().unwrap_or_default();
    let wakes: Vec<Value> = list("deliveries").into_iter().filter(|wake| wake["agent"] == agent).collect();
    assert_eq!(wakes.len(), 2, "{story_told:#}");
    for (wake, call) in wakes.iter().zip(&calls) {
        let lines = list("ledger").into_iter().filter(|line| line["delivery_id"] == wake["id"]);
        let states: Vec<String> = lines.map(|line| line["state"].as_str().unwrap().to_owned()).collect();
        let mut states: Vec<&str> =
            states.iter().map(String::as_str).filter(|state| *state != "waiting").collect();
        if expected == WINDOW {
            // On a busy machine a CLI may hear the key later than its screen is watched; then its own side proves it.
            if let Some(at) = states.windows(2).position(|two| two == ["unknown", "started"]) {
                states.remove(at);
            }
            // The agent's own records may prove it before its screen does, or after.
            states.iter_mut().filter(|state| **state == "started").for_each(|state| *state = "submitted");
            states.dedup();
        }
        assert_eq!((wake["attempt"].as_u64(), wake["tries"].as_u64()), (Some(1), Some(0)), "{story_told:#}");
        assert_eq!(states, expected, "{story_told:#}");
        let queued: jiff::Timestamp = wake["created_at"].as_str().unwrap().parse().unwrap();
        let after = i64::try_from(call.at_ms).unwrap() - queued.as_millisecond();
        measured(&format!(
            "{agent}: the model's request {} came {after} ms after its wake was queued",
            call.call
        ));
    }
    let handed_over: u64 = stage.sandbox.read("rex-handed-over").trim().parse().unwrap();
    let after = calls[1].at_ms.saturating_sub(handed_over);
    measured(&format!("{agent}: the model's request 2 came {after} ms after the end of Rex's `loop commit`"));

    shop.run(&["down"]);
    let archived = shop.run(&["archive"]);
    assert!(archived.contains("project-archive/"), "{archived}");
    assert_eq!(shop.repo.git(&["status", "--porcelain"]), "");
    model.stop();
    stage.nothing_runs();
}

/// A model for one test.
struct Model {
    url: String,
    log: PathBuf,
    pid: u32,
}

impl Model {
    fn start(stage: &Stage, script: &ModelScript) -> Self {
        let sandbox = &stage.sandbox;
        let script = sandbox.write("model/script.json", script.to_json());
        let (log, address) = (script.with_file_name("log"), script.with_file_name("address"));
        let program = Path::new(LOOP).with_file_name("loop-stub-model");
        assert!(program.exists(), "{} is not built: cargo build -p loop-testkit", program.display());
        let mut command = Command::new(program);
        command.env_clear().stdout(std::process::Stdio::null());
        for (option, file) in [("--script", &script), ("--log", &log), ("--address", &address)] {
            command.arg(option).arg(file);
        }
        let pid = sandbox.spawn(&mut command);
        let url = eventually("the model's address", LONG, || {
            std::fs::read_to_string(&address).map_err(|error| error.to_string())
        });
        Self { url, log, pid }
    }

    fn log(&self) -> Vec<ModelLine> {
        read_model_log(&self.log)
    }

    fn stop(&self) {
        crate::stage::kill(self.pid);
    }
}

/// Everything that helps when a test fails.
fn story(shop: &Place<'_>, model: &Model) -> String {
    let stage = shop.stage;
    let mut story = shop.story();
    for line in model.log() {
        let text: String = line.text.chars().take(300).collect();
        story.push_str(&format!("model: {} {} {:?} {text:?}\n", line.event, line.call, line.expanded));
    }
    let socket = stage.sandbox.tmux_socket();
    let tmux = |words: &[&str]| {
        let output = stage.sandbox.command("tmux").arg("-S").arg(&socket).args(words).output();
        output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
    };
    for pane in tmux(&["list-panes", "-a", "-F", "#{pane_id}"]).lines() {
        story.push_str(&format!("--- pane {pane}\n{}", tmux(&["capture-pane", "-p", "-t", pane])));
    }
    story
}

/// The program that a variable names, unless these tests are not asked for.
fn real_agent(variable: &str) -> Option<PathBuf> {
    if std::env::var_os("LOOP_TEST_REAL_AGENTS").is_none() {
        // Asked for or not is no question of tools: this never fails.
        let why =
            "SKIPPED: LOOP_TEST_REAL_AGENTS is not set; `cargo xtask test` fetches real agents and sets it\n";
        let _ = std::io::stderr().write_all(why.as_bytes());
        return None;
    }
    let Some(program) = std::env::var_os(variable).map(PathBuf::from) else {
        skipped(&format!("{variable} names no program"));
        return None;
    };
    require_tool("tmux", "-V").then_some(program)
}

/// Runs the test again in a network that is loopback only, where that is allowed; `true`: that was done.
///
/// So the test proves by itself that nothing is asked of anybody else.
fn alone(test: &str) -> bool {
    const INSIDE: &str = "LOOP_TEST_INSIDE";
    // Who opens the network is root in it; the second namespace gives the user's own number back, by which CLIs
    // name files outside their home.
    const SCRIPT: &str = r#"ip link set lo up && u=$0 && g=$1 && shift && exec unshare --map-user="$u" --map-group="$g" -- "$@""#;
    if std::env::var_os(INSIDE).is_some() {
        return false;
    }
    let (user, group) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    let namespace = || {
        let mut command = Command::new("unshare");
        command.args(["-r", "-n", "--", "sh", "-c", SCRIPT]).args([user.to_string(), group.to_string()]);
        command
    };
    if !namespace().arg("true").output().is_ok_and(|tried| tried.status.success()) {
        eprintln!("no network namespace can be made here: the network is left as it is");
        return false;
    }
    let mut again = namespace();
    again.arg(std::env::current_exe().unwrap()).args(["--exact", test, "--nocapture"]).env(INSIDE, "1");
    let output = again.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "in a network of its own:\n{}\n{said}",
        String::from_utf8_lossy(&output.stdout)
    );
    said.lines().filter_map(|line| line.strip_prefix("measured: ")).for_each(measured);
    true
}

fn measured(what: &str) {
    eprintln!("measured: {what}");
}

/// The `PATH` with the folders of `programs` in front. `loop` need not be in it: its agents find it all the same.
fn path_with(programs: &[&Path]) -> String {
    let old = std::env::var_os("PATH").unwrap_or_default();
    let dirs = programs.iter().filter_map(|program| program.parent()).map(PathBuf::from);
    let dirs = dirs.chain(std::env::split_paths(&old));
    std::env::join_paths(dirs).unwrap().into_string().unwrap()
}
