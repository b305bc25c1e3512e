//! `loop turn-hook`: what an agent's own CLI calls when a turn begins or ends, or when it asks a person.
//!
//! It stands in the way of every prompt, so nothing slow comes before it; and whatever goes wrong, it succeeds and
//! says nothing, because a CLI takes a hook's words for the model's, and its failure for a refusal.

use std::io::{self, IsTerminal as _, Read as _};
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use loop_hooks::turn::{self, Router};

use crate::commands::notify::{state_dir, variable};
use crate::output;

/// The most that an agent waits for us.
const WHOLE: Duration = Duration::from_millis(450);
/// How much of that the CLI may take to hand over what it has to say.
const READING: Duration = Duration::from_millis(250);
/// The longest that it may have to say.
const MOST: u64 = 1024 * 1024;

/// What an agent's CLI calls when a turn begins or ends; `loop init --turn-hooks` installs it
///
/// It reads the hook's JSON from standard input, tells the router within half a second, prints nothing and always
/// succeeds. With LOOP_LOG set it says on standard error what became of it.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Whose form the JSON has: claude-code, codex, opencode, gemini, qwen, hermes
    pub(crate) kind: Option<String>,
    /// The hook's JSON, from a CLI that passes it as an argument
    pub(crate) payload: Option<String>,
}

/// Tells the router. Always succeeds.
pub(crate) fn run(kind: Option<&str>, payload: Option<&str>) -> ExitCode {
    if payload.is_none() && io::stdin().is_terminal() {
        let kinds: Vec<&str> = turn::kinds().iter().map(|row| row.kind).collect();
        output::note(format!(
            "loop turn-hook KIND is called by an agent's own CLI, with its JSON on standard input; `loop init --turn-hooks` installs it. Kinds: {}",
            kinds.join(", ")
        ));
        return ExitCode::SUCCESS;
    }
    let said = tell(kind.unwrap_or_default(), payload, Instant::now());
    if variable("LOOP_LOG").is_some() {
        output::note(format!("loop turn-hook: {said}"));
    }
    ExitCode::SUCCESS
}

fn tell(kind: &str, payload: Option<&str>, start: Instant) -> String {
    let payload = match payload {
        Some(payload) => Some(payload.as_bytes().to_vec()),
        None => from_stdin(),
    };
    let Some(payload) = payload else { return "nothing came on standard input".to_owned() };
    let cwd = std::env::current_dir().unwrap_or_default();
    let Some(mut hook) = turn::read(kind, &payload, &cwd.to_string_lossy()) else {
        return "nothing that concerns a turn".to_owned();
    };
    let text = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    hook.loop_id = text("LOOP_ID");
    hook.agent = text("LOOP_AGENT");
    let Some(state_dir) = state_dir() else { return "HOME is not set to a folder".to_owned() };
    let router = Router { file: state_dir.join("router.json"), key_file: state_dir.join("key") };
    turn::tell(&router, &hook, WHOLE.saturating_sub(start.elapsed()))
}

/// What the CLI hands over. One that hands nothing over, and keeps the pipe open, is not waited for.
fn from_stdin() -> Option<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    let reader = move || {
        let mut payload = Vec::new();
        let mut stdin = io::stdin().lock();
        let read = stdin.by_ref().take(MOST).read_to_end(&mut payload);
        // Nobody listens any more when it took too long.
        let _ = sender.send(read.ok().map(|_| payload));
    };
    thread::Builder::new().name("read the hook".to_owned()).spawn(reader).ok()?;
    receiver.recv_timeout(READING).ok().flatten()
}
