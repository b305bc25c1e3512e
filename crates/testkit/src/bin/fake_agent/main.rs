//! `loop-fake-agent`: plays an agent CLI by a script.
//!
//! In a terminal it shows the screen that the `scripted` profile describes: a composer `❯ text` in the last line,
//! `… working (esc to interrupt)` and the title `✻ NAME` while it works, `? question` instead of the composer when
//! it asks. It takes bracketed pastes. What was really submitted to it goes to its log.
//!
//! With `--headless TEXT` it runs one turn without a terminal and exits; an empty text means a terminal all the same.

mod record;
mod screen;
mod terminal;
mod turn;

use std::path::PathBuf;
use std::process::ExitCode;

use loop_testkit::script::Script;

use crate::record::Record;
use crate::turn::Player;

/// What stands on the command line.
struct Arguments {
    name: String,
    script: Script,
    log: Option<PathBuf>,
    loop_binary: String,
    headless: Option<String>,
    conversation: Option<String>,
}

fn main() -> ExitCode {
    let arguments = match parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(message) => {
            eprintln!("loop-fake-agent: {message}");
            return ExitCode::from(2);
        }
    };
    let record = Record::new(arguments.log);
    record.write("start", arguments.headless.as_deref().unwrap_or_default(), false);
    let player = Player::new(arguments.script, arguments.loop_binary, record);
    let code = match arguments.headless {
        Some(text) => turn::headless(&player, &text, arguments.conversation.as_deref()),
        None => terminal::run(&player, &arguments.name),
    };
    player.record.write("exit", &code.to_string(), false);
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let mut arguments = Arguments {
        name: "agent".to_owned(),
        script: Script::default(),
        log: None,
        loop_binary: "loop".to_owned(),
        headless: None,
        conversation: None,
    };
    while let Some(option) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{option} needs a value"));
        match option.as_str() {
            "--name" => arguments.name = value()?,
            "--script" => {
                let path = value()?;
                let text =
                    std::fs::read_to_string(&path).map_err(|error| format!("cannot read {path}: {error}"))?;
                arguments.script = serde_json::from_str(&text).map_err(|error| format!("{path}: {error}"))?;
            }
            "--log" => arguments.log = Some(value()?.into()),
            "--loop-bin" => arguments.loop_binary = value()?,
            // Nothing to say means a window: one command line serves both, as `{text}` is empty there.
            "--headless" => arguments.headless = Some(value()?).filter(|text| !text.is_empty()),
            "--conversation" => arguments.conversation = Some(value()?).filter(|id| !id.is_empty()),
            "--version" => {
                println!("loop-fake-agent {}", env!("CARGO_PKG_VERSION"));
                std::process::exit(0);
            }
            other => return Err(format!("unknown option {other}")),
        }
    }
    Ok(arguments)
}
