//! Where a new loop lives: which branch, which folder, and what becomes of changes that are there already.

use std::path::PathBuf;

use loop_core::plain::plain;
use loop_git::{Blob, CommitId, DirtyKind, Head, Repo};

use crate::commands::init::Args;
use crate::failure::Failure;
use crate::world::World;

/// Changed tracked files: refused, unless they are to be taken or left in the other worktree.
pub(super) fn changed(world: &World, repo: &Repo, args: &Args) -> Result<Vec<PathBuf>, Failure> {
    let dirty = repo.dirty(&world.git_env)?;
    let changed: Vec<PathBuf> = dirty
        .into_iter()
        .filter(|dirty| dirty.kind != DirtyKind::Untracked)
        .map(|dirty| dirty.path)
        .collect();
    if changed.is_empty() || args.worktree {
        return Ok(Vec::new());
    }
    if args.take_changes {
        return Ok(changed);
    }
    let names: Vec<String> =
        changed.iter().take(5).map(|path| plain(&path.to_string_lossy()).into_owned()).collect();
    Err(Failure::say(format!(
        "{} tracked {} changed ({}{}): agents could not tell your work from theirs",
        changed.len(),
        if changed.len() == 1 { "file is" } else { "files are" },
        names.join(", "),
        if changed.len() > 5 { ", …" } else { "" }
    ))
    .next("--take-changes commits them first as yours; --worktree leaves them here and works elsewhere; or commit or stash them"))
}

/// The branch to be made; `None`: the loop stays where HEAD is.
pub(super) fn branch(repo: &Repo, head: &Head, args: &Args, slug: &str) -> Result<Option<String>, Failure> {
    let stays = match head {
        Head::Branch { name, .. } => {
            let default = repo.default_branch();
            args.here || default.as_deref().is_some_and(|default| default != name)
        }
        Head::Detached(_) if args.here => {
            return Err(Failure::say("HEAD is detached; a loop lives on a branch")
                .next("`git switch BRANCH`, or leave --here out"));
        }
        Head::Detached(_) => false,
    };
    if stays && !args.worktree {
        return Ok(None);
    }
    for number in 1..1000 {
        let name = if number == 1 { format!("loop/{slug}") } else { format!("loop/{slug}-{number}") };
        if repo.branch_is_free(&name)? {
            return Ok(Some(name));
        }
    }
    Err(Failure::say(format!("loop/{slug} and its next 998 names are taken")).next("choose another title"))
}

/// The commit at which a loop's own worktree starts: HEAD, or the default branch's where `status_file` is in HEAD's.
pub(super) fn start(
    repo: &Repo,
    tip: &CommitId,
    status_file: &str,
    slug: &str,
    notes: &mut Vec<String>,
) -> Result<CommitId, Failure> {
    let is_free =
        |commit: &CommitId| repo.blob(commit, status_file).map(|blob| matches!(blob, Blob::Missing));
    if is_free(tip)? {
        return Ok(tip.clone());
    }
    if let Some(default) = repo.default_branch()
        && let Some(start) = repo.branch_tip(&default)?
        && is_free(&start)?
    {
        notes.push(format!(
            "the worktree starts at {default} ({}), for there is a {status_file} on the branch that is checked out here",
            start.short()
        ));
        return Ok(start);
    }
    let folder = sibling(repo, slug);
    let folder = shell_words::quote(&folder.to_string_lossy()).into_owned();
    Err(Failure::say(format!("there is a {status_file} at HEAD and on the default branch, and a worktree of either would hold it"))
        .next(format!(
            "start from a commit without it: `git worktree add -b loop/{slug} {folder} COMMIT`, then `loop init --here` in that folder"
        )))
}

/// The folder of a loop's own worktree: beside the repository.
pub(super) fn sibling(repo: &Repo, slug: &str) -> PathBuf {
    let root = &repo.place().worktree;
    let name = root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    root.with_file_name(format!("{name}-{slug}"))
}
