//! A section and its commit: what `loop commit` and `loop say` share.

use std::path::PathBuf;

use loop_core::append::NewSection;
use loop_core::{Config, Name};
use loop_git::{CommitId, CommitOpts, Repo, append_section, commit_paths};
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
    let appended = append_section(repo, &config.status_file, &config.cast(), section)?;
    let mut all = vec![appended.relative().to_owned()];
    all.extend(paths.into_iter().filter(|path| path != appended.relative()));
    let message = message(config, &section.author, &section.summary);
    let mut on_slow = || output::note("loop: git has not finished after 10 s (a hook? a signing prompt nobody sees?)");
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
            let _ = std::fs::create_dir_all(repo.place().loop_dir()).and_then(|()| std::fs::write(&file, error.to_string()));
            let refused = Failure::from(error);
            Err(match appended.undo() {
                Ok(()) => refused.next(format!("mend the cause and try again; the section was taken back from {}", config.status_file)),
                Err(undo) => refused.next(format!("the section could not be taken back: {undo}")),
            })
        }
    }
}

/// What the hook printed in git's output; where no hook ran, the router is rung from here.
fn lines(world: &World, repo: &Repo, words: &str) -> Vec<String> {
    let said: Vec<String> =
        words.lines().filter(|line| line.trim_start().starts_with("loop: ")).map(|line| line.trim().to_owned()).collect();
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
