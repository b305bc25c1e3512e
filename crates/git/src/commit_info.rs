//! Who made a commit, when and what for.

use git2::{Commit, Oid, Sort};
use jiff::Timestamp;
use serde::Serialize;

use crate::commit_id::CommitId;
use crate::error::GitError;
use crate::repo::Repo;

/// The trailer that names the agent whose turn a commit belongs to.
pub const AGENT_TRAILER: &str = "Loop-Agent";
/// The trailer that names the loop.
pub const ID_TRAILER: &str = "Loop-Id";
/// The trailer of the commit that `loop init` makes.
pub const INIT_TRAILER: &str = "Loop-Init";
/// The trailer of the commit that `loop archive` makes.
pub const ARCHIVE_TRAILER: &str = "Loop-Archive";

/// One commit, without its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CommitInfo {
    /// Its id.
    pub id: CommitId,
    /// Its parents.
    pub parents: Vec<CommitId>,
    /// The author's name.
    pub author_name: String,
    /// The author's e-mail address.
    pub author_email: String,
    /// When it was committed (the committer's time: that of a rebase, not of the first writing).
    pub time: Timestamp,
    /// The first paragraph of the message, as one line.
    pub subject: String,
    /// The whole message.
    pub message: String,
    /// The last `Loop-Agent` trailer.
    pub loop_agent: Option<String>,
    /// The last `Loop-Id` trailer.
    pub loop_id: Option<String>,
    /// Whether a trailer says that loop itself made it, to open or to close a loop.
    pub by_loop: bool,
}

impl Repo {
    /// Returns who made a commit, when and what for.
    ///
    /// # Errors
    /// Fails when there is no such commit.
    pub fn commit_info(&self, id: &CommitId) -> Result<CommitInfo, GitError> {
        Ok(describe(&self.commit(id)?))
    }

    /// Returns the commits from `from` (left out; `None`: from the first one) to `to`, oldest first, following
    /// first parents.
    ///
    /// # Errors
    /// Fails when a commit cannot be read.
    pub fn log_between(&self, from: Option<&CommitId>, to: &CommitId) -> Result<Vec<CommitInfo>, GitError> {
        let mut commits = Vec::new();
        for oid in self.first_parents(from, to)? {
            let commit = self.git2.find_commit(oid).map_err(GitError::git2("read a commit"))?;
            commits.push(describe(&commit));
        }
        commits.reverse();
        Ok(commits)
    }

    /// The first-parent chain from `to` down, newest first, without what `from` can reach.
    pub(crate) fn first_parents(&self, from: Option<&CommitId>, to: &CommitId) -> Result<Vec<Oid>, GitError> {
        let doing = "walk the commits";
        let mut walk = self.git2.revwalk().map_err(GitError::git2(doing))?;
        walk.set_sorting(Sort::TOPOLOGICAL).map_err(GitError::git2(doing))?;
        walk.simplify_first_parent().map_err(GitError::git2(doing))?;
        walk.push(self.commit(to)?.id()).map_err(GitError::git2(doing))?;
        if let Some(from) = from {
            walk.hide(self.commit(from)?.id()).map_err(GitError::git2(doing))?;
        }
        walk.collect::<Result<_, _>>().map_err(GitError::git2(doing))
    }
}

pub(crate) fn describe(commit: &Commit<'_>) -> CommitInfo {
    let message = String::from_utf8_lossy(commit.message_bytes()).into_owned();
    let trailers = trailers(&message);
    let last = |key: &str| {
        let of_key = |(name, _): &&(String, String)| name.eq_ignore_ascii_case(key);
        trailers.iter().rev().find(of_key).map(|(_, value)| value.clone())
    };
    let author = commit.author();
    CommitInfo {
        id: commit.id().into(),
        parents: commit.parent_ids().map(CommitId::from).collect(),
        author_name: String::from_utf8_lossy(author.name_bytes()).into_owned(),
        author_email: String::from_utf8_lossy(author.email_bytes()).into_owned(),
        time: Timestamp::from_second(commit.time().seconds()).unwrap_or(Timestamp::UNIX_EPOCH),
        subject: commit
            .summary_bytes()
            .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
            .unwrap_or_default(),
        loop_agent: last(AGENT_TRAILER),
        loop_id: last(ID_TRAILER),
        by_loop: last(INIT_TRAILER).is_some() || last(ARCHIVE_TRAILER).is_some(),
        message,
    }
}

fn trailers(message: &str) -> Vec<(String, String)> {
    // A NUL byte ends the message for libgit2; there are no trailers to be read then.
    let Ok(trailers) = git2::message_trailers_strs(message) else { return Vec::new() };
    trailers.iter().map(|(key, value)| (key.to_owned(), value.trim().to_owned())).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::testing::Sandbox;

    #[test]
    fn trailers_are_read_where_git_reads_them() {
        let check = |message: &str, agent: Option<&str>| {
            let sandbox = Sandbox::new();
            sandbox.write("a", message);
            let id = sandbox.commit_all(message);
            let info = sandbox.repo().commit_info(&id).unwrap();
            assert_eq!(info.loop_agent.as_deref(), agent, "{message:?}");
        };
        check("CC: did it\n\nLoop-Agent: CC\n", Some("CC"));
        check("CC: did it\n\nbody\n\nloop-agent:  Zoé \nSigned-off-by: A <a@b>\n", Some("Zoé"));
        check("CC: did it\n\nLoop-Agent: A\nLoop-Agent: B\n", Some("B"));
        check("Loop-Agent: CC\n", None);
        check("x\n\nLoop-Agent: CC\n\nmore text\n", None);
        check("plain\n", None);
    }

    #[test]
    fn the_log_follows_first_parents_and_leaves_out_the_start() {
        let sandbox = Sandbox::new();
        sandbox.write("a", "1");
        let first = sandbox.commit_all("first");
        sandbox.run(&["checkout", "-q", "-b", "side"]);
        sandbox.write("b", "1");
        sandbox.commit_all("side");
        sandbox.run(&["checkout", "-q", "main"]);
        sandbox.write("a", "2");
        sandbox.commit_all("second");
        sandbox.run(&["merge", "-q", "--no-ff", "-m", "merge", "side"]);
        let repo = sandbox.repo();
        let tip = repo.head().unwrap().tip().unwrap().clone();
        let subjects = |from: Option<&CommitId>, to: &CommitId| {
            let log = repo.log_between(from, to).unwrap();
            log.into_iter().map(|commit| commit.subject).collect::<Vec<_>>()
        };
        assert_eq!(subjects(Some(&first), &tip), ["second", "merge"]);
        assert_eq!(subjects(None, &tip), ["first", "second", "merge"]);
        assert_eq!(repo.ahead(&first, &tip).unwrap(), 3);
        assert!(repo.is_ancestor(&first, &tip).unwrap() && repo.is_ancestor(&tip, &tip).unwrap());
        assert!(!repo.is_ancestor(&tip, &first).unwrap());
    }
}
