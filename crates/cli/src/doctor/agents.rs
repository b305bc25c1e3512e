//! Each agent: its program, its tools, its skill, its session, and whether it could commit.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use loop_core::Config;
use loop_core::config::{Agent, Fill};
use loop_core::profile::{builtin, kinds};
use loop_router::agent_environment;
use loop_store::Store;
use tokio::process::Command;

use super::{Check, Report, turn_hooks};
use crate::client::{Client, RouterLine};
use crate::here::Here;
use crate::launch::transport_of;
use crate::presence::look;
use crate::proving::{Proof, prove};
use crate::skills::{self, Skill};
use crate::world::World;

/// How long a CLI may take to say its version.
const VERSION: Duration = Duration::from_secs(15);

type Environment = BTreeMap<String, String>;

/// Examines every agent of `loop.yaml`.
pub(super) async fn agents(
    world: &World,
    here: &Here,
    config: &Config,
    store: Option<Store>,
    router: Option<RouterLine>,
    tmux: bool,
    report: &mut Report,
) {
    let client = store.map(|store| Client { store, router, kinds: world.settings.kinds.clone() });
    let id = here.row.as_ref().map_or("", |row| row.id.as_str());
    let environment = |agent: &Agent| agent_environment(id, agent, &world.agent_env(), &Fill::default());
    let committing = config.agents.iter().filter(|agent| transport_of(agent, tmux) != "person");
    let trials = committing.map(|agent| (agent, environment(agent))).collect();
    let mut proofs = prove(here.reader.repo(), config, trials).await.into_iter();
    for agent in &config.agents {
        let env = environment(agent);
        if transport_of(agent, tmux) == "person" {
            report.add(match world.tell.is_empty() {
                false => Check::ok(agent.name.as_str(), "a person, told by your `tell:`"),
                true => Check::not_ok(
                    agent.name.as_str(),
                    "a person, and nobody can be told",
                    "set `tell:` in your config.yaml (`loop help loop-yaml`); `loop tell --test` tries it",
                ),
            });
            continue;
        }
        let root = &here.reader.repo().place().worktree;
        report.add(program(agent, &env, root, tmux).await);
        report.add(tools(world, agent, &env, root));
        if let Some(check) = skill(agent, root) {
            report.add(check);
        }
        if let Some(check) = turn_hooks::check(world, client.as_ref(), here, agent).await {
            report.add(check);
        }
        if let Some(client) = &client {
            report.add(session(world, client, here, config, agent).await);
        }
        if let Some(proof) = proofs.next() {
            report.add(commits(agent, proof));
        }
    }
}

fn commits(agent: &Agent, proof: Proof) -> Check {
    let what = format!("{} commits", agent.name);
    match proof {
        Ok(says) => Check::ok(what, format!("{says}, with its environment")),
        Err(refused) => Check::not_ok(what, refused.says, refused.next),
    }
}

/// Where no `loop.yaml` names them yet: which CLIs could be agents.
pub(super) fn installed(world: &World, report: &mut Report) {
    let path = world.env.get("PATH").cloned().unwrap_or_default();
    let found: Vec<String> = kinds()
        .iter()
        .filter_map(|row| builtin(row.kind))
        .filter_map(|profile| {
            let program = profile.start.first()?;
            which::which_in(program, Some(&path), &world.cwd).ok()?;
            Some(format!("{program} ({})", profile.kind))
        })
        .collect();
    report.add(if found.is_empty() {
        Check::unproven(
            "agents",
            "no agent's program was found on PATH",
            "install one, or name yours with `command:`",
        )
    } else {
        Check::ok("agents", format!("found on PATH: {}", found.join(", ")))
    });
}

/// The program that is started for it.
async fn program(agent: &Agent, env: &Environment, root: &Path, tmux: bool) -> Check {
    let what = format!("{} program", agent.name);
    let transport = transport_of(agent, tmux);
    let words = match (&agent.command, transport.as_str()) {
        (Some(command), _) => command,
        (None, "tmux") => &agent.profile.start,
        (None, "exec") => &agent.profile.headless,
        (None, "wait") => return Check::ok(what, format!("whatever calls `loop wait {}`", agent.name)),
        (None, _) => {
            let next = format!("give {} a `command:` in loop.yaml", agent.name);
            return Check::not_ok(
                what,
                format!("the transport `{transport}` calls a program of yours, and none is named"),
                next,
            );
        }
    };
    let Some(program) = words.first() else {
        let next = format!("give {} a `command:` in loop.yaml", agent.name);
        return Check::not_ok(what, format!("kind `{}` starts no program by itself", agent.kind), next);
    };
    let path = env.get("PATH").cloned().unwrap_or_default();
    let Ok(found) = which::which_in(program, Some(path), root) else {
        return Check::not_ok(
            what,
            format!("there is no program `{program}` on its PATH"),
            "install it, or name the right one with `command:` in loop.yaml",
        );
    };
    let seen = &agent.profile.seen_on;
    if agent.command.is_some() || seen.is_empty() {
        return Check::ok(what, found.display().to_string());
    }
    match version(&found, env).await {
        Ok(version) if seen.iter().any(|seen| version.contains(seen.as_str())) => {
            Check::ok(what, format!("{}, {version}", found.display()))
        }
        Ok(version) => Check::ok(
            what,
            format!("{}, {version} (this profile was seen to work on {})", found.display(), seen.join(", ")),
        ),
        Err(why) => Check::not_ok(
            what,
            format!("`{program} --version` {why}"),
            format!("run `{program} --version` in a terminal, and mend what it says"),
        ),
    }
}

async fn version(program: &Path, env: &Environment) -> Result<String, String> {
    let mut command = Command::new(program);
    command.arg("--version").env_clear().envs(env).current_dir(std::env::temp_dir());
    command.stdin(std::process::Stdio::null()).kill_on_drop(true);
    match tokio::time::timeout(VERSION, command.output()).await {
        Ok(Ok(output)) if output.status.success() => {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            Ok(text.lines().next().unwrap_or_default().trim().to_owned())
        }
        Ok(Ok(output)) => Err(format!("ends with {}", output.status)),
        Ok(Err(error)) => Err(format!("cannot be started: {error}")),
        Err(_) => Err(format!("does not end within {} s", VERSION.as_secs())),
    }
}

/// What the skill tells it to run.
fn tools(world: &World, agent: &Agent, env: &Environment, root: &Path) -> Check {
    let what = format!("{} tools", agent.name);
    let path = env.get("PATH").cloned().unwrap_or_default();
    let find = |program: &str| which::which_in(program, Some(&path), root).ok();
    if find("git").is_none() {
        return Check::not_ok(what, "there is no `git` on its PATH", "mend PATH, where `loop up` is called");
    }
    let Some(found) = find("loop") else {
        let folder = world.exe.parent().map(|folder| folder.display().to_string()).unwrap_or_default();
        return Check::not_ok(
            what,
            "there is no `loop` on its PATH, so it can neither read its turn nor hand over",
            format!("put {folder} on PATH, or link {} into a folder that is", world.exe.display()),
        );
    };
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| PathBuf::from(path));
    if real(&found) == real(&world.exe) {
        return Check::ok(what, "`git` and this `loop` are on its PATH");
    }
    Check::unproven(
        what,
        format!("it would call {}, and this is {}", found.display(), world.exe.display()),
        "make them one, or see that both are of one version",
    )
}

fn skill(agent: &Agent, root: &Path) -> Option<Check> {
    let what = format!("{} skill", agent.name);
    let found = skills::look(root, &agent.profile);
    match (&found, found.fault()) {
        (_, Some(fault)) => Some(Check::not_ok(what, fault, skills::again(agent))),
        (Skill::Current(file), None) => Some(Check::ok(what, file.display().to_string())),
        (_, None) => None,
    }
}

/// Where it is reached, and whether it takes a turn there.
async fn session(world: &World, client: &Client, here: &Here, config: &Config, agent: &Agent) -> Check {
    let what = format!("{} session", agent.name);
    let look = match look(world, client, here.row.as_ref(), config, agent).await {
        Ok(look) => look,
        Err(failure) => return Check::not_ok(what, failure.words(), "`loop agents` shows more").ours(),
    };
    let up = here.row.as_ref().is_some_and(|row| row.up);
    let says = match &look.transport {
        // Words that name the agent stand by themselves.
        Some(transport) if look.state.contains(agent.name.as_str()) => {
            format!("{transport}, {}: {}", look.place, look.state)
        }
        Some(transport) => format!("{transport}, {}: {} {}", look.place, agent.name, look.state),
        None => "none yet".to_owned(),
    };
    match look.word() {
        Some("idle" | "busy" | "waiting" | "starting") => Check::ok(what, says),
        Some("asks" | "draft" | "limited") => {
            Check::not_ok(what, says, format!("`loop attach {}` shows its window", agent.name))
        }
        Some("gone" | "shell") => Check::not_ok(what, says, "`loop up` opens it anew"),
        Some("unknown") if look.transport.as_deref() == Some("tmux") => Check::not_ok(
            what,
            says,
            format!(
                "`loop attach {0}` shows its window; where that is how it looks at rest (after an update?), say so with \
                 `signs:` under {0} (`loop help loop-yaml`), or let it run with `transport: exec`",
                agent.name
            ),
        ),
        None if look.transport.is_none() && up => Check::not_ok(what, says, "`loop up` opens it"),
        None if look.transport.is_none() => Check::unproven(what, says, "`loop up` opens it"),
        _ if look.transport.as_deref() == Some("wait") => {
            Check::unproven(what, says, format!("it must call `loop wait {}` where it runs", agent.name))
        }
        _ => Check::unproven(what, says, format!("`loop attach {}` shows it", agent.name)),
    }
}
