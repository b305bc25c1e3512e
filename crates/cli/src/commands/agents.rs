//! `loop agents`.

use std::process::ExitCode;

use loop_core::Name;
use loop_core::config::Agent;
use loop_core::plain::plain;
use loop_store::LoopRow;
use serde::Serialize;
use serde_json::json;

use crate::cast_change::{self, Changed};
use crate::commands::DONE;
use crate::failure::{Done, Failure, NOTHING};
use crate::here::Here;
use crate::output::{self, pad};
use crate::presence::{Look, look};
use crate::reopening::Reopen;
use crate::steering::Helm;
use crate::world::World;
use crate::{kinds, registering};

/// List, add, remove and register agents
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) action: Option<Action>,
    /// Print one JSON object
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// What to do with agents.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Action {
    /// List the agents and how each is reached
    List,
    /// Add an agent to loop.yaml
    ///
    /// Comments and layout of loop.yaml stay; it is committed alone and approved, for it is you who changes it. An
    /// agent that is there already gets its skill anew.
    Add {
        /// NAME or NAME=KIND
        name: String,
        /// Behind this agent instead of at the end
        #[arg(long, value_name = "NAME")]
        after: Option<String>,
    },
    /// Remove an agent from loop.yaml
    Remove {
        /// The agent
        name: String,
    },
    /// Register how an agent is reached, for example after its window was opened by hand
    Register {
        /// The agent
        name: String,
        /// tmux, exec, command, wait or person
        #[arg(long, default_value = "tmux")]
        transport: String,
        /// The address: a tmux pane id (`%3`), or what your command understands
        #[arg(long)]
        address: Option<String>,
    },
    /// Forget how an agent is reached, and its conversation
    ///
    /// Its window stays open, and is yours. The next `loop up` opens another one, in a new conversation.
    Forget {
        /// The agent
        name: String,
    },
    /// List the kinds of agents that are known
    Profiles {
        /// Explain this kind
        kind: Option<String>,
    },
}

/// Runs the command.
pub(crate) async fn run(world: &World, args: Args) -> Done {
    let json = args.json;
    match args.action.unwrap_or(Action::List) {
        Action::List => list(world, json).await,
        Action::Add { name, after } => {
            changed(&cast_change::add(world, &name, after.as_deref()).await?, json)
        }
        Action::Remove { name } => changed(&cast_change::remove(world, &name).await?, json),
        Action::Register { name, transport, address } => {
            let helm = Helm::take(world, "agents register").await?;
            let (config, _) = helm.here.config(world)?;
            let said = registering::register(
                world,
                &helm.client,
                &helm.row,
                &config,
                &name,
                &transport,
                address.as_deref(),
            )
            .await?;
            done(&helm.row, &said, json)
        }
        Action::Forget { name } => forget(world, &name, json).await,
        Action::Profiles { kind } => profiles(world, kind.as_deref(), json),
    }
}

fn changed(changed: &Changed, json: bool) -> Done {
    if json {
        output::json(&json!({"status": "ok", "changed": changed}));
    } else {
        changed.said.iter().for_each(output::line);
    }
    Ok(DONE)
}

fn done(row: &LoopRow, said: &str, json: bool) -> Done {
    if json {
        output::json(&json!({"status": "ok", "loop": row.id, "done": said}));
    } else {
        output::line(said);
    }
    Ok(DONE)
}

async fn forget(world: &World, name: &str, json: bool) -> Done {
    let helm = Helm::take(world, "agents forget").await?;
    let name = Name::new(name).map_err(Failure::users)?;
    match registering::leave(world, &helm.client, &helm.row, &name, false).await? {
        Some(said) => done(&helm.row, &said, json),
        None if json => {
            output::json(&json!({"status": "unchanged", "loop": helm.row.id, "done": null}));
            Ok(ExitCode::from(NOTHING))
        }
        None => {
            output::line(format!("nothing is registered for {name}."));
            Ok(ExitCode::from(NOTHING))
        }
    }
}

/// One agent, as it is listed.
#[derive(Serialize)]
struct Listed {
    name: Name,
    kind: String,
    /// `rotation`, `skipped`, `planner` or `out`.
    part: &'static str,
    #[serde(flatten)]
    look: Look,
    /// How a person opens its conversation; null where there is none yet, or its kind cannot.
    open: Option<Open>,
}

/// How a conversation is opened, in parts and as a line for a shell.
#[derive(Serialize)]
struct Open {
    #[serde(flatten)]
    reopen: Reopen,
    line: String,
}

impl Open {
    fn new(row: &LoopRow, agent: &Agent, look: &Look) -> Option<Self> {
        let reopen = Reopen::new(agent, &row.worktree, look.conversation.as_deref()?)?;
        Some(Self { line: reopen.line(), reopen })
    }
}

async fn list(world: &World, json: bool) -> Done {
    let (client, here) = Here::with_client(world).await?;
    let (config, _) = here.config(world)?;
    let row = here.row.as_ref();
    let looks = config.agents.iter().map(|agent| look(world, &client, row, &config, agent));
    let looks: Result<Vec<Look>, Failure> = futures_util::future::join_all(looks).await.into_iter().collect();
    let part = |agent: &Agent| match config.rotation.contains(&agent.name) {
        _ if agent.skip || row.is_some_and(|row| row.skipped.contains(&agent.name)) => "skipped",
        true => "rotation",
        false if config.planner.as_ref() == Some(&agent.name) => "planner",
        false => "out",
    };
    let agents: Vec<Listed> = config
        .agents
        .iter()
        .zip(looks?)
        .map(|(agent, look)| Listed {
            name: agent.name.clone(),
            kind: agent.kind.clone(),
            part: part(agent),
            open: row.and_then(|row| Open::new(row, agent, &look)),
            look,
        })
        .collect();
    if json {
        output::json(&json!({
            "loop": row.map(|row| &row.id),
            "rotation": config.rotation.to_string(),
            "router": client.router.as_ref().map(crate::client::RouterLine::addr),
            "agents": agents,
        }));
        return Ok(DONE);
    }
    output::print(&table(&agents));
    if agents.iter().any(|agent| agent.look.transport.as_deref() == Some("exec") && agent.open.is_some()) {
        output::line(
            "A headless conversation may be missing from its CLI's own lists and windows, which show another \
             project or only those that were opened there; the command above opens it.",
        );
    }
    output::line(format!("rotation: {}", config.rotation));
    Ok(DONE)
}

fn table(agents: &[Listed]) -> String {
    let cells: Vec<[String; 6]> = agents
        .iter()
        .map(|agent| {
            [
                agent.name.to_string(),
                agent.kind.clone(),
                match agent.part {
                    "rotation" => "in rotation".to_owned(),
                    "out" => "not in rotation".to_owned(),
                    part => part.to_owned(),
                },
                agent.look.transport.clone().unwrap_or_else(|| "-".to_owned()),
                agent.look.place.clone(),
                agent.look.state.clone(),
            ]
        })
        .collect();
    let columns = |text: &String| unicode_width::UnicodeWidthStr::width(text.as_str());
    let width = |column: usize| cells.iter().map(|row| columns(&row[column])).max().unwrap_or(0);
    let widths: Vec<usize> = (0..5).map(width).collect();
    let mut text = String::new();
    for (agent, row) in agents.iter().zip(&cells) {
        for (cell, width) in row.iter().zip(&widths) {
            text.push_str(&pad(cell, *width));
            text.push_str("  ");
        }
        text.push_str(&row[5]);
        text.push('\n');
        if let Some(conversation) = &agent.look.conversation {
            let margin = pad("", widths[0]);
            text.push_str(&format!("{margin}  conversation {}\n", plain(conversation)));
            if let Some(open) = &agent.open {
                text.push_str(&format!("{margin}  opened by    {}\n", plain(&open.line)));
            }
        }
    }
    text
}

fn profiles(world: &World, kind: Option<&str>, json: bool) -> Done {
    match kind {
        Some(kind) => {
            let kind = kinds::one(world, kind)?;
            if json {
                output::json(&json!({"yours": kind.yours, "profile": kind.profile}));
            } else {
                output::print(&kinds::explain(&kind));
            }
        }
        None => {
            let all = kinds::all(world);
            if json {
                let rows: Vec<_> = all
                    .iter()
                    .map(|kind| {
                        let profile = &kind.profile;
                        json!({
                            "kind": profile.kind, "about": profile.about, "version": profile.version,
                            "seen_on": profile.seen_on, "yours": kind.yours,
                        })
                    })
                    .collect();
                output::json(&json!({"profiles": rows}));
            } else {
                output::print(&kinds::table(&all));
            }
        }
    }
    Ok(DONE)
}
