//! The story of a loop: which commit brought which section, and who changed the code in between.

mod attribution;
mod cache;
mod sections;
mod walk;

use git2::Oid;
use loop_core::decide::Change;
use loop_core::{Cast, Name};

use crate::blob::check_path;
use crate::commit_id::CommitId;
use crate::error::GitError;
use crate::repo::Repo;
use crate::tree::hash_without;
pub use cache::StoryCache;
use sections::{Sections, first_seen};
use walk::Link;

/// What happened in a loop, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Story {
    /// The sections that STATUS.md has now, each with its commit. A section that no commit of the story has in its
    /// present form is missing.
    pub turns: Vec<TurnCommit>,
    /// The commits that changed other files than STATUS.md.
    pub changes: Vec<Change>,
    /// Commits that brought new sections of two names or more, with the names in document order. Sections that were
    /// known before (a squash) are not told apart from new ones.
    pub two_names: Vec<(CommitId, Vec<Name>)>,
    /// Commits whose STATUS.md cannot be read. They count as if they had left it alone.
    pub unreadable: Vec<CommitId>,
    /// The commit that brought this loop's STATUS.md, if it is part of the story.
    pub start: Option<CommitId>,
}

/// The commit of one section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnCommit {
    /// The section's number, from 1.
    pub n: usize,
    /// The first commit in which it stood in its present form.
    pub commit: CommitId,
    /// A hash over that commit's files without STATUS.md: equal hashes, equal code.
    pub tree: String,
}

impl Repo {
    /// Returns the story of the loop from `base` (left out) to `tip`, following first parents; without a base, or
    /// with one that `tip` does not descend from (a rebase), from the commit that brought this loop's STATUS.md.
    ///
    /// `set_up` says which paths loop itself writes for the start of a loop.
    ///
    /// # Errors
    /// Fails when a commit or its content cannot be read. A STATUS.md that cannot be parsed is no error.
    pub fn story(
        &self,
        tip: &CommitId,
        base: Option<&CommitId>,
        status_file: &str,
        cast: &Cast,
        set_up: &dyn Fn(&str) -> bool,
    ) -> Result<Story, GitError> {
        self.story_cached(&mut StoryCache::default(), tip, base, status_file, cast, set_up)
    }

    /// The same, with what earlier calls found out: only commits that are new are read.
    ///
    /// # Errors
    /// Fails as [`Repo::story`] does.
    pub fn story_cached(
        &self,
        cache: &mut StoryCache,
        tip: &CommitId,
        base: Option<&CommitId>,
        status_file: &str,
        cast: &Cast,
        set_up: &dyn Fn(&str) -> bool,
    ) -> Result<Story, GitError> {
        check_path(status_file)?;
        cache.fit(status_file, cast);
        let story = self.tell(cache, tip, base, set_up)?;
        cache.forget_unused();
        Ok(story)
    }

    /// Returns the commit that first brought the loop with this id, going back from `tip` along first parents.
    ///
    /// # Errors
    /// Fails when a commit or its content cannot be read.
    pub fn loop_start(
        &self,
        tip: &CommitId,
        status_file: &str,
        loop_id: &str,
    ) -> Result<Option<CommitId>, GitError> {
        check_path(status_file)?;
        let mut cache = StoryCache::default();
        cache.fit(status_file, &Cast::default());
        let tip = self.commit(tip)?.id();
        let ids = walk::back_to_start(self, &mut cache, tip, Some(Some(loop_id.to_owned())))?;
        Ok(ids.first().map(|id| CommitId::from(*id)))
    }

    fn tell(
        &self,
        cache: &mut StoryCache,
        tip: &CommitId,
        base: Option<&CommitId>,
        set_up: &dyn Fn(&str) -> bool,
    ) -> Result<Story, GitError> {
        let tip = self.commit(tip)?.id();
        let base = match base {
            Some(base) if self.is_ancestor(base, &tip.into()).unwrap_or(false) => Some(base.oid()?),
            _ => None,
        };
        let links = match base {
            Some(base) => walk::from_base(self, cache, base, tip)?,
            None => walk::from_start(self, cache, tip)?,
        };
        let before = match base {
            Some(base) => walk::sections_at(self, cache, base)?,
            None => None,
        };
        let present = match links.last() {
            Some(last) if last.step.spot.status.is_none() => None,
            Some(_) => links.iter().rev().find_map(|link| link.sections.clone()).or_else(|| before.clone()),
            None => before.clone(),
        };
        let seen =
            present.as_ref().map_or_else(Vec::new, |present| first_seen(present, before.as_deref(), &links));
        let turns = seen.iter().enumerate().filter_map(|(at, seen)| seen.map(|seen| (at + 1, seen)));
        let turns =
            turns.map(|(n, seen)| self.turn(cache, n, seen, base, &links)).collect::<Result<_, _>>()?;
        let brought = attribution::brought(before.as_deref(), &links);
        Ok(Story {
            turns,
            changes: attribution::changes(&links, &brought, &seen, cache.cast(), set_up),
            two_names: attribution::two_names(&links, &brought),
            unreadable: links.iter().filter(|link| link.unreadable).map(|link| link.id.into()).collect(),
            start: start(before.as_deref(), &links),
        })
    }

    fn turn(
        &self,
        cache: &mut StoryCache,
        n: usize,
        seen: Seen,
        base: Option<Oid>,
        links: &[Link],
    ) -> Result<TurnCommit, GitError> {
        let commit = match (seen, base) {
            (Seen::In(at), _) => links[at].id,
            (Seen::Before, Some(base)) => base,
            (Seen::Before, None) => links[0].id,
        };
        let spot = walk::spot(self, cache, commit)?;
        let tree = match cache.tree_hash(spot.tree) {
            Some(hash) => hash,
            None => {
                let tree = self.git2.find_tree(spot.tree).map_err(GitError::git2("read a commit's tree"))?;
                let mut without = vec![cache.status_file()];
                without.extend(spot.real.as_deref());
                let hash = hash_without(&self.git2, &tree, &without)?;
                cache.keep_tree_hash(spot.tree, &hash);
                hash
            }
        };
        Ok(TurnCommit { n, commit: commit.into(), tree })
    }
}

/// Where a present section was seen first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    /// At the base already.
    Before,
    /// In the commit at this place of the story.
    In(usize),
}

/// The first commit with a STATUS.md of the loop, unless the loop was there before.
fn start(before: Option<&Sections>, links: &[Link]) -> Option<CommitId> {
    let id = links
        .iter()
        .rev()
        .find_map(|link| link.sections.as_ref())
        .map(|sections| sections.loop_id.clone())?;
    if before.is_some_and(|before| before.loop_id == id) {
        return None;
    }
    let of_loop = |link: &&Link| link.sections.as_ref().is_some_and(|sections| sections.loop_id == id);
    links.iter().find(of_loop).map(|link| link.id.into())
}

#[cfg(test)]
mod tests;
