//! `loop up`.

use std::process::ExitCode;

use loop_core::Config;
use loop_core::config::{Fill, Permissions};
use loop_core::plain::plain;
use loop_hooks::Proof;
use loop_router::agent_environment;
use loop_router::relay::remembered;
use loop_router::steer::Steer;
use loop_store::{LoopRow, NewLoop};
use serde::Serialize;

use crate::client::Client;
use crate::commands::DONE;
use crate::commands::commit::on_the_loops_branch;
use crate::commands::trust::{approve, is_edited};
use crate::daemon::ensure_router;
use crate::failure::{Done, Failure, USERS};
use crate::here::Here;
use crate::launch::{Launched, Wanted, launch};
use crate::output;
use crate::people::only_people;
use crate::proving::prove;
use crate::skills;
use crate::telling;
use crate::world::World;

/// Start the router and the agents' windows, and wake the first agent
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Args {
    /// Every loop that is known, not only the one here
    #[arg(long)]
    pub(crate) all: bool,
    /// No windows: run each turn as one headless process
    #[arg(long)]
    pub(crate) headless: bool,
    /// Approve loop.yaml without asking
    #[arg(long)]
    pub(crate) yes: bool,
    /// Go on in the agents' old conversations although the loop is new
    #[arg(long, alias = "keep-sessions")]
    pub(crate) keep_conversations: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

impl Args {
    fn wanted(&self) -> Wanted {
        Wanted { headless: self.headless, keep_conversations: self.keep_conversations }
    }
}

/// Runs the command.
pub(crate) async fn run(world: &World, args: Args) -> Done {
    if args.all {
        return all(world, args.wanted(), args.json).await;
    }
    let (client, mut here) = Here::with_client(world).await?;
    let row = make_known(world, &client, &mut here).await?;
    let summary = raise(world, &row, &mut here, args.wanted(), args.yes).await?;
    if args.json {
        output::json(&summary);
    } else {
        output::print(&summary.text());
    }
    Ok(if summary.is_ready() { DONE } else { ExitCode::from(USERS) })
}

/// What `loop up` did, and what could stop the work tonight.
#[derive(Debug, Serialize)]
pub(crate) struct Summary {
    /// The loop's id.
    #[serde(rename = "loop")]
    pub(crate) id: String,
    /// Where the router listens.
    router: std::net::SocketAddr,
    /// The tmux session, where there is one.
    session: Option<String>,
    /// The agents.
    agents: Vec<Launched>,
    /// What could stop the work tonight.
    risks: Vec<String>,
}

impl Summary {
    /// Whether every agent can be woken.
    fn is_ready(&self) -> bool {
        self.agents.iter().all(|agent| agent.trouble.is_none())
    }

    /// For a person.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("up: the router is at http://{}.\n", self.router);
        let width = self.agents.iter().map(|agent| agent.agent.as_str().chars().count()).max().unwrap_or(0);
        for agent in &self.agents {
            let name = output::pad(agent.agent.as_str(), width);
            let state = if agent.trouble.is_some() { "NOT READY" } else { "ready" };
            text.push_str(&format!(
                "  {name}  {:12} {:7} {}  {state}\n",
                agent.kind, agent.transport, agent.place
            ));
            if let Some(trouble) = &agent.trouble {
                for line in trouble.lines() {
                    text.push_str(&format!("  {}    {line}\n", output::pad("", width)));
                }
            }
        }
        if self.session.is_some() {
            text.push_str("`loop attach` shows the windows, `loop status --watch` what happens.\n");
        } else {
            text.push_str("`loop status --watch` shows what happens.\n");
        }
        if self.risks.is_empty() {
            text.push_str("Nothing is known that could stop the work tonight.\n");
        } else {
            text.push_str("What could stop the work tonight:\n");
            for risk in &self.risks {
                text.push_str(&format!("  - {risk}\n"));
            }
        }
        text
    }
}

/// The loop's row; made from STATUS.md when the store does not know it (a lost state folder, another machine).
async fn make_known(world: &World, client: &Client, here: &mut Here) -> Result<LoopRow, Failure> {
    let observed = here.observed(world)?;
    on_the_loops_branch(here)?;
    let id = observed.status.loop_id.clone();
    if let Some(row) = &here.row
        && id.as_deref().is_none_or(|id| id == row.id)
    {
        return Ok(row.clone());
    }
    let Some(id) = id else {
        return Err(Failure::say("STATUS.md has no loop id, so it is nobody's loop")
            .next("move it away and `loop init`, or add `<!-- loop: any-id -->` to its head and commit"));
    };
    let head = here.reader.repo().head()?;
    let Some(branch) = head.branch() else {
        return Err(Failure::say("HEAD is detached; a loop lives on a branch")
            .next("`git switch BRANCH`, then again"));
    };
    let place = here.reader.repo().place();
    let new = NewLoop {
        slug: branch.rsplit('/').next().unwrap_or(branch).to_owned(),
        id,
        worktree: place.worktree.clone(),
        common_dir: place.common_dir.clone(),
        branch: branch.to_owned(),
        status_file: observed.config.status_file.clone(),
        created_at: jiff::Timestamp::now(),
    };
    let row = client.add_loop(&new).await?;
    here.row = Some(row.clone());
    here.known = remembered(&client.store, row.clone()).await?;
    Ok(row)
}

/// Approves, starts router and sessions, and lets the first wake be made.
pub(crate) async fn raise(
    world: &World,
    row: &LoopRow,
    here: &mut Here,
    wanted: Wanted,
    yes: bool,
) -> Result<Summary, Failure> {
    let client = Client::open(world).await?;
    only_people(&client, row, "up").await?;
    // The router would refuse wrong settings and an open key too, but only its log would say so.
    world.router_options()?;
    // What is read and approved next is the loop.yaml of the branch that is checked out.
    on_the_loops_branch(here)?;
    let (config, text) = here.config(world)?;
    if is_edited(here, &text)? {
        output::note("note: your edit of loop.yaml is not committed; the committed one holds.");
    }
    if row.approved_text.as_deref() != Some(text.as_str()) {
        approve(&client, row, &config, &text, yes).await?;
    }
    let router = ensure_router(world).await?;
    let addr = router.addr();
    let client = Client { router: Some(router), ..client };
    let agents = launch(world, &client, row, &config, wanted).await?;
    client.steer(&row.id, &Steer::Up).await?;
    let session = client.store.loop_row(&row.id).await?.and_then(|row| row.session);
    let session = session.filter(|_| agents.iter().any(|agent| agent.transport == "tmux"));
    let mut risks = risks(world, row, here, &config, &agents);
    risks.extend(refused_commits(world, row, here, &config, &agents).await);
    risks.extend(telling::risks(world).await);
    Ok(Summary { id: row.id.clone(), router: addr, session, agents, risks })
}

/// What could stop the work tonight, each with the mend.
fn risks(world: &World, row: &LoopRow, here: &Here, config: &Config, agents: &[Launched]) -> Vec<String> {
    let mut risks = Vec::new();
    if let Some(why) = &row.paused {
        risks.push(format!("it is paused ({}): nobody is woken until `loop resume`", plain(why)));
    }
    for agent in agents {
        if agent.trouble.is_some() {
            risks.push(format!("{} is not ready: see above", agent.agent));
        }
        if let Some(entry) = config.agent(&agent.agent)
            && entry.permissions == Permissions::Ask
        {
            risks.push(format!(
                "{} asks before every tool (`permissions: ask`), and nobody answers at night",
                agent.agent
            ));
        }
    }
    risks.extend(agents.iter().filter_map(|launched| {
        let agent = config.agent(&launched.agent)?;
        let fault = skills::look(&row.worktree, &agent.profile).fault()?;
        Some(format!("{} may not know what it is woken for: {fault}: {}", agent.name, skills::again(agent)))
    }));
    if config.verify.is_none() {
        risks.push("no `verify:` command: a pass ends the loop unverified".to_owned());
    }
    let limits = [
        config.limits.rounds.map(|rounds| format!("{rounds} rounds")),
        config.limits.hours.map(|hours| format!("{hours} hours of work")),
        config.limits.turn_minutes.map(|minutes| format!("{minutes} minutes for one turn")),
    ];
    let limits: Vec<String> = limits.into_iter().flatten().collect();
    if !limits.is_empty() {
        risks.push(format!("limits hold it after {}", limits.join(", ")));
    }
    let repo = here.reader.repo();
    if repo.git(&world.git_env).identity().is_err() {
        risks.push(
            "git knows no name and e-mail here, so no agent can commit: set user.name and user.email"
                .to_owned(),
        );
    }
    // Proved by doing: a line that a person added to a shared hook by hand is as good as ours.
    let hook = loop_hooks::status(&row.worktree, &world.hook_env(), true);
    if !hook.is_ok_and(|status| matches!(status.proof, Some(Proof::Works { .. }))) {
        risks.push(
            "the post-commit hook does not run here: hand-overs take up to 10 s (`loop hooks status` says why)".to_owned(),
        );
    }
    risks
}

/// The agents whose commits would be refused, each with the mend: a trial is made for all of them side by side.
async fn refused_commits(
    world: &World,
    row: &LoopRow,
    here: &Here,
    config: &Config,
    agents: &[Launched],
) -> Vec<String> {
    let repo = here.reader.repo();
    if repo.git(&world.git_env).identity().is_err() {
        return Vec::new();
    }
    let committing = agents.iter().filter(|launched| launched.transport != "person");
    let committing: Vec<_> = committing.filter_map(|launched| config.agent(&launched.agent)).collect();
    let trials = committing
        .iter()
        .map(|agent| (*agent, agent_environment(&row.id, agent, &world.agent_env(), &Fill::default())));
    let proofs = prove(repo, config, trials.collect()).await;
    let refused = committing.iter().zip(proofs).filter_map(|(agent, proof)| Some((agent, proof.err()?)));
    refused
        .map(|(agent, refused)| {
            format!("{} cannot commit: {}: {}", agent.name, plain(&refused.says), refused.next)
        })
        .collect()
}

/// Raises every loop that was up, for example after a reboot.
async fn all(world: &World, wanted: Wanted, json: bool) -> Done {
    let client = Client::open(world).await?;
    let mut summaries = Vec::new();
    let mut failed = None;
    for row in client.store.loops(false).await?.into_iter().filter(|row| row.up) {
        let mut here = match Here::at(world, &row.worktree, Some(&client.store)).await {
            Ok(here) => here,
            Err(failure) => {
                output::note(format!("{}:", row.worktree.display()));
                failure.print(world.color_on_stderr);
                failed = Some(row.slug);
                continue;
            }
        };
        match raise(world, &row, &mut here, wanted, false).await {
            Ok(summary) if json => summaries.push(summary),
            Ok(summary) => {
                output::line(format!("{} ({})", row.slug, row.worktree.display()));
                output::print(&summary.text());
            }
            Err(failure) => {
                output::note(format!("{}:", row.worktree.display()));
                failure.print(world.color_on_stderr);
                failed = Some(row.slug);
            }
        }
    }
    if json {
        output::json(&serde_json::json!({"loops": summaries}));
    }
    match failed {
        None => Ok(DONE),
        Some(slug) => Err(Failure::say(format!("not every loop is up ({slug})"))),
    }
}
