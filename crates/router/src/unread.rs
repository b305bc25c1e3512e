//! Loops of which there is nothing to decide upon: no STATUS.md, one that cannot be read, no branch, no working tree.

use jiff::Timestamp;
use loop_core::Status;
use loop_core::decide::{Decided, Decision, Hold};
use loop_core::report::Report;
use loop_git::{CommitId, GitError};
use loop_store::{LoopPatch, LoopRow, StoreError};

use crate::desk::Desk;
use crate::reading::{Known, ReadError, Reader};
use crate::relay::{RelayError, headline};

impl Desk {
    /// There is no STATUS.md at the tip, or no branch. Returns why nothing happens.
    pub(crate) async fn without_status(
        &self,
        row: &LoopRow,
        known: &Known,
        tip: Option<&CommitId>,
    ) -> Result<String, RelayError> {
        let file = &row.status_file;
        let finished = row.state == "passed" || known.turns.is_empty() || !row.up;
        if finished || self.is_archived(row, tip).await {
            let why = format!("there is no {file} at the tip of {}", row.branch);
            self.idle(row, &why).await?;
            return Ok(why);
        }
        let (why, next) = match tip {
            None => (
                format!("the branch {} is gone", row.branch),
                "make it again where it was (`git reflog`), and the loop goes on by itself; or end it with `loop down`"
                    .to_owned(),
            ),
            Some(_) => {
                let newest = known.turns.iter().rev().find_map(|turn| turn.commit.as_deref());
                let from = newest.map_or("COMMIT", |commit| &commit[..7.min(commit.len())]);
                (
                    format!("{file} is gone from the branch {}", row.branch),
                    format!("`git checkout {from} -- {file}`, then commit, and the loop goes on by itself"),
                )
            }
        };
        self.hold_unread(row, known, &why, &next).await?;
        Ok(why)
    }

    /// Whether `loop archive` made the tip.
    async fn is_archived(&self, row: &LoopRow, tip: Option<&CommitId>) -> bool {
        let Some(tip) = tip.cloned() else { return false };
        let (worktree, git_env) = (row.worktree.clone(), self.options.git_env.clone());
        let by_loop = tokio::task::spawn_blocking(move || {
            Reader::open(&worktree, &git_env)
                .and_then(|reader| reader.repo().commit_info(&tip))
                .map(|tip| tip.by_loop)
        });
        matches!(by_loop.await, Ok(Ok(true)))
    }

    /// Nothing is to be done in this loop now.
    pub(crate) async fn idle(&self, row: &LoopRow, why: &str) -> Result<(), StoreError> {
        if row.state == "idle" {
            return Ok(());
        }
        self.store.supersede_untyped(&row.id, why, Timestamp::now()).await?;
        let patch = LoopPatch {
            state: Some("idle".to_owned()),
            decision_json: Some(None),
            decision_key: Some(Some("idle".to_owned())),
            ..LoopPatch::default()
        };
        self.store.update_loop(&row.id, patch).await?;
        self.say(Some(&row.id), "decision", why).await
    }

    /// Holds a loop of which there is nothing to decide upon.
    pub(crate) async fn hold_unread(
        &self,
        row: &LoopRow,
        known: &Known,
        why: &str,
        next: &str,
    ) -> Result<(), RelayError> {
        let decision = Decision::Held {
            why: Hold::Unreadable,
            turn: known.turns.len() + 1,
            reason: why.to_owned(),
            next: next.to_owned(),
        };
        if known.deliveries.iter().any(|delivery| delivery.state.is_untyped()) {
            self.store.supersede_untyped(&row.id, why, Timestamp::now()).await?;
        }
        if row.decision_key.as_deref() != Some(&decision.key()) {
            let patch = LoopPatch {
                state: Some(decision.state().to_owned()),
                decision_json: Some(Some(bare_json(&decision))),
                decision_key: Some(Some(decision.key())),
                ..LoopPatch::default()
            };
            self.store.update_loop(&row.id, patch).await?;
            self.say(Some(&row.id), "decision", &headline(&decision).0).await?;
        }
        self.tell_decision(row, &decision).await?;
        Ok(())
    }
}

/// The decision as `loop status --json` shows it, where there is no STATUS.md to show with it.
fn bare_json(decision: &Decision) -> String {
    let decided = Decided { decision: decision.clone(), due: None, diagnostics: Vec::new() };
    let report = Report::new(&Status::default(), &decided, |_| None);
    serde_json::to_string(&report.decision).unwrap_or_default()
}

/// Whether the loop's folder is gone: nothing can be done in it any more, and `loop down --all` forgets it.
pub fn folder_is_gone(row: &LoopRow) -> bool {
    !row.worktree.exists()
}

/// What it takes a person to mend, in words: the working tree or `loop.yaml` is not there any more. `None`: it may
/// pass by itself.
pub(crate) fn gone(row: &LoopRow, error: &ReadError) -> Option<(String, String)> {
    let worktree = row.worktree.display();
    match error {
        ReadError::Git(GitError::NotARepository { .. }) => {
            let what =
                if row.worktree.is_dir() { "is no git repository any more" } else { "is not there any more" };
            Some((
                format!("the working tree {worktree} {what}"),
                format!(
                    "put it back (`git worktree add {} {}`), and the loop goes on by itself; or \
                     `loop down --all` forgets it",
                    shell_words::quote(&worktree.to_string()),
                    shell_words::quote(&row.branch)
                ),
            ))
        }
        ReadError::Git(_) => None,
        ReadError::Config(_) | ReadError::NoConfig(_) => {
            Some((error.to_string(), "put it back and commit; the loop then goes on by itself".to_owned()))
        }
    }
}
