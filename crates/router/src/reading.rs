//! Reading a loop: everything that git says, put beside what the store remembers, and decided.
//!
//! The router does this on every notice; `loop status`, `loop turn` and `loop archive` do it for themselves, from
//! git alone where there is no store.

use std::collections::BTreeMap;
use std::path::Path;

use loop_core::config::ConfigError;
use loop_core::decide::{Decided, Facts, Hold, Stopped, TurnFacts, Verify, decide};
use loop_core::history::{self, Damage, Recorded};
use loop_core::report::Report;
use loop_core::status::{self, StatusError};
use loop_core::{Cast, Config, DeliveryState, Profile, Status};
use loop_git::{Blob, CommitId, GitEnv, GitError, Head, Operation, Repo, Story, StoryCache};
use loop_store::{Delivery, LoopRow, TurnRecord};

/// The file that configures a loop, relative to the repository.
pub const CONFIG_FILE: &str = "loop.yaml";

/// An open repository with what was read of it before.
pub struct Reader {
    repo: Repo,
    cache: StoryCache,
    start: Option<(String, CommitId)>,
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
    #[error("there is no loop.yaml in {0}; `loop init` writes one")]
    NoConfig(String),
}

impl Reader {
    /// Opens the repository around `from`.
    ///
    /// # Errors
    /// Fails when there is no repository, or one that cannot be opened.
    pub fn open(from: &Path, _env: &GitEnv) -> Result<Self, GitError> {
        Ok(Self { repo: Repo::discover(from)?, cache: StoryCache::default(), start: None })
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
            (None, Err(_)) => match committed {
                Err(error) if self.repo.blob_id(&tip, "STATUS.md")?.is_some() => return Err(error),
                _ => return Ok(Reading::Idle { tip: Some(tip) }),
            },
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
        let changed_config = match (&approved, &committed) {
            (Some(approved), Ok(text)) if approved != text => Some(text.clone()),
            _ => None,
        };
        let mut facts = facts(&status, &story, known);
        facts.commits = self.commits(base.as_ref(), &tip)?;
        facts.damaged_at = Some(tip.to_string());
        if changed_config.is_some() {
            facts.stopped = Some(Stopped {
                why: Hold::Config,
                reason: "loop.yaml is not the one that was approved".to_owned(),
                next: "`loop trust` shows the difference and approves it; or put the old one back".to_owned(),
            });
        }
        let decided = decide(&status, &config, &facts);
        Ok(Reading::Loop(Box::new(Observed { tip, config, status, facts, story, decided, start: base, changed_config })))
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
    fn commits(&self, base: Option<&CommitId>, tip: &CommitId) -> Result<Vec<String>, GitError> {
        Ok(self.repo.log_between(base, tip)?.into_iter().map(|commit| commit.id.to_string()).collect())
    }

    /// The commit that opened the loop; it and what came before are no part of the loop.
    fn start(&mut self, tip: &CommitId, config: &Config, status: &Status) -> Result<Option<CommitId>, GitError> {
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
            format!("{file} is a symlink out of the repository ({target}); put a file in its place and commit")
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

/// Puts beside each other what git and the store know.
fn facts(status: &Status, story: &Story, known: &Known) -> Facts {
    let recorded: Vec<Recorded> = known
        .turns
        .iter()
        .map(|turn| Recorded {
            n: turn.n,
            author: turn.author.clone(),
            fingerprint: turn.fingerprint.clone(),
            summary: turn.summary.clone(),
            commit: turn.commit.clone(),
            answered: turn.answered,
        })
        .collect();
    let mut damage = history::compare(&recorded, status);
    damage.extend(two_names(status, story, known));
    let turns = status
        .turns
        .iter()
        .map(|turn| {
            let place = story.turns.iter().find(|place| place.n == turn.n);
            let commit = place.map(|place| place.commit.to_string());
            let verify = commit.as_ref().and_then(|commit| known.verified.get(commit)).cloned();
            let same = known.turns.iter().find(|record| record.n == turn.n && record.author == turn.author);
            let woken = match (&known.row, same) {
                (None, _) => None,
                (Some(_), Some(record)) => record.woken,
                (Some(row), None) => row.up.then(|| was_woken(known, status, turn.n)),
            };
            let tree = place.map(|place| place.tree.clone());
            let ended = known.row.as_ref().is_some_and(|row| row.state == "passed")
                && turn.n == known.turns.len()
                && same.is_some_and(|record| record.fingerprint == turn.fingerprint);
            (turn.n, TurnFacts { commit, woken, tree, verify, ended })
        })
        .collect();
    let row = known.row.as_ref();
    Facts {
        repository: true,
        turns,
        changes: story.changes.clone(),
        skipped: row.map(|row| row.skipped.iter().cloned().collect()).unwrap_or_default(),
        paused: row.and_then(|row| row.paused.clone()),
        minutes: row.map(|row| row.worked_ms as f64 / 60_000.0),
        turn_minutes: known.turn_minutes,
        tokens: None,
        resumed: row.and_then(|row| row.resumed.clone()),
        accepted: row.and_then(|row| row.accepted.clone()),
        damage,
        damaged_at: None,
        commits: Vec::new(),
        stopped: stopped(status, known),
    }
}

/// Whether the router had put its text before the author of turn `n` since that author's last section.
fn was_woken(known: &Known, status: &Status, n: usize) -> bool {
    let Some(turn) = status.turns.get(n.wrapping_sub(1)) else { return false };
    let before = status.turns[..n - 1].iter().rev().find(|other| other.author == turn.author).map_or(0, |t| t.n);
    known.deliveries.iter().any(|delivery| {
        delivery.agent == turn.author
            && delivery.turn >= before
            && delivery.turn < n
            && (delivery.typed_at.is_some()
                || delivery.submitted_at.is_some()
                || delivery.started_at.is_some()
                || delivery.state.is_out())
    })
}

/// One commit with new sections of two names, unless all of them were on record before (a squash).
fn two_names(status: &Status, story: &Story, known: &Known) -> Vec<Damage> {
    if known.row.is_none() {
        return Vec::new();
    }
    let is_new = |n: usize| {
        let turn = &status.turns[n - 1];
        !known
            .turns
            .iter()
            .any(|record| record.author == turn.author && record.fingerprint == turn.fingerprint)
    };
    let mut damage = Vec::new();
    for (commit, _) in &story.two_names {
        let fresh: Vec<usize> = story
            .turns
            .iter()
            .filter(|place| place.commit == *commit && place.n <= status.turns.len() && is_new(place.n))
            .map(|place| place.n)
            .collect();
        let mut authors = Vec::new();
        let mut second = 0;
        for n in fresh {
            let turn = &status.turns[n - 1];
            if !authors.contains(&turn.author) {
                authors.push(turn.author.clone());
                if authors.len() == 2 {
                    second = turn.line;
                }
            }
        }
        if authors.len() > 1 {
            damage.push(Damage::TwoNames { commit: Some(commit.to_string()), authors, line: second });
        }
    }
    damage
}

/// A hold that the ledger asks for: the newest wake for the present section came to nothing.
fn stopped(status: &Status, known: &Known) -> Option<Stopped> {
    let turn = status.turns.len();
    let newest = known.deliveries.iter().rfind(|delivery| {
        delivery.turn == turn && delivery.state != DeliveryState::Superseded
    })?;
    let reason = newest.reason.clone().unwrap_or_default();
    match newest.state {
        DeliveryState::Unanswered if newest.attempt > 1 => Some(Stopped {
            why: Hold::Unanswered,
            reason: format!("{} stopped without committing ({reason})", newest.agent),
            next: format!("look at its window (`loop attach {}`), then `loop resume`", newest.agent),
        }),
        DeliveryState::Dead => Some(Stopped {
            why: Hold::Dead,
            reason: format!("{} could not be woken: {reason}", newest.agent),
            next: "mend the cause, then `loop resume` tries again".to_owned(),
        }),
        _ => None,
    }
}
