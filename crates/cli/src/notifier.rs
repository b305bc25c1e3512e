//! Putting the notifier into a repository's hooks, journalled, and saying what became of it.

use std::path::Path;

use loop_core::plain::plain;
use loop_hooks::{HookError, InstallOptions, Installed, OldWay, Outcome};

use crate::failure::Failure;
use crate::scribe::{BY_HOOKS, Scribe};
use crate::world::World;

/// Installs the notifier and journals what it wrote. The inner error: nothing was installed, and why.
pub(crate) async fn install(
    world: &World,
    worktree: &Path,
    scribe: &mut Scribe<'_>,
    options: InstallOptions,
) -> Result<Result<Installed, HookError>, Failure> {
    let installed = match loop_hooks::install(worktree, &world.hook_env(), options) {
        Ok(installed) => installed,
        Err(error) => return Ok(Err(error)),
    };
    for write in &installed.writes {
        scribe.remember(&write.path, &write.added, BY_HOOKS).await?;
    }
    Ok(Ok(installed))
}

/// The same beside other work: what could not be done is a note, for the router finds commits without a hook.
/// Returns what became of it where it is in place.
pub(crate) async fn install_with_notes(
    world: &World,
    worktree: &Path,
    scribe: &mut Scribe<'_>,
    notes: &mut Vec<String>,
) -> Result<Option<&'static str>, Failure> {
    let mut done = None;
    match install(world, worktree, scribe, InstallOptions::default()).await? {
        Ok(installed) => {
            match installed.outcome {
                Outcome::ByHand { file, lines, why } => {
                    notes.push(format!(
                        "the hook was not installed: {why}; add to {}:\n{lines}",
                        file.display()
                    ));
                }
                Outcome::Off { why } => notes.push(format!("the hook was not installed: {why}")),
                Outcome::Installed => done = Some("installed"),
                Outcome::Updated => done = Some("updated"),
                Outcome::AlreadyThere => done = Some("in place already"),
            }
            notes.extend(installed.notes);
            notes.extend(installed.old_ways.iter().map(old_way));
        }
        Err(error) => {
            notes.push(format!("the hook was not installed: {error}; the router finds commits within 10 s"));
        }
    }
    Ok(done)
}

/// A line that already wakes agents, and the mend.
pub(crate) fn old_way(old: &OldWay) -> String {
    format!(
        "{}:{} wakes agents in the old way, so each wake would be typed twice; take that line out: {}",
        old.file.display(),
        old.line,
        plain(&old.text)
    )
}
