//! `loop turn-hook`: what an agent's own CLI calls when a turn begins or ends, or when it asks a person.
//!
//! It stands in the way of every prompt, so nothing slow comes before it; and whatever goes wrong, it succeeds and
//! says nothing, because a CLI takes a hook's words for the model's, and its failure for a refusal.

use std::io::{self, IsTerminal as _, Read};
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use loop_hooks::turn::{self, Router};

use crate::commands::notify::{state_dir, variable};
use crate::output;

/// The most that the router may take.
const TELLING: Duration = Duration::from_millis(450);
/// How long a CLI that waits for its hook may take to hand over what it has to say: on a busy machine that is more
/// than the few milliseconds it should be, and the time is its own.
const READING: Duration = Duration::from_secs(1);
/// The same for one that does not wait.
const READING_AT_LEISURE: Duration = Duration::from_secs(10);
/// The longest that it may have to say.
const MOST: usize = 1024 * 1024;

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
    let said = tell(kind.unwrap_or_default(), payload);
    if variable("LOOP_LOG").is_some() {
        output::note(format!("loop turn-hook: {said}"));
    }
    ExitCode::SUCCESS
}

fn tell(kind: &str, payload: Option<&str>) -> String {
    let Some(row) = turn::find(kind) else { return format!("there is no kind of hooks called `{kind}`") };
    let payload = match payload {
        Some(payload) => Some(payload.as_bytes().to_vec()),
        None => from_stdin(if row.awaited { READING } else { READING_AT_LEISURE }),
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
    turn::tell(&router, &hook, TELLING)
}

/// What the CLI hands over, as soon as it is whole: whether it then closes the pipe is its own affair. One that hands
/// nothing over is not waited for.
fn from_stdin(most: Duration) -> Option<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    let reader = move || {
        // Nobody listens any more when it took too long.
        let _ = sender.send(read_object(&mut io::stdin().lock()));
    };
    thread::Builder::new().name("read the hook".to_owned()).spawn(reader).ok()?;
    receiver.recv_timeout(most).ok()
}

/// Reads one JSON object, or everything up to the end or the limit.
fn read_object(input: &mut impl Read) -> Vec<u8> {
    let mut payload = Vec::new();
    let mut piece = [0; 64 * 1024];
    while payload.len() < MOST {
        match input.read(&mut piece) {
            Ok(0) => break,
            Ok(read) => payload.extend_from_slice(&piece[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
        let may_be_whole = payload.trim_ascii_end().ends_with(b"}");
        if may_be_whole && serde_json::from_slice::<serde::de::IgnoredAny>(&payload).is_ok() {
            break;
        }
    }
    payload
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_read_to_its_end_and_no_further() {
        struct Pieces(Vec<&'static [u8]>);
        impl Read for Pieces {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                assert!(!self.0.is_empty(), "it was whole already");
                let piece = self.0.remove(0);
                buffer[..piece.len()].copy_from_slice(piece);
                Ok(piece.len())
            }
        }
        for (pieces, expected) in [
            (vec![&b"{\"a\":{}"[..], b",\"b\":\"}", b"\"}\n"], &b"{\"a\":{},\"b\":\"}\"}\n"[..]),
            (vec![b"{}"], b"{}"),
            (vec![b"{", b""], b"{"),
            (vec![b""], b""),
        ] {
            assert_eq!(read_object(&mut Pieces(pieces)), expected);
        }
    }
}
