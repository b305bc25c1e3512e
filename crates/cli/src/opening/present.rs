//! What stands in the place of a new loop: a loop here, one on another branch of this working tree, somebody's file.

use loop_core::decide::Decision;
use loop_core::plain::plain;
use loop_git::Blob;
use loop_router::reading::{Known, Reading};
use loop_router::relay::headline;
use loop_store::LoopRow;

use super::foreign;
use crate::client::Client;
use crate::failure::Failure;
use crate::here::{Here, under_way};
use crate::scribe::rows_of;
use crate::world::World;

/// What stands on the branch that is checked out.
pub(crate) enum Present {
    /// Nothing: a loop can be opened.
    Nothing,
    /// A loop.
    Loop {
        /// How it stands.
        said: String,
        /// The next step.
        next: String,
    },
}

/// Looks, by the branch that is checked out: a loop's own branch may be another one.
pub(crate) async fn look(world: &World, client: &Client, here: &mut Here) -> Result<Present, Failure> {
    let head = here.reader.repo().head()?;
    let elsewhere = here.row.clone().filter(|row| head.branch() != Some(row.branch.as_str()));
    let reading = match &elsewhere {
        Some(_) => Ok(here.reader.read(&Known::default(), &world.settings.kinds)?),
        None => here.read(world),
    };
    match reading {
        Ok(Reading::Loop(observed)) => {
            let Some(id) = &observed.status.loop_id else { return Err(foreign()) };
            let (text, _) = headline(&observed.decided.decision);
            let said = format!("there is a loop here already, and nothing was changed. {}", plain(&text));
            let next = match (&elsewhere, &observed.decided.decision) {
                (Some(row), _) if row.id == *id => {
                    format!("`git switch {}` goes to where it lives", shell_words::quote(&row.branch))
                }
                (_, Decision::Passed { .. }) => {
                    "`loop archive` puts it away; then `loop init` opens the next one".to_owned()
                }
                _ => {
                    "`loop status` tells how it stands; `loop init --worktree` opens a second loop beside it"
                        .to_owned()
                }
            };
            Ok(Present::Loop { said, next })
        }
        Ok(Reading::Underway(operation)) => Err(under_way(operation)),
        Ok(Reading::Unreadable { why, .. }) => Err(Failure::say(why)),
        Ok(Reading::Idle { .. }) | Err(_) => {
            if !matches!(here.reader.repo().worktree_file("STATUS.md")?, Blob::Missing) {
                return Err(foreign());
            }
            match &elsewhere {
                Some(row) => unless_it_goes_on(world, client, here, row).await,
                None => Ok(Present::Nothing),
            }
        }
    }
}

/// Nothing stands here, but this working tree's loop lives on another branch: a new one would end its record, which
/// is right only once it is over.
async fn unless_it_goes_on(
    world: &World,
    client: &Client,
    here: &mut Here,
    row: &LoopRow,
) -> Result<Present, Failure> {
    let repo = here.reader.repo();
    let uninstalled = !row.up && rows_of(&client.store, repo).await?.is_empty();
    if uninstalled || repo.branch_tip(&row.branch)?.is_none() {
        return Ok(Present::Nothing);
    }
    let stands = match here.read(world) {
        Ok(Reading::Idle { .. }) => return Ok(Present::Nothing),
        Ok(Reading::Loop(observed)) => match &observed.decided.decision {
            Decision::Passed { .. } => return Ok(Present::Nothing),
            decision => headline(decision).0,
        },
        Ok(Reading::Unreadable { why, .. }) => why,
        Ok(Reading::Underway(operation)) => return Err(under_way(operation)),
        Err(failure) => failure.words(),
    };
    let branch = shell_words::quote(&row.branch);
    Err(Failure::say(format!("this working tree's loop lives on {} and is not over: {}", row.branch, plain(&stands)))
        .next(format!(
            "`loop init --worktree` opens the new one beside it; or `git switch {branch}` goes back to it, where `loop archive --force` puts it away"
        )))
}
