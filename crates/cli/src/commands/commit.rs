//! `loop commit`.

use std::path::{Path, PathBuf};

use loop_core::append::NewSection;
use loop_core::plain::plain;
use loop_core::{Config, Decision, Name, Verdict};
use loop_git::{Repo, changed_since, forget_baseline, read_baseline};
use serde_json::json;

use crate::commands::DONE;
use crate::failure::{COMMAND_LINE, Done, Failure};
use crate::here::Here;
use crate::world::World;
use crate::{output, section};

/// Append a section to STATUS.md and commit it with this turn's changes
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The agent
    pub(crate) name: String,
    /// What was done: the summary of the section and the subject of the commit
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) message: String,
    /// The body of the section: a file, or `-` for standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) body: Option<String>,
    /// Give the verdict REVIEW-PASS
    #[arg(long, conflicts_with = "blocked")]
    pub(crate) pass: bool,
    /// Give the verdict REVIEW-BLOCKED
    #[arg(long, value_name = "REASON")]
    pub(crate) blocked: Option<String>,
    /// Hand the turn to this one instead of the next
    #[arg(long, value_name = "NAME")]
    pub(crate) to: Option<String>,
    /// Commit everything that differs from HEAD, also what was there before the turn
    #[arg(long)]
    pub(crate) all: bool,
    /// A reviewer may commit other files than STATUS.md
    #[arg(long)]
    pub(crate) fix: bool,
    /// Commit only these paths (and STATUS.md)
    #[arg(last = true)]
    pub(crate) paths: Vec<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Runs the command.
pub(crate) async fn run(world: &World, args: Args) -> Done {
    if args.message.trim().is_empty() {
        return Err(Failure::say("nothing is said with -m")
            .code(COMMAND_LINE)
            .next("say what was done, in a few words"));
    }
    let mut here = Here::with_any_store(world).await?;
    let (config, _) = here.config(world)?;
    let cast = config.cast();
    let Some((name, role)) = cast.find(&args.name).map(|(name, role)| (name.clone(), role)) else {
        return Err(nobody(&config, &args.name));
    };
    let observed = here.observed(world)?;
    on_the_loops_branch(&here)?;
    let verdict = verdict(&args, role)?;
    let to = target(&config, args.to.as_deref())?;
    let body = body(args.body.as_deref())?;
    let repo = here.reader.repo();
    let own = own_changes(world, repo, &args, &name)?;
    let paths: Vec<PathBuf> =
        own.paths.into_iter().filter(|path| *path != Path::new(&config.status_file)).collect();
    let reviewer = config.agent(&name).and_then(|agent| agent.role.as_deref()) == Some("reviewer");
    if reviewer && !args.fix && !paths.is_empty() {
        return Err(Failure::say(format!(
            "{name} is a reviewer, and {} would be committed",
            count(paths.len())
        ))
        .next("put the files back, or say --fix if they are meant"));
    }
    if let Decision::Wake { agent, .. } = &observed.decided.decision
        && *agent != name
        && role == loop_core::Role::Agent
    {
        output::note(format!("loop: it is {agent}'s turn; this section of {name} is out of turn."));
    }
    let section =
        NewSection { author: name.clone(), to, summary: args.message.trim().to_owned(), body, verdict };
    let committed_files = paths.len();
    let written = section::write(world, repo, &config, &section, paths)?;
    // The next `loop turn` begins a turn of its own.
    forget_baseline(repo, &name)?;
    let left_out: Vec<&PathBuf> =
        own.left_out.iter().filter(|path| *path != Path::new(&config.status_file)).collect();
    if args.json {
        output::json(&json!({
            "commit": written.commit, "files": committed_files, "left_out": left_out, "said": written.lines,
        }));
        return Ok(DONE);
    }
    output::line(format!(
        "{} {} ({} besides {})",
        written.commit.short(),
        section.summary,
        count(committed_files),
        config.status_file
    ));
    for closed in &written.closed {
        output::note(format!("loop: closed {} in {}", plain(closed), config.status_file));
    }
    if !left_out.is_empty() {
        let names: Vec<String> =
            left_out.iter().take(8).map(|path| plain(&path.to_string_lossy()).into_owned()).collect();
        output::note(format!(
            "loop: left out, changed before this turn: {}{} (--all takes them in)",
            names.join(", "),
            if left_out.len() > 8 { ", …" } else { "" }
        ));
    }
    for line in written.lines {
        output::note(line);
    }
    Ok(DONE)
}

/// The files of this turn.
struct Own {
    paths: Vec<PathBuf>,
    left_out: Vec<PathBuf>,
}

fn own_changes(world: &World, repo: &Repo, args: &Args, name: &Name) -> Result<Own, Failure> {
    if !args.paths.is_empty() {
        let root = &repo.place().worktree;
        let paths = args.paths.iter().map(|path| {
            let whole = world.cwd.join(path);
            let whole = whole
                .parent()
                .and_then(|folder| std::fs::canonicalize(folder).ok())
                .map_or(whole.clone(), |folder| {
                    whole.file_name().map_or(folder.clone(), |file| folder.join(file))
                });
            whole
                .strip_prefix(root)
                .map(Path::to_owned)
                .map_err(|_| Failure::say(format!("{} is not in this repository", path.display())))
        });
        return Ok(Own { paths: paths.collect::<Result<_, _>>()?, left_out: Vec::new() });
    }
    let baseline = read_baseline(repo, name)?;
    match baseline {
        Some(baseline) if !args.all => {
            let since = changed_since(repo, &world.git_env, &baseline)?;
            Ok(Own { paths: since.changed, left_out: since.left_out })
        }
        None if !args.all => {
            output::note(format!(
                "loop: `loop turn {name}` was not called before, so this turn's changes cannot be told from earlier ones; only STATUS.md is committed. Name the files (`-- PATHS`) or say --all."
            ));
            let left_out = repo.dirty(&world.git_env)?.into_iter().map(|dirty| dirty.path).collect();
            Ok(Own { paths: Vec::new(), left_out })
        }
        _ => Ok(Own {
            paths: repo.dirty(&world.git_env)?.into_iter().map(|dirty| dirty.path).collect(),
            left_out: Vec::new(),
        }),
    }
}

fn count(files: usize) -> String {
    if files == 1 { "1 file".to_owned() } else { format!("{files} files") }
}

/// Says that nobody has this name, and who there is.
pub(crate) fn nobody(config: &Config, name: &str) -> Failure {
    let cast = config.cast();
    let names: Vec<&str> = cast.names().map(Name::as_str).collect();
    Failure::say(format!("nobody here is called {}", plain(name)))
        .next(format!("the names in loop.yaml: {}", names.join(", ")))
}

/// A commit on another branch would never be seen.
pub(crate) fn on_the_loops_branch(here: &Here) -> Result<(), Failure> {
    let Some(row) = &here.row else { return Ok(()) };
    let head = here.reader.repo().head()?;
    match head.branch() {
        Some(branch) if branch == row.branch => Ok(()),
        Some(branch) => {
            Err(Failure::say(format!("this is branch {branch}; the loop lives on {}", row.branch))
                .next(format!("`git switch {}`, then again", shell_words::quote(&row.branch))))
        }
        None => Err(Failure::say(format!("HEAD is detached; the loop lives on {}", row.branch))
            .next(format!("`git switch {}`, then again", shell_words::quote(&row.branch)))),
    }
}

fn verdict(args: &Args, role: loop_core::Role) -> Result<Option<Verdict>, Failure> {
    let verdict = match (&args.blocked, args.pass) {
        (Some(reason), _) => {
            Some(Verdict::Blocked { reason: Some(reason.trim().to_owned()).filter(|r| !r.is_empty()) })
        }
        (None, true) => Some(Verdict::Pass { commit: None }),
        (None, false) => None,
    };
    if verdict.is_some() && role != loop_core::Role::Agent {
        return Err(Failure::say("only an agent's section gives a verdict")
            .next("a person ends a loop with `loop accept`"));
    }
    Ok(verdict)
}

/// The participant that `--to` names.
pub(crate) fn target(config: &Config, to: Option<&str>) -> Result<Option<Name>, Failure> {
    match to {
        None => Ok(None),
        Some(to) => match config.cast().find(to) {
            Some((name, _)) => Ok(Some(name.clone())),
            None => Err(nobody(config, to)),
        },
    }
}

fn body(from: Option<&str>) -> Result<String, Failure> {
    let read = match from {
        None => return Ok(String::new()),
        Some("-") => std::io::read_to_string(std::io::stdin()),
        Some(file) => std::fs::read_to_string(file),
    };
    read.map_err(|error| {
        let from = from.filter(|from| *from != "-").unwrap_or("standard input");
        Failure::users(anyhow::Error::new(error).context(format!("cannot read the body from {from}")))
            .next("--body takes a text file in UTF-8, or `-`")
    })
}
