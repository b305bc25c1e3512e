//! `loop-fake-tui`: plays the screens and the manners of one agent CLI in a terminal, with a script's troubles.
//!
//! What was really submitted to it, and every key that reached a dialog, goes to its log.

mod agent;
mod input;
mod paint;
mod personas;
mod record;
mod shown;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant, SystemTime};

use loop_testkit::terminal::{ASK, Key, Keys, Raw, print_now, size};
use loop_testkit::tui::Script;

use crate::agent::{Agent, Ending};
use crate::paint::paint;
use crate::personas::Persona;
use crate::record::Record;

/// How often the script's file is looked at, and the clock of what moves on the screen.
const TICK: Duration = Duration::from_millis(40);

struct Arguments {
    persona: &'static Persona,
    script: Option<PathBuf>,
    log: Option<PathBuf>,
}

fn main() -> ExitCode {
    let arguments = match parse(std::env::args().skip(1)) {
        Ok(Some(arguments)) => arguments,
        Ok(None) => return ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("loop-fake-tui: {message}");
            return ExitCode::from(2);
        }
    };
    match run(&arguments) {
        Ok(code) => ExitCode::from(code),
        Err(message) => {
            eprintln!("loop-fake-tui: {message}");
            ExitCode::FAILURE
        }
    }
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Option<Arguments>, String> {
    let mut persona = None;
    let mut script = None;
    let mut log = None;
    while let Some(option) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{option} needs a value"));
        match option.as_str() {
            "--persona" => persona = Some(value()?),
            "--script" => script = Some(PathBuf::from(value()?)),
            "--log" => log = Some(PathBuf::from(value()?)),
            "--list" => {
                for persona in personas::TABLE {
                    println!("{:<12} {}", persona.name, persona.about);
                }
                return Ok(None);
            }
            other => return Err(format!("unknown option {other}")),
        }
    }
    let name = persona.ok_or("--persona NAME says whom it plays (--list shows them)")?;
    let persona = personas::TABLE
        .iter()
        .find(|persona| persona.name == name)
        .ok_or_else(|| format!("there is no persona {name} (--list shows them)"))?;
    Ok(Some(Arguments { persona, script, log }))
}

/// The script's file, read again when another has taken its place.
struct Book {
    path: Option<PathBuf>,
    read: Option<SystemTime>,
}

impl Book {
    fn turn(&mut self) -> Result<Option<Script>, String> {
        let Some(path) = &self.path else { return Ok(None) };
        let changed = std::fs::metadata(path).and_then(|file| file.modified()).ok();
        if changed.is_none() || changed == self.read {
            return Ok(None);
        }
        self.read = changed;
        Ok(Some(script(path)?))
    }
}

fn script(path: &Path) -> Result<Script, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
}

fn run(arguments: &Arguments) -> Result<u8, String> {
    let Some(raw) = Raw::enter() else { return Err("stdin is no terminal".to_owned()) };
    let persona = arguments.persona;
    if persona.alternate {
        print_now("\x1b[?1049h\x1b[2J");
    }
    let mut book = Book { path: arguments.script.clone(), read: None };
    let record = Record::new(arguments.log.clone());
    let script = book.turn()?.unwrap_or_default();
    let mut agent = Agent::new(persona, &script, record, Instant::now());
    let ending = live(&mut agent, &mut book);
    if persona.alternate {
        print_now("\x1b[?1049l");
    }
    drop(raw);
    match ending? {
        Ending::Exit(code) => Ok(code),
        Ending::Shell => Err(shell()),
    }
}

/// Becomes an interactive shell in the same window; comes back only when that fails.
fn shell() -> String {
    let error = std::os::unix::process::CommandExt::exec(std::process::Command::new("sh").arg("-i"));
    format!("cannot become a shell: {error}")
}

fn live(agent: &mut Agent, book: &mut Book) -> Result<Ending, String> {
    let keys = read_keys();
    let mut shown = String::new();
    loop {
        let now = Instant::now();
        if let Some(script) = book.turn()? {
            agent.begin(&script, now);
        }
        if let Some(ending) = agent.pass(now) {
            return Ok(ending);
        }
        if let Some(rest) = agent.stalls(now) {
            std::thread::sleep(rest.min(TICK));
            continue;
        }
        if agent.may_draw(now) {
            let (rows, columns) = size();
            let bytes = paint(agent.persona(), &agent.view(rows.max(4), columns.max(10), now));
            if bytes != shown {
                print_now(&bytes);
                shown = bytes;
            }
            if agent.drawn(Instant::now()) {
                print_now(ASK);
            }
        }
        let wait = agent.next(now).map_or(TICK, |at| at.saturating_duration_since(now).min(TICK));
        match keys.recv_timeout(wait) {
            Ok((at, keys)) => {
                if let Some(ending) = agent.hear(&keys, at) {
                    return Ok(ending);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(Ending::Exit(0)),
        }
    }
}

fn read_keys() -> Receiver<(Instant, Vec<Key>)> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut keys = Keys::default();
        let mut buffer = [0; 4096];
        while let Ok(length @ 1..) = std::io::stdin().read(&mut buffer) {
            let found = keys.feed(buffer.get(..length).unwrap_or_default());
            if sender.send((Instant::now(), found)).is_err() {
                return;
            }
        }
    });
    receiver
}
