//! The commands: one file each, and one row in [`Command`].

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::failure::Done;
use crate::world::World;

pub(crate) mod accept;
pub(crate) mod agents;
pub(crate) mod archive;
pub(crate) mod attach;
pub(crate) mod check;
pub(crate) mod commit;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod down;
pub(crate) mod hooks;
mod incidents;
pub(crate) mod init;
pub(crate) mod key;
pub(crate) mod log;
pub(crate) mod notify;
pub(crate) mod pause;
pub(crate) mod resume;
pub(crate) mod router;
pub(crate) mod run;
pub(crate) mod say;
pub(crate) mod signal;
pub(crate) mod skip;
pub(crate) mod status;
pub(crate) mod stop;
pub(crate) mod store;
pub(crate) mod tell;
pub(crate) mod topic;
pub(crate) mod trust;
pub(crate) mod turn;
pub(crate) mod turn_hook;
pub(crate) mod uninstall;
pub(crate) mod up;
pub(crate) mod wait;

const EXAMPLES: &str = "\
Examples:
  loop demo                                  see a whole loop, offline, in under a minute
  loop init \"add a login page\" --agent CC --agent Codex
                                             open a loop in this repository
  loop up                                    start the agents' windows and wake the first one
  loop status --watch                        what happens, and whether you must do anything
  loop archive                               put the finished loop away

Agents use `loop turn NAME` and `loop commit NAME -m …`. `loop help TOPIC` has the longer texts.";

/// Let coding agents work on one repository in turns until they agree
#[derive(Debug, Parser)]
#[command(name = "loop", version, before_help = EXAMPLES, max_term_width = 100, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Every command.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Init(init::Args),
    Up(up::Args),
    Down(down::Args),
    Run(run::Args),
    Attach(attach::Args),
    Router(router::Args),
    Notify(notify::Args),
    Turn(turn::Args),
    Commit(commit::Args),
    Status(status::Args),
    Log(log::Args),
    Incidents(incidents::Args),
    Check(check::Args),
    Say(say::Args),
    Accept(accept::Args),
    Pause(pause::Args),
    Resume(resume::Args),
    Skip(skip::Args),
    Stop(stop::Args),
    Agents(agents::Args),
    Wait(wait::Args),
    Signal(signal::Args),
    Archive(archive::Args),
    Hooks(hooks::Args),
    Uninstall(uninstall::Args),
    Doctor(doctor::Args),
    Trust(trust::Args),
    Key(key::Args),
    Store(store::Args),
    Tell(tell::Args),
    Demo(demo::Args),
    #[command(name = "turn-hook", hide = true)]
    TurnHook(turn_hook::Args),
    #[command(name = "demo-agent", hide = true)]
    DemoAgent(demo::AgentArgs),
    Completions(completions::Args),
    Help(topic::Args),
}

/// Runs a command.
pub(crate) async fn run(world: &World, cli: Cli) -> Done {
    match cli.command {
        Command::Init(args) => init::run(world, args).await,
        Command::Up(args) => up::run(world, args).await,
        Command::Down(args) => down::run(world, args).await,
        Command::Run(args) => run::run(world, args).await,
        Command::Attach(args) => attach::run(world, args).await,
        Command::Router(args) => router::run(world, args).await,
        Command::Notify(args) => Ok(notify::run(args.name.as_deref())),
        Command::TurnHook(args) => Ok(turn_hook::run(args.kind.as_deref(), args.payload.as_deref())),
        Command::Turn(args) => turn::run(world, args).await,
        Command::Commit(args) => commit::run(world, args).await,
        Command::Status(args) => status::run(world, args).await,
        Command::Log(args) => log::run(world, args).await,
        Command::Incidents(args) => incidents::run(world, args).await,
        Command::Check(args) => check::run(world, args).await,
        Command::Say(args) => say::run(world, args).await,
        Command::Accept(args) => accept::run(world, args).await,
        Command::Pause(args) => pause::run(world, args).await,
        Command::Resume(args) => resume::run(world, args).await,
        Command::Skip(args) => skip::run(world, args).await,
        Command::Stop(args) => stop::run(world, args).await,
        Command::Agents(args) => agents::run(world, args).await,
        Command::Wait(args) => wait::run(world, args).await,
        Command::Signal(args) => signal::run(world, args).await,
        Command::Archive(args) => archive::run(world, args).await,
        Command::Hooks(args) => hooks::run(world, args).await,
        Command::Uninstall(args) => uninstall::run(world, args).await,
        Command::Doctor(args) => doctor::run(world, args).await,
        Command::Trust(args) => trust::run(world, args).await,
        Command::Key(args) => key::run(world, args).await,
        Command::Store(args) => store::run(world, args).await,
        Command::Tell(args) => tell::run(world, args).await,
        Command::Demo(args) => demo::run(world, args).await,
        Command::DemoAgent(args) => demo::agent(world, args).await,
        Command::Completions(args) => completions::run(world, args).await,
        Command::Help(args) => topic::run(world, args).await,
    }
}

/// Done.
pub(crate) const DONE: ExitCode = ExitCode::SUCCESS;
