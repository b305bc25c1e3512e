//! `loop turn`.

use std::process::ExitCode;

use loop_core::brief::{Brief, Changes, Commit, DIFF_BYTES, DIFF_LINES, File, Unfinished};
use loop_core::plain::plain;
use loop_core::{Decision, Name, Role};
use loop_git::{CommitId, Repo, changed_since, read_baseline, record_baseline};
use loop_router::reading::{Observed, Reading};
use loop_router::relay::headline;
use loop_store::Store;
use serde_json::json;

use crate::commands::DONE;
use crate::commands::commit::{nobody, on_the_loops_branch};
use crate::failure::{Done, Failure, NOTHING};
use crate::here::Here;
use crate::world::World;
use crate::{output, section, skills};

/// Print what an agent needs for its turn now
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The agent
    pub(crate) name: String,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Runs the command.
pub(crate) async fn run(world: &World, args: Args) -> Done {
    let mut here = Here::with_any_store(world).await?;
    let (config, _) = here.config(world)?;
    let Some((name, role)) = config.cast().find(&args.name).map(|(name, role)| (name.clone(), role)) else {
        return Err(nobody(&config, &args.name));
    };
    let observed = match here.read(world)? {
        Reading::Loop(observed) => observed,
        Reading::Idle { .. } => return Ok(nothing(&args, "there is no loop here; there is nothing to do.")),
        Reading::Underway(operation) => {
            return Ok(nothing(
                &args,
                &format!("{operation} is under way; there is nothing to do until it is finished."),
            ));
        }
        Reading::Unreadable { why, .. } => return Err(Failure::say(why)),
    };
    on_the_loops_branch(&here)?;
    if role == Role::Planner && config.planner.as_ref() == Some(&name) {
        return Ok(planner(&args, &observed));
    }
    let mut brief = brief(world, &here, &observed, &name)?;
    if let Some(agent) = observed.config.agent(&name).filter(|_| brief.your_turn) {
        let transport = transport(world, &here, &name).await;
        brief.steps =
            skills::is_called_in_words(agent, transport.as_deref()).then(|| skills::steps(name.as_str()));
    }
    if args.json {
        output::json(&brief);
    } else {
        output::print(&brief.render());
    }
    Ok(if brief.your_turn { DONE } else { ExitCode::from(NOTHING) })
}

/// How the agent is reached, where the store can tell.
async fn transport(world: &World, here: &Here, name: &Name) -> Option<String> {
    let row = here.row.as_ref()?;
    let store = Store::open(&world.store_url()).await.ok()?;
    Some(store.session(&row.id, name).await.ok()??.transport)
}

/// Everything that the agent needs now; its turn begins with it.
fn brief(world: &World, here: &Here, observed: &Observed, name: &Name) -> Result<Brief, Failure> {
    let repo = here.reader.repo();
    let mut brief = Brief::new(&observed.status, &observed.config, &observed.facts, &observed.decided, name);
    let own = observed.status.turns.iter().rev().find(|turn| turn.author == *name);
    let since = match own.and_then(|turn| observed.commit_of(turn.n)) {
        Some(commit) => Some(commit.parse::<CommitId>()?),
        None => observed.start.clone(),
    };
    if let Some(since) = since {
        brief.commits = commits(repo, &since, &observed.tip)?;
        let status_file = observed.config.status_file.clone();
        let skip = |path: &str| path == status_file;
        let diff = repo.diff(&since, &observed.tip, &skip, DIFF_LINES, DIFF_BYTES)?;
        let files = diff.stat.iter().map(|stat| File {
            path: stat.path.clone(),
            added: stat.added,
            removed: stat.removed,
            binary: stat.binary,
        });
        brief.changes =
            Some(Changes::new(since.as_str(), observed.tip.as_str(), files.collect(), &diff.text));
    }
    if brief.your_turn {
        brief.unfinished = begin(world, here, observed, name)?;
    }
    Ok(brief)
}

fn commits(repo: &Repo, since: &CommitId, tip: &CommitId) -> Result<Vec<Commit>, Failure> {
    let commits = repo.log_between(Some(since), tip)?.into_iter().map(|commit| Commit {
        id: commit.id.to_string(),
        by: commit.loop_agent.unwrap_or(commit.author_name),
        subject: commit.subject,
    });
    Ok(commits.collect())
}

/// Records what was changed before this turn; where the turn had begun already, says what it left behind.
fn begin(world: &World, here: &Here, observed: &Observed, name: &Name) -> Result<Unfinished, Failure> {
    let repo = here.reader.repo();
    let id = observed.status.loop_id.as_deref().unwrap_or_default();
    let turn = format!("{id}/{}", observed.status.turns.len() + 1);
    let began = matches!(read_baseline(repo, name), Ok(Some(baseline)) if baseline.turn == turn);
    let baseline = match record_baseline(repo, &world.git_env, name, &turn) {
        Ok(baseline) => baseline,
        Err(error) => {
            // A sandbox may keep the git folder read-only; the turn itself must not fail because of it.
            output::note(format!("loop: what was changed before this turn could not be recorded: {error}"));
            return Ok(Unfinished::default());
        }
    };
    if !began {
        return Ok(Unfinished::default());
    }
    let since = changed_since(repo, &world.git_env, &baseline)?;
    let files = since.changed.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    Ok(Unfinished { files, refused: section::refused(repo, name) })
}

/// What the planner needs: it is woken at the end, or when the loop is held.
fn planner(args: &Args, observed: &Observed) -> ExitCode {
    let (text, _) = headline(&observed.decided.decision);
    if args.json {
        output::json(&observed.report());
    } else {
        output::line(plain(&text));
        let next = match &observed.decided.decision {
            Decision::Passed { .. } => {
                "You are the planner. Read STATUS.md, then `loop archive` puts the loop away and says how to merge."
            }
            Decision::Held { .. } => {
                "You are the planner. Mend what holds it if you can (`loop say TEXT --to NAME`, `loop resume`), or leave it to a person."
            }
            Decision::Wake { .. } => {
                "You are the planner. The agents are at work; there is nothing for you to do."
            }
        };
        output::line(next);
    }
    match &observed.decided.decision {
        Decision::Wake { .. } => ExitCode::from(NOTHING),
        _ => DONE,
    }
}

fn nothing(args: &Args, why: &str) -> ExitCode {
    if args.json {
        output::json(&json!({"your_turn": false, "state": "idle", "reason": why}));
    } else {
        output::line(why);
    }
    ExitCode::from(NOTHING)
}
