//! The `loop` command: reads arguments, environment and home folder, prints, and leaves the work to the crates.

mod cast_change;
mod casting;
mod client;
mod commands;
mod daemon;
mod demo;
mod doctor;
mod failure;
mod giving_back;
mod handover;
mod here;
mod kinds;
mod launch;
mod notifier;
mod opening;
mod output;
mod people;
mod presence;
mod proving;
mod registering;
mod reopening;
mod scribe;
mod section;
mod settings;
mod skills;
mod starting;
mod steering;
mod telling;
mod turn_hooks;
mod waiting;
mod world;

use std::process::ExitCode;

use clap::Parser;

use commands::Cli;
use failure::Failure;
use world::World;

fn main() -> ExitCode {
    // Hooks are on the way of every commit and prompt: no argument parser, no runtime, no settings before them.
    let words: Vec<String> =
        std::env::args_os().skip(1).take(4).map(|word| word.to_string_lossy().into_owned()).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["notify"] => return commands::notify::run(None),
        ["notify", name] if !name.starts_with('-') => return commands::notify::run(Some(name)),
        ["turn-hook", kind] if !kind.starts_with('-') => return commands::turn_hook::run(Some(kind), None),
        ["turn-hook", kind, payload] if !kind.starts_with('-') => {
            return commands::turn_hook::run(Some(kind), Some(payload));
        }
        _ => {}
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // `--help` and `--version` are no errors; where nobody reads, nothing is to be printed.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { failure::COMMAND_LINE } else { 0 });
        }
    };
    let world = match World::read() {
        Ok(world) => world,
        Err(failure) => return failure.print(false),
    };
    let color = world.color_on_stderr;
    loop_router::tls::provide();
    let runtime = match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return Failure::ours(error).print(color),
    };
    let ended = runtime.block_on(commands::run(&world, cli));
    // A blocking read of ours must not keep a finished command from ending.
    runtime.shutdown_timeout(std::time::Duration::from_millis(200));
    match ended {
        Ok(code) => code,
        Err(failure) => failure.print(color),
    }
}
