//! What the new commit did to the loop, read from git alone.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use loop_core::name::Name;
use loop_core::rendezvous::Ring;
use loop_core::status::{Status, Turn, parse};
use loop_core::{Cast, Config, Diagnostic, Profile};
use loop_git::{Blob, CommitId, CommitInfo, GitError, Head, Operation, Repo};

/// What was read.
pub(super) enum Reading {
    /// No loop is concerned, or git is in the middle of something: nothing to ring for, nothing to say.
    NotOurs,
    /// There is a loop, and it cannot be read.
    Failed(String),
    /// A commit to ring for.
    Commit(Seen),
}

/// A new commit, as far as the loop goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) worktree: PathBuf,
    pub(super) commit: String,
    pub(super) subject: String,
    /// Who acted, as far as one can tell.
    pub(super) author: String,
    /// Whether HEAD is on no branch.
    pub(super) detached: bool,
    /// The status file's name in the repository.
    pub(super) status_file: String,
    pub(super) what: What,
    /// What the commit brought that is worth pointing out.
    pub(super) diagnostics: Vec<Diagnostic>,
}

/// What the commit did to STATUS.md.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    /// It added a section; the newest one.
    Section { n: usize, author: Name },
    /// It left STATUS.md alone: work in progress.
    LeftAlone,
    /// It changed STATUS.md without adding a section.
    NoSection,
    /// It took STATUS.md away.
    Removed,
    /// There is no STATUS.md, before or after.
    Idle,
    /// STATUS.md or `loop.yaml` cannot be read; the words name file and line.
    Unreadable(String),
}

impl Seen {
    /// What is posted.
    pub(super) fn ring(&self) -> Ring {
        Ring {
            author: self.author.clone(),
            message: self.subject.clone(),
            repo: Some(self.worktree.to_string_lossy().into_owned()),
            commit: Some(self.commit.clone()),
        }
    }
}

/// Reads HEAD of the worktree around `cwd`.
pub(super) fn read(
    cwd: &Path,
    git_dir: Option<&Path>,
    name: Option<&str>,
    kinds: &BTreeMap<String, Profile>,
) -> Reading {
    let repo = match Repo::discover(cwd) {
        Ok(repo) => repo,
        // Called for every commit of a user with a global hook: only a loop is worth a word.
        Err(GitError::NotARepository { .. } | GitError::Bare { .. }) => return Reading::NotOurs,
        Err(error) if cwd.join(CONFIG).exists() => return Reading::Failed(error.to_string()),
        Err(_) => return Reading::NotOurs,
    };
    if git_dir
        .is_some_and(|given| cwd.join(given).canonicalize().ok().as_deref() != Some(&repo.place().git_dir))
    {
        return Reading::NotOurs;
    }
    // The commits of a rebase are no news, and a merge is one when it is committed. A bisect makes no commits.
    if repo.operation().is_some_and(|operation| operation != Operation::Bisect) {
        return Reading::NotOurs;
    }
    match commit(&repo, name, kinds) {
        Ok(Some(seen)) => Reading::Commit(seen),
        Ok(None) => Reading::NotOurs,
        Err(error) => Reading::Failed(error.to_string()),
    }
}

/// The configuration's name in the repository.
const CONFIG: &str = "loop.yaml";

fn commit(
    repo: &Repo,
    name: Option<&str>,
    kinds: &BTreeMap<String, Profile>,
) -> Result<Option<Seen>, GitError> {
    let head = repo.head()?;
    let Some(tip) = head.tip() else { return Ok(None) };
    let Some(config) = config_text(repo, tip)? else { return Ok(None) };
    let info = repo.commit_info(tip)?;
    if info.by_loop {
        return Ok(None);
    }
    let (status_file, what, diagnostics) = match Config::parse(&config, CONFIG, kinds) {
        Ok(config) => {
            let (what, diagnostics) = what(repo, &info, &config.status_file, &config.cast())?;
            (config.status_file, what, diagnostics)
        }
        Err(error) => {
            let words = format!("{CONFIG}:{}: {}", error.line, error.message);
            ("STATUS.md".to_owned(), What::Unreadable(words), Vec::new())
        }
    };
    let author = match &what {
        What::Section { author, .. } => author.to_string(),
        _ => name.map(str::to_owned).or_else(|| info.loop_agent.clone()).unwrap_or_default(),
    };
    Ok(Some(Seen {
        worktree: repo.place().worktree.clone(),
        commit: tip.to_string(),
        subject: info.subject,
        author,
        detached: matches!(head, Head::Detached(_)),
        status_file,
        what,
        diagnostics,
    }))
}

/// `loop.yaml` as committed, or, where a user keeps it untracked, as it lies there.
fn config_text(repo: &Repo, tip: &CommitId) -> Result<Option<String>, GitError> {
    let blob = match repo.blob(tip, CONFIG)? {
        Blob::Missing => repo.worktree_file(CONFIG)?,
        blob => blob,
    };
    Ok(blob.content().map(|bytes| String::from_utf8_lossy(bytes).into_owned()))
}

fn what(
    repo: &Repo,
    info: &CommitInfo,
    status_file: &str,
    cast: &Cast,
) -> Result<(What, Vec<Diagnostic>), GitError> {
    let parent = info.parents.first();
    let new_id = repo.blob_id(&info.id, status_file)?;
    let old_id = parent.map(|parent| repo.blob_id(parent, status_file)).transpose()?.flatten();
    match (&old_id, &new_id) {
        (None, None) => return Ok((What::Idle, Vec::new())),
        (Some(_), None) => {
            let what = match repo.blob(&info.id, status_file)? {
                Blob::Missing => What::Removed,
                Blob::Directory => What::Unreadable(format!(
                    "{status_file} is a directory now; put the file back and commit"
                )),
                _ => What::Unreadable(format!(
                    "{status_file} is no file of this repository now; put it back and commit"
                )),
            };
            return Ok((what, Vec::new()));
        }
        (old, new) if old == new => return Ok((What::LeftAlone, Vec::new())),
        _ => {}
    }
    let text = |commit: &CommitId| -> Result<Vec<u8>, GitError> {
        Ok(repo.blob(commit, status_file)?.content().map(<[u8]>::to_vec).unwrap_or_default())
    };
    let new_text = text(&info.id)?;
    let old_text = parent.map(text).transpose()?.unwrap_or_default();
    Ok(match parse(&new_text, cast) {
        Ok(status) => compare(&status, &old_text, cast),
        Err(error) => (What::Unreadable(format!("{status_file}: {error}")), Vec::new()),
    })
}

/// Finds the newest section that was not there before, and what is worth pointing out since then.
fn compare(status: &Status, old_text: &[u8], cast: &Cast) -> (What, Vec<Diagnostic>) {
    if status.text.as_bytes().starts_with(old_text) {
        // The usual case, and the only cheap one in a long file: text was appended.
        let new: Vec<&Turn> = status.turns.iter().filter(|turn| turn.span.start >= old_text.len()).collect();
        if let (Some(first), Some(last)) = (new.first(), new.last()) {
            let since = |diagnostic: &&Diagnostic| diagnostic.line >= first.line;
            let diagnostics = status.diagnostics.iter().filter(since).cloned().collect();
            return (What::Section { n: last.n, author: last.author.clone() }, diagnostics);
        }
    }
    let old = parse(old_text, cast).unwrap_or_default();
    let mut known: Vec<&str> = old.turns.iter().map(|turn| turn.fingerprint.as_str()).collect();
    let is_new = |turn: &&Turn| match known.iter().position(|known| *known == turn.fingerprint) {
        Some(place) => {
            known.swap_remove(place);
            false
        }
        None => true,
    };
    let changed: Vec<&Turn> = status.turns.iter().filter(is_new).collect();
    let mut told: Vec<(_, &str)> =
        old.diagnostics.iter().map(|diagnostic| (diagnostic.code, diagnostic.message.as_str())).collect();
    let news = |diagnostic: &&Diagnostic| {
        let place = told.iter().position(|told| *told == (diagnostic.code, diagnostic.message.as_str()));
        place.map(|place| told.swap_remove(place)).is_none()
    };
    let diagnostics = status.diagnostics.iter().filter(news).cloned().collect();
    // A changed section is no new one: only more sections than before are.
    let newest = changed.last().filter(|_| status.turns.len() > old.turns.len());
    let what =
        newest.map_or(What::NoSection, |turn| What::Section { n: turn.n, author: turn.author.clone() });
    (what, diagnostics)
}
