//! Going back through the commits of a loop.

use std::sync::Arc;

use git2::Oid;
use loop_core::status::parse;

use super::cache::StoryCache;
use super::sections::{Read, Sections};
use crate::blob::MAX_FILE_BYTES;
use crate::commit_info::describe;
use crate::error::GitError;
use crate::repo::Repo;
use crate::tree::{Found, differing, find};

/// How many commits without a readable STATUS.md may lie between two that belong to one loop (it was deleted by
/// accident and restored). More, and what lies behind is another loop's.
const GAP: usize = 100;

/// How many changed paths of one commit are looked at: loop's own files are a handful.
const MAX_PATHS: usize = 64;

/// Where a commit stands and where its status file is: all that is looked at of commits before the loop.
#[derive(Debug)]
pub(super) struct Spot {
    pub(super) parent: Option<Oid>,
    pub(super) tree: Oid,
    /// The content of the status file, symlinks followed.
    pub(super) status: Option<Oid>,
    /// Where the status file really is.
    pub(super) real: Option<String>,
}

/// What a commit did, seen from its first parent.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) spot: Arc<Spot>,
    /// The files that it changed, the status file left out.
    pub(super) paths: Vec<String>,
    /// Whether there are more of them than were looked at.
    pub(super) more_paths: bool,
    pub(super) agent_trailer: Option<String>,
    pub(super) author: String,
    pub(super) by_loop: bool,
}

/// A commit in its place in the story.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) id: Oid,
    pub(super) step: Arc<Step>,
    /// What STATUS.md says there; `None` when there is none, or it cannot be read.
    pub(super) sections: Option<Arc<Sections>>,
    pub(super) unreadable: bool,
}

/// The commits from `base` (left out) to `tip`, oldest first.
pub(super) fn from_base(
    repo: &Repo,
    cache: &mut StoryCache,
    base: Oid,
    tip: Oid,
) -> Result<Vec<Link>, GitError> {
    let ids = repo.first_parents(Some(&base.into()), &tip.into())?;
    // Newest first: the older contents are the beginnings of newer ones.
    let mut links = ids.into_iter().map(|id| link(repo, cache, id)).collect::<Result<Vec<_>, _>>()?;
    links.reverse();
    Ok(links)
}

/// The commits from the one that brought the loop at the tip to `tip`, oldest first.
pub(super) fn from_start(repo: &Repo, cache: &mut StoryCache, tip: Oid) -> Result<Vec<Link>, GitError> {
    let ids = back_to_start(repo, cache, tip, None)?;
    ids.into_iter().map(|id| link(repo, cache, id)).collect()
}

/// The commits from the one that brought the loop to `tip`, oldest first. Which loop: the one with the id `wanted`,
/// else the one at the tip.
pub(super) fn back_to_start(
    repo: &Repo,
    cache: &mut StoryCache,
    tip: Oid,
    mut wanted: Option<Option<String>>,
) -> Result<Vec<Oid>, GitError> {
    let mut ids = Vec::new();
    let mut belonging = 0;
    let mut next = Some(tip);
    while let Some(id) = next {
        let spot = spot(repo, cache, id)?;
        next = spot.parent;
        ids.push(id);
        let sections = spot.status.map(|content| sections(repo, cache, content)).transpose()?.flatten();
        match sections.map(|sections| sections.loop_id.clone()) {
            Some(loop_id) if *wanted.get_or_insert_with(|| loop_id.clone()) == loop_id => {
                belonging = ids.len()
            }
            // A search for a certain loop goes on behind another one that came later.
            Some(_) if belonging > 0 => break,
            _ if ids.len() - belonging > GAP && (belonging > 0 || wanted.is_none()) => break,
            _ => {}
        }
    }
    ids.truncate(belonging);
    ids.reverse();
    Ok(ids)
}

/// What STATUS.md says at a commit.
pub(super) fn sections_at(
    repo: &Repo,
    cache: &mut StoryCache,
    commit: Oid,
) -> Result<Option<Arc<Sections>>, GitError> {
    Ok(link(repo, cache, commit)?.sections)
}

fn link(repo: &Repo, cache: &mut StoryCache, id: Oid) -> Result<Link, GitError> {
    let step = step(repo, cache, id)?;
    let sections = step.spot.status.map(|content| sections(repo, cache, content)).transpose()?.flatten();
    let unreadable = step.spot.status.is_some() && sections.is_none();
    Ok(Link { id, step, sections, unreadable })
}

fn sections(repo: &Repo, cache: &mut StoryCache, content: Oid) -> Result<Option<Arc<Sections>>, GitError> {
    if let Some(known) = cache.sections(content) {
        return Ok(known);
    }
    let doing = "read STATUS.md at a commit";
    let odb = repo.git2.odb().map_err(GitError::git2(doing))?;
    let (size, _) = odb.read_header(content).map_err(GitError::git2(doing))?;
    let sections = if size as u64 > MAX_FILE_BYTES {
        None
    } else {
        let object = odb.read(content).map_err(GitError::git2(doing))?;
        read(cache, object.data())
    };
    cache.keep_sections(content, &sections);
    Ok(sections)
}

/// Reads a content, by parsing only if it is not the beginning of the one that was parsed last.
fn read(cache: &mut StoryCache, text: &[u8]) -> Option<Arc<Sections>> {
    if let Some(known) = cache.last_read.as_ref().and_then(|last| last.beginning(text)) {
        return Some(known);
    }
    let read = Read::of(parse(text, cache.cast()).ok()?);
    let sections = Arc::clone(&read.sections);
    cache.last_read = Some(read);
    Some(sections)
}

pub(super) fn spot(repo: &Repo, cache: &mut StoryCache, id: Oid) -> Result<Arc<Spot>, GitError> {
    if let Some(known) = cache.spot(id) {
        return Ok(known);
    }
    let doing = "read a commit";
    let commit = repo.git2.find_commit(id).map_err(GitError::git2(doing))?;
    let tree = commit.tree().map_err(GitError::git2(doing))?;
    let (status, real) = match find(&repo.git2, &tree, cache.status_file())? {
        Found::File { id, path } => (Some(id), Some(path)),
        // What stands there otherwise (a folder, a link that leads out) has no sections.
        _ => (None, None),
    };
    // libgit2 knows where a shallow clone ends: there the commit has no parent.
    let spot = Arc::new(Spot { parent: commit.parent_id(0).ok(), tree: tree.id(), status, real });
    cache.keep_spot(id, &spot);
    Ok(spot)
}

pub(super) fn step(repo: &Repo, cache: &mut StoryCache, id: Oid) -> Result<Arc<Step>, GitError> {
    let spot = spot(repo, cache, id)?;
    if let Some(known) = cache.step(id) {
        return Ok(known);
    }
    let doing = "read a commit";
    let find_tree = |id| repo.git2.find_tree(id).map_err(GitError::git2(doing));
    let old = match spot.parent {
        Some(parent) => {
            let parent = repo.git2.find_commit(parent).map_err(GitError::git2(doing))?;
            Some(find_tree(parent.tree_id())?)
        }
        None => None,
    };
    // Where the status file is a link, both the link and its target are left out; hence three more at most.
    let mut paths = differing(&repo.git2, old.as_ref(), &find_tree(spot.tree)?, MAX_PATHS + 3)?;
    paths.retain(|path| path != cache.status_file() && Some(path.as_str()) != spot.real.as_deref());
    let more_paths = paths.len() > MAX_PATHS;
    paths.truncate(MAX_PATHS);
    let info = describe(&repo.git2.find_commit(id).map_err(GitError::git2(doing))?);
    let step = Arc::new(Step {
        spot,
        paths,
        more_paths,
        agent_trailer: info.loop_agent,
        author: info.author_name,
        by_loop: info.by_loop,
    });
    cache.keep_step(id, &step);
    Ok(step)
}
