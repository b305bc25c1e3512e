//! A section and its commit: what `loop commit` and `loop say` share.

use std::path::PathBuf;

use loop_core::append::NewSection;
use loop_core::history::{Damage, Recorded, compare};
use loop_core::{Config, Name, status};
use loop_git::{Blob, CommitId, CommitOpts, Repo, append_section, commit_paths};
use loop_hooks::notify::NotifyInput;

use crate::failure::Failure;
use crate::output;
use crate::world::World;

/// A section that was committed.
pub(crate) struct Written {
    /// Its commit.
    pub(crate) commit: CommitId,
    /// What the router made of it, in lines.
    pub(crate) lines: Vec<String>,
    /// What had been left open in STATUS.md and was closed.
    pub(crate) closed: Vec<String>,
}

/// Appends a section and commits it with `paths`, under STATUS.md's lock; taken back when git refuses.
pub(crate) fn write(
    world: &World,
    repo: &Repo,
    config: &Config,
    section: &NewSection,
    paths: Vec<PathBuf>,
) -> Result<Written, Failure> {
    if let Some(operation) = repo.operation() {
        return Err(Failure::say(format!("{operation} is under way; nothing was written"))
            .next("finish or abort it, then try again"));
    }
    stands_whole(repo, config)?;
    let appended = append_section(repo, &config.status_file, &config.cast(), section)?;
    let mut all = vec![appended.relative().to_owned()];
    all.extend(paths.into_iter().filter(|path| path != appended.relative()));
    let message = message(config, &section.author, &section.summary);
    let mut on_slow =
        || output::note("loop: git has not finished after 10 s (a hook? a signing prompt nobody sees?)");
    let git = repo.git(&world.git_env);
    match commit_paths(&git, &all, &message, CommitOpts::usual(&mut on_slow)) {
        Ok(committed) => {
            // Nothing refuses any more; a file that is gone already is what is wanted.
            let _ = std::fs::remove_file(refused_file(repo, &section.author));
            let closed = appended.closed.clone();
            drop(appended);
            Ok(Written { commit: committed.id, lines: lines(world, repo, &committed.words), closed })
        }
        Err(error) => {
            let file = refused_file(repo, &section.author);
            // Best effort: the next `loop turn` shows the words, and the user sees them now.
            let _ = std::fs::create_dir_all(repo.place().loop_dir())
                .and_then(|()| std::fs::write(&file, error.to_string()));
            let mend = error.hint().unwrap_or_else(|| "mend the cause and try again".to_owned());
            let undone = match appended.undo() {
                Ok(()) => format!("the section was taken back from {}", config.status_file),
                Err(undo) => format!("the section could not be taken back: {undo}"),
            };
            Err(Failure::users(error).next(format!("{mend}; {undone}")))
        }
    }
}

/// Refuses where the working tree's file has lost what is committed: appending to it would commit the loss.
fn stands_whole(repo: &Repo, config: &Config) -> Result<(), Failure> {
    let file = &config.status_file;
    let restore = format!("`git checkout HEAD -- {file}` restores it");
    let head = repo.head()?;
    let Some(tip) = head.tip() else { return Ok(()) };
    let bytes = |blob| match blob {
        Blob::File(bytes) | Blob::Symlink { content: Some(bytes), outside: false, .. } => Some(bytes),
        _ => None,
    };
    let Some(committed) = bytes(repo.blob(tip, file)?) else { return Ok(()) };
    let now = match repo.worktree_file(file)? {
        Blob::Missing => {
            return Err(
                Failure::say(format!("{file} is not in the working tree; nothing was written")).next(restore)
            );
        }
        blob => bytes(blob),
    };
    let cast = config.cast();
    // What cannot be read is refused, in better words, by those who read it.
    let (Ok(committed), Some(Ok(now))) =
        (status::parse(&committed, &cast), now.as_deref().map(|bytes| status::parse(bytes, &cast)))
    else {
        return Ok(());
    };
    if committed.loop_id.is_some() && now.loop_id.is_none() {
        return Err(Failure::say(format!(
            "{file} has lost its head, with the task and the loop's id; nothing was written"
        ))
        .next(format!("`git diff HEAD -- {file}` shows what is gone; {restore}")));
    }
    let recorded: Vec<Recorded> = committed
        .turns
        .iter()
        .map(|turn| Recorded {
            n: turn.n,
            author: turn.author.clone(),
            fingerprint: turn.fingerprint.clone(),
            summary: turn.summary.clone(),
            commit: None,
            answered: true,
        })
        .collect();
    let lost = compare(&recorded, &now).into_iter().find_map(|damage| match damage {
        Damage::Vanished(was) => Some((was, "is gone")),
        Damage::Reattributed { was, .. } => Some((was, "has another name")),
        _ => None,
    });
    match lost {
        None => Ok(()),
        Some((was, what)) => Err(Failure::say(format!(
            "section {} by {} ({}) {what} in {file}; nothing was written",
            was.n, was.author, was.summary
        ))
        .next(format!("`git diff HEAD -- {file}` shows it; put the earlier sections back and add yours at the end, or {restore}"))),
    }
}

/// What the hook printed in git's output; where no hook ran, the router is rung from here.
fn lines(world: &World, repo: &Repo, words: &str) -> Vec<String> {
    let said: Vec<String> = words
        .lines()
        .filter(|line| line.trim_start().starts_with("loop: "))
        .map(|line| line.trim().to_owned())
        .collect();
    if !said.is_empty() {
        return said;
    }
    loop_hooks::notify::run(NotifyInput {
        cwd: repo.place().worktree.clone(),
        git_dir: None,
        probe: None,
        router_file: world.router_file(),
        key_file: world.key_file(),
        name: None,
        kinds: world.settings.kinds.clone(),
    })
}

fn message(config: &Config, author: &Name, summary: &str) -> String {
    let subject = config.commit_subject.replace("{name}", author.as_str()).replace("{summary}", summary);
    format!("{}\n\nLoop-Agent: {author}\n", subject.trim())
}

/// What git said when it last refused a commit of this agent's turn.
pub(crate) fn refused(repo: &Repo, name: &Name) -> Option<String> {
    std::fs::read_to_string(refused_file(repo, name)).ok()
}

fn refused_file(repo: &Repo, name: &Name) -> PathBuf {
    repo.place().loop_dir().join(format!("refused-{}.txt", name.key()))
}
