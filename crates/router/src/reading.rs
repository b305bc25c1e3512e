//! Reading a loop: everything that git says, put beside what the store remembers, and decided.
//!
//! The router does this on every notice; `loop status`, `loop turn` and `loop archive` do it for themselves, from
//! git alone where there is no store.

use std::collections::BTreeMap;
use std::path::Path;

use loop_core::config::ConfigError;
use loop_core::decide::{Decided, Facts, Hold, Stopped, Verify, decide};
use loop_core::history::{self, Damage, Recorded};
use loop_core::report::Report;
use loop_core::status::{self, StatusError};
use loop_core::{Cast, Config, Profile, Status};
use loop_git::{Blob, CommitId, GitEnv, GitError, Head, Operation, Repo, Story, StoryCache};
use loop_store::{Delivery, LoopRow, TurnRecord};

use crate::facts;

/// The file that configures a loop, relative to the repository.
pub const CONFIG_FILE: &str = "loop.yaml";

/// The status file where neither a configuration nor the store names one.
const STATUS_FILE: &str = "STATUS.md";

/// An open repository with what was read of it before.
pub struct Reader {
    repo: Repo,
    cache: StoryCache,
    start: Option<(String, CommitId)>,
    commits: Option<Commits>,
}

/// The loop's commits as they were listed last.
struct Commits {
    base: Option<CommitId>,
    tip: CommitId,
    ids: Vec<String>,
}

/// What the store remembers of a loop. [`Known::default`] for those who have no store.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// The loop's row.
    pub row: Option<LoopRow>,
    /// Its sections as they were last recorded.
    pub turns: Vec<TurnRecord>,
    /// Its deliveries, newest last.
    pub deliveries: Vec<Delivery>,
    /// Results of `verify` by commit.
    pub verified: BTreeMap<String, Verify>,
    /// Working minutes of the delivery that is out now.
    pub turn_minutes: Option<f64>,
    /// The branch to read; `None`: what the working tree is on.
    pub branch: Option<String>,
    /// The commit in which the damage that holds the loop now was first seen.
    pub damaged_at: Option<String>,
}

impl Known {
    /// Whether a person has resumed since the loop was last decided: what stands there now is what they saw.
    pub(crate) fn is_resumed_anew(&self) -> bool {
        self.row.as_ref().is_some_and(|row| row.resumed.is_some() && row.decision_key.is_none())
    }
}

/// What a look at the branch gives.
#[derive(Debug)]
pub enum Reading {
    /// A rebase, merge or the like is under way: wait.
    Underway(Operation),
    /// There is no STATUS.md at the tip, or the branch has no commit.
    Idle {
        /// The tip, if there is one.
        tip: Option<CommitId>,
    },
    /// STATUS.md or `loop.yaml` cannot be read.
    Unreadable {
        /// The tip.
        tip: CommitId,
        /// What is wrong and how to mend it, in lines.
        why: String,
    },
    /// The loop, read and decided.
    Loop(Box<Observed>),
}

/// A loop, read and decided.
#[derive(Debug)]
pub struct Observed {
    /// The tip of the branch.
    pub tip: CommitId,
    /// The configuration that holds: the approved one where there is one.
    pub config: Config,
    /// The sections.
    pub status: Status,
    /// What git, the ledger and the clock added.
    pub facts: Facts,
    /// Which commit brought which section, and what changed in between.
    pub story: Story,
    /// What must happen now.
    pub decided: Decided,
    /// The commit that opened the loop.
    pub start: Option<CommitId>,
    /// The text of `loop.yaml` at the tip, when it is not the approved one.
    pub changed_config: Option<String>,
    /// Whether sections that a person has resumed with count as they now are, whatever was on record.
    pub(crate) forgiven: bool,
}

impl Observed {
    /// The commit of turn `n`, where known.
    pub fn commit_of(&self, n: usize) -> Option<String> {
        self.story.turns.iter().find(|turn| turn.n == n).map(|turn| turn.commit.to_string())
    }

    /// The object that `loop status --json` prints.
    pub fn report(&self) -> Report {
        Report::new(&self.status, &self.decided, |n| self.commit_of(n))
    }
}

/// Why a loop cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Git.
    #[error(transparent)]
    Git(#[from] GitError),
    /// `loop.yaml`.
    #[error("{0}")]
    Config(ConfigError),
    /// There is no `loop.yaml`.
    #[error("there is no loop.yaml in {0}")]
    NoConfig(String),
}

impl Reader {
    /// Opens the repository around `from`.
    ///
    /// # Errors
    /// Fails when there is no repository, or one that cannot be opened.
    pub fn open(from: &Path, _env: &GitEnv) -> Result<Self, GitError> {
        Ok(Self { repo: Repo::discover(from)?, cache: StoryCache::default(), start: None, commits: None })
    }

    /// The repository.
    pub fn repo(&self) -> &Repo {
        &self.repo
    }

    /// The text of `loop.yaml` at the tip, else in the working tree.
    ///
    /// # Errors
    /// Fails when it cannot be read or there is none.
    pub fn config_text(&self, tip: Option<&CommitId>) -> Result<String, ReadError> {
        let committed = match tip {
            Some(tip) => self.repo.blob(tip, CONFIG_FILE)?,
            None => Blob::Missing,
        };
        let blob = match committed {
            Blob::Missing => self.repo.worktree_file(CONFIG_FILE)?,
            committed => committed,
        };
        match blob {
            Blob::File(bytes) | Blob::Symlink { content: Some(bytes), outside: false, .. } => {
                String::from_utf8(bytes).map_err(|error| {
                    ReadError::Config(ConfigError {
                        file: CONFIG_FILE.to_owned(),
                        line: 0,
                        column: 0,
                        width: 0,
                        text: String::new(),
                        message: format!("not UTF-8 at byte {}", error.utf8_error().valid_up_to()),
                        hint: Some("save it as UTF-8".to_owned()),
                    })
                })
            }
            _ => Err(ReadError::NoConfig(self.repo.place().worktree.display().to_string())),
        }
    }

    /// Reads the loop on its branch and decides.
    ///
    /// # Errors
    /// Fails when git cannot answer, or when there is a STATUS.md but no `loop.yaml` that holds.
    pub fn read(&mut self, known: &Known, kinds: &BTreeMap<String, Profile>) -> Result<Reading, ReadError> {
        if let Some(operation) = self.repo.operation() {
            return Ok(Reading::Underway(operation));
        }
        let branch = known.branch.as_deref().or(known.row.as_ref().map(|row| row.branch.as_str()));
        let tip = match branch {
            Some(branch) => self.repo.branch_tip(branch)?,
            None => match self.repo.head()? {
                Head::Branch { tip, .. } => tip,
                Head::Detached(tip) => Some(tip),
            },
        };
        let Some(tip) = tip else { return Ok(Reading::Idle { tip: None }) };
        let row = known.row.as_ref();
        let committed = self.config_text(Some(&tip));
        let approved = row.and_then(|row| row.approved_text.clone());
        let text = match (approved.clone(), &committed) {
            (Some(approved), _) => approved,
            (None, Ok(text)) => text.clone(),
            (None, Err(_)) => {
                let file = row.map_or(STATUS_FILE, |row| row.status_file.as_str());
                return match committed {
                    Err(error) if self.repo.blob_id(&tip, file)?.is_some() => Err(error),
                    _ => Ok(Reading::Idle { tip: Some(tip) }),
                };
            }
        };
        let config = match Config::parse(&text, CONFIG_FILE, kinds) {
            Ok(config) => config,
            Err(error) => return Ok(Reading::Unreadable { tip, why: error.to_string() }),
        };
        let cast = config.cast();
        let status = match self.status_at(&tip, &config, &cast)? {
            Ok(Some(status)) => status,
            Ok(None) => return Ok(Reading::Idle { tip: Some(tip) }),
            Err(why) => return Ok(Reading::Unreadable { tip, why }),
        };
        let base = self.start(&tip, &config, &status)?;
        let set_up = |path: &str| is_set_up(path, &config);
        let story = self.repo.story_cached(
            &mut self.cache,
            &tip,
            base.as_ref(),
            &config.status_file,
            &cast,
            &set_up,
        )?;
        let (mut facts, forgiven) = facts::facts(&status, &config, &story, known);
        facts.commits = self.commits(base.as_ref(), &tip)?;
        if !facts.damage.is_empty() {
            let first = match &known.damaged_at {
                Some(commit) => commit.clone(),
                None => self.first_damaged(known, &tip, &config, &cast)?.to_string(),
            };
            facts.damaged_at = Some(first);
        }
        let changed_config = match (&approved, &committed) {
            (Some(approved), Ok(text)) if approved != text => Some(text.clone()),
            _ => None,
        };
        if let Some(held) = approved.and_then(|approved| unapproved(&approved, &committed, kinds)) {
            facts.stopped = Some(held);
        }
        let decided = decide(&status, &config, &facts);
        Ok(Reading::Loop(Box::new(Observed {
            tip,
            config,
            status,
            facts,
            story,
            decided,
            start: base,
            changed_config,
            forgiven,
        })))
    }

    /// `Ok(Ok(None))`: no STATUS.md. `Ok(Err(why))`: one that cannot be read.
    #[allow(clippy::type_complexity)]
    fn status_at(
        &self,
        tip: &CommitId,
        config: &Config,
        cast: &Cast,
    ) -> Result<Result<Option<Status>, String>, GitError> {
        let file = &config.status_file;
        let bytes = match self.repo.blob(tip, file)? {
            Blob::Missing => return Ok(Ok(None)),
            Blob::File(bytes) | Blob::Symlink { content: Some(bytes), outside: false, .. } => bytes,
            blob => return Ok(Err(unreadable(file, &blob))),
        };
        Ok(status::parse(&bytes, cast).map(Some).map_err(|error| mend(file, &error)))
    }

    /// The loop's commits, oldest first.
    fn commits(&mut self, base: Option<&CommitId>, tip: &CommitId) -> Result<Vec<String>, GitError> {
        if let Some(listed) = &self.commits
            && listed.tip == *tip
            && listed.base.as_ref() == base
        {
            return Ok(listed.ids.clone());
        }
        let ids: Vec<String> =
            self.repo.log_between(base, tip)?.into_iter().map(|commit| commit.id.to_string()).collect();
        self.commits = Some(Commits { base: base.cloned(), tip: tip.clone(), ids: ids.clone() });
        Ok(ids)
    }

    /// The first commit since the last look whose STATUS.md does not hold what is on record; the tip where
    /// history was rewritten.
    fn first_damaged(
        &self,
        known: &Known,
        tip: &CommitId,
        config: &Config,
        cast: &Cast,
    ) -> Result<CommitId, GitError> {
        let last = known.row.as_ref().and_then(|row| row.tip.as_deref()).and_then(|tip| tip.parse().ok());
        let Some(last) = last.filter(|last| self.repo.is_ancestor(last, tip).unwrap_or(false)) else {
            return Ok(tip.clone());
        };
        let recorded: Vec<Recorded> = known.turns.iter().map(facts::as_recorded).collect();
        let holds = |damage: &Damage| !matches!(damage, Damage::Edited { .. });
        for commit in self.repo.log_between(Some(&last), tip)?.into_iter().take(SEARCHED) {
            if let Ok(Some(status)) = self.status_at(&commit.id, config, cast)?
                && history::compare(&recorded, &status).iter().any(holds)
            {
                return Ok(commit.id);
            }
        }
        Ok(tip.clone())
    }

    /// The tip of a branch, without reading anything else.
    pub(crate) fn tip(&self, branch: &str) -> Result<Option<CommitId>, GitError> {
        self.repo.branch_tip(branch)
    }

    /// The commit that opened the loop; it and what came before are no part of the loop.
    fn start(
        &mut self,
        tip: &CommitId,
        config: &Config,
        status: &Status,
    ) -> Result<Option<CommitId>, GitError> {
        let id = status.loop_id.clone().unwrap_or_default();
        if let Some((known, commit)) = &self.start
            && *known == id
            && self.repo.is_ancestor(commit, tip)?
        {
            return Ok(Some(commit.clone()));
        }
        let start = self.repo.loop_start(tip, &config.status_file, &id)?;
        self.start = start.clone().map(|commit| (id, commit));
        Ok(start)
    }
}

/// As many commits are searched for the one that did damage.
const SEARCHED: usize = 200;

/// Holds the loop while `loop.yaml` is not the text that a person approved.
fn unapproved(
    approved: &str,
    committed: &Result<String, ReadError>,
    kinds: &BTreeMap<String, Profile>,
) -> Option<Stopped> {
    let wrong = |text: &String| Config::parse(text, CONFIG_FILE, kinds).err();
    let (reason, next) = match committed {
        Ok(text) if text == approved => return None,
        Ok(text) if let Some(error) = wrong(text) => (
            format!("loop.yaml cannot be read: {}", one_line(&error)),
            "mend that line and commit, then `loop trust`; or put the approved one back and commit",
        ),
        Ok(_) => (
            "loop.yaml is not the one that was approved".to_owned(),
            "`loop trust` shows the difference and approves it; or put the old one back and commit",
        ),
        Err(ReadError::NoConfig(_)) => {
            ("loop.yaml is gone".to_owned(), "put it back and commit; the loop then goes on by itself")
        }
        Err(error) => (
            format!("loop.yaml cannot be read: {error}"),
            "put the approved one back and commit; the loop then goes on by itself",
        ),
    };
    Some(Stopped { why: Hold::Config, reason, next: next.to_owned() })
}

/// Where and what is wrong, without the drawing of it.
fn one_line(error: &ConfigError) -> String {
    let text = error.to_string();
    let hint = error.hint.as_deref().map(|hint| format!(" ({hint})")).unwrap_or_default();
    format!("{}{hint}", text.lines().next().unwrap_or_default())
}

/// Whether `path` is one of the files that loop itself writes for the start of a loop.
fn is_set_up(path: &str, config: &Config) -> bool {
    path == CONFIG_FILE
        || path == config.status_file
        || config.agents.iter().flat_map(|agent| &agent.profile.skills).any(|folder| {
            path.strip_prefix(folder.as_str()).is_some_and(|rest| rest.starts_with("/agent-loop/"))
        })
}

/// Says why a blob is no STATUS.md.
pub fn unreadable(file: &str, blob: &Blob) -> String {
    match blob {
        Blob::Directory => format!("{file} is a directory; move it away and commit"),
        Blob::Symlink { target, outside: true, .. } => {
            format!(
                "{file} is a symlink out of the repository ({target}); put a file in its place and commit"
            )
        }
        Blob::Symlink { target, .. } => {
            format!("{file} is a symlink to {target}, which is not there; put a file in its place and commit")
        }
        Blob::TooBig(bytes) => format!(
            "{file} has {} MB, too much for a status file; archive the loop or move old sections elsewhere",
            bytes / 1_000_000
        ),
        Blob::Missing | Blob::File(_) => format!("{file} cannot be read"),
    }
}

/// Says why bytes are no STATUS.md and how to mend it.
pub fn mend(file: &str, error: &StatusError) -> String {
    let how = match error {
        StatusError::NotUtf8 { .. } => "save it as UTF-8 and commit",
        StatusError::Nul { .. } => "remove the NUL bytes and commit",
        StatusError::Conflict { .. } => "keep both sides' sections, remove the markers and commit",
    };
    format!("{file}: {error}; {how}")
}
