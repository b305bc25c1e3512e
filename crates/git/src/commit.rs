//! A commit of some files, made by the `git` program so that hooks, signing and configuration apply.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::NamedTempFile;

use crate::commit_id::CommitId;
use crate::dirty::{Change, changes};
use crate::error::GitError;
use crate::head::Head;
use crate::program::{Git, Output, Watch};
use crate::repo::Repo;

/// How long another git process may hold the index before that is an error.
const INDEX_WAIT: Duration = Duration::from_secs(2);
const LOOK_AGAIN: Duration = Duration::from_millis(25);
/// For everything but the commit itself, which runs hooks.
const DEADLINE: Duration = Duration::from_secs(60);

/// How a commit is made.
pub struct CommitOpts<'a> {
    /// Whether the repository's hooks run. Off for commits of loop's own.
    pub hooks: bool,
    /// After how long `on_slow` is called.
    pub slow_after: Duration,
    /// After how long git and its hooks are ended.
    pub deadline: Duration,
    /// Tells the user that it takes long (a hook, a signing prompt nobody sees). Called once at most.
    pub on_slow: &'a mut dyn FnMut(),
}

impl CommitOpts<'_> {
    /// A commit with hooks, told slow after 10 s and given up after 5 min.
    pub fn usual(on_slow: &mut dyn FnMut()) -> CommitOpts<'_> {
        CommitOpts {
            hooks: true,
            slow_after: Duration::from_secs(10),
            deadline: Duration::from_secs(300),
            on_slow,
        }
    }

    /// A commit of loop's own (a start, an archive): without the repository's hooks, given up after 2 min.
    pub fn of_loop(on_slow: &mut dyn FnMut()) -> CommitOpts<'_> {
        let usual = CommitOpts::usual(on_slow);
        CommitOpts { hooks: false, deadline: Duration::from_secs(120), ..usual }
    }
}

/// A commit that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Committed {
    /// Its id.
    pub id: CommitId,
    /// What git and its hooks said while making it.
    pub words: String,
}

/// Commits the named files as they are in the working tree, and nothing else: `git commit --only`.
///
/// `git` must be at the worktree's root ([`Repo::git`]) and the paths relative to it; a folder stands for the
/// changed files in it. New and deleted files are taken too. Whatever else the user has staged stays staged and
/// out of the commit. Trailers belong into the message.
///
/// # Errors
/// Nothing is committed, and the index is as it was, when git or a hook refuses ([`GitError::Refused`]), takes too
/// long ([`GitError::TimedOut`]), does not know in whose name to commit ([`GitError::NoIdentity`]), another git
/// holds the index ([`GitError::Locked`]), or a named file is ignored.
pub fn commit_paths(
    git: &Git,
    paths: &[PathBuf],
    message: &str,
    mut opts: CommitOpts<'_>,
) -> Result<Committed, GitError> {
    let repo = Repo::discover(git.dir())?;
    let lock = repo.place().git_dir.join("index.lock");
    wait_for_index(&lock)?;
    git.identity()?;
    let new = untracked(git, paths)?;
    let scratch = Scratch::new(&repo, paths, &new, message)?;
    let before = repo.head()?;
    scratch.announce(git)?;
    let outcome = commit(git, &scratch, &lock, &mut opts);
    // A post-commit hook that hangs or a broken clean-up makes git fail when the commit is there already.
    if let Some(id) = made(&repo, &before, outcome.as_ref().is_ok_and(Output::ok))? {
        let words = match &outcome {
            Ok(output) => output.words(),
            Err(error) => error.to_string(),
        };
        return Ok(Committed { id, words });
    }
    let taken_back = scratch.take_back(git);
    let output = outcome?;
    let mut words = output.words();
    if lock.exists() && words.contains("index.lock") {
        return Err(GitError::Locked { path: lock });
    }
    if let Err(error) = taken_back {
        words.push_str(&format!("\n({error})"));
    }
    Err(GitError::Refused { what: "commit".to_owned(), words })
}

fn commit(git: &Git, scratch: &Scratch, lock: &Path, opts: &mut CommitOpts<'_>) -> Result<Output, GitError> {
    let mut args: Vec<OsString> = Vec::new();
    if !opts.hooks {
        args.extend(["-c", "core.hooksPath=/dev/null"].map(OsString::from));
    }
    args.push("commit".into());
    if !opts.hooks {
        args.push("--no-verify".into());
    }
    // Lines that start with `#` are part of the message.
    args.extend(["--only", "--cleanup=whitespace", "--pathspec-file-nul"].map(OsString::from));
    args.push(option("--pathspec-from-file=", scratch.paths.path()));
    args.push(option("--file=", scratch.message.path()));
    let started = Instant::now();
    loop {
        let left = opts.deadline.saturating_sub(started.elapsed());
        let watch = Watch { deadline: left, slow_after: opts.slow_after, on_slow: &mut *opts.on_slow };
        let output = git.run_watched(&args, &[], watch)?;
        // Somebody was faster: git gives up at once, before it runs a hook.
        let lost_race = !output.ok() && output.words().contains("index.lock") && lock.exists();
        if !lost_race || started.elapsed() > INDEX_WAIT {
            return Ok(output);
        }
        thread::sleep(LOOK_AGAIN);
    }
}

fn wait_for_index(lock: &Path) -> Result<(), GitError> {
    let until = Instant::now() + INDEX_WAIT;
    while lock.exists() {
        if Instant::now() >= until {
            return Err(GitError::Locked { path: lock.to_owned() });
        }
        thread::sleep(LOOK_AGAIN);
    }
    Ok(())
}

/// Returns the commit that was made on top of `before`, if one was.
fn made(repo: &Repo, before: &Head, said_so: bool) -> Result<Option<CommitId>, GitError> {
    let now = repo.head()?;
    let (Some(tip), true) = (now.tip(), now.tip() != before.tip()) else { return Ok(None) };
    let parents = repo.commit_info(tip)?.parents;
    let ours = said_so || parents.first() == before.tip();
    Ok(ours.then(|| tip.clone()))
}

/// Returns the files among `paths` that git does not track yet.
fn untracked(git: &Git, paths: &[PathBuf]) -> Result<Vec<PathBuf>, GitError> {
    let mut new = Vec::new();
    for change in changes(git, paths, true)? {
        match change {
            Change::Untracked(path) => new.push(path),
            Change::Ignored(pattern) => {
                let Some(path) = paths.iter().find(|path| path.starts_with(&pattern)) else { continue };
                let words = format!(
                    "{} is ignored by git (if it belongs into the commit: git add -f -- '{}')",
                    path.display(),
                    path.display()
                );
                return Err(GitError::Refused { what: "commit".to_owned(), words });
            }
            Change::Tracked(_) => {}
        }
    }
    Ok(new)
}

/// The files that git reads our arguments from: there may be more than fit on a command line.
struct Scratch {
    message: NamedTempFile,
    paths: NamedTempFile,
    new: NamedTempFile,
    any_new: bool,
}

impl Scratch {
    fn new(repo: &Repo, paths: &[PathBuf], new: &[PathBuf], message: &str) -> Result<Self, GitError> {
        let folder = repo.place().loop_dir();
        std::fs::create_dir_all(&folder).map_err(GitError::io("make", &folder))?;
        let file = |content: &[u8]| -> Result<NamedTempFile, GitError> {
            let write = || {
                let mut file = tempfile::Builder::new().prefix("commit-").tempfile_in(&folder)?;
                file.write_all(content)?;
                file.flush()?;
                Ok(file)
            };
            write().map_err(GitError::io("write to", &folder))
        };
        Ok(Self {
            message: file(message.as_bytes())?,
            paths: file(&pathspecs(paths))?,
            new: file(&pathspecs(new))?,
            any_new: !new.is_empty(),
        })
    }

    /// `git commit --only` knows tracked files alone, so the new ones are announced to the index first.
    fn announce(&self, git: &Git) -> Result<(), GitError> {
        if !self.any_new {
            return Ok(());
        }
        let list = option("--pathspec-from-file=", self.new.path());
        let args = ["add".into(), "--intent-to-add".into(), "--pathspec-file-nul".into(), list];
        let announced = git.succeed("take new files into the index", &args, DEADLINE);
        if announced.is_err() {
            self.take_back(git)?;
        }
        announced.map(drop)
    }

    fn take_back(&self, git: &Git) -> Result<(), GitError> {
        if !self.any_new {
            return Ok(());
        }
        let list = option("--pathspec-from-file=", self.new.path());
        let args = ["reset".into(), "--quiet".into(), "--pathspec-file-nul".into(), list];
        git.succeed("take new files out of the index again", &args, DEADLINE).map(drop)
    }
}

fn option(name: &str, path: &Path) -> OsString {
    let mut option = OsString::from(name);
    option.push(path);
    option
}

/// Every path as a pattern that means exactly it. The prefix does it, not `GIT_LITERAL_PATHSPECS`: hooks would
/// inherit that, and their own patterns would match nothing.
pub(crate) fn pathspec(path: &Path) -> OsString {
    let mut spec = b":(top,literal)".to_vec();
    spec.extend_from_slice(path.as_os_str().as_bytes());
    OsString::from_vec(spec)
}

fn pathspecs(paths: &[PathBuf]) -> Vec<u8> {
    let specs = paths.iter().map(|path| pathspec(path));
    let ended = specs.flat_map(|spec| [spec, OsStr::new("\0").to_owned()]);
    ended.flat_map(OsString::into_vec).collect()
}

#[cfg(test)]
mod tests;
