//! `loop trust`.

use loop_core::Config;
use loop_core::plain::plain;
use loop_router::reading::CONFIG_FILE;
use loop_router::steer::Steer;
use loop_store::LoopRow;

use crate::client::Client;
use crate::commands::DONE;
use crate::commands::commit::on_the_loops_branch;
use crate::failure::{Done, Failure};
use crate::here::Here;
use crate::output;
use crate::steering::Helm;
use crate::world::World;

/// Show a changed loop.yaml and approve it
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Approve without asking
    #[arg(long)]
    pub(crate) yes: bool,
}

/// Runs the command.
pub(crate) async fn run(world: &World, args: Args) -> Done {
    let helm = Helm::take(world, "trust").await?;
    on_the_loops_branch(&helm.here)?;
    let (config, text) = helm.here.config(world)?;
    if is_edited(&helm.here, &text)? {
        return Err(Failure::say("your edit of loop.yaml is not committed, and only a committed one is approved")
            .next("`git commit -m \"loop.yaml\" -- loop.yaml`, then again; `git checkout -- loop.yaml` drops the edit"));
    }
    if helm.row.approved_text.as_deref() == Some(text.as_str()) {
        output::line("this loop.yaml is approved already.");
        return Ok(DONE);
    }
    approve(&helm.client, &helm.row, &config, &text, args.yes).await?;
    output::line("approved.");
    Ok(DONE)
}

/// Whether the working tree holds another loop.yaml than the committed `text`, which alone holds.
pub(crate) fn is_edited(here: &Here, text: &str) -> Result<bool, Failure> {
    let blob = here.reader.repo().worktree_file(CONFIG_FILE)?;
    Ok(blob.content() != Some(text.as_bytes()))
}

/// Shows what would hold and asks; without a terminal, and without `yes`, refuses.
pub(crate) async fn approve(
    client: &Client,
    row: &LoopRow,
    config: &Config,
    text: &str,
    yes: bool,
) -> Result<(), Failure> {
    show(row.approved_text.as_deref(), config, text);
    if !yes {
        if !output::can_ask() {
            return Err(Failure::say("loop.yaml is not approved, and nobody can be asked here")
                .next("look at it, then `loop trust --yes`"));
        }
        if !output::ask("Approve this loop.yaml?") {
            return Err(Failure::say("not approved; nothing was changed"));
        }
    }
    client.steer(&row.id, &Steer::Trust { text: text.to_owned() }).await?;
    Ok(())
}

/// Shows the commands and rules, and the lines that differ from the approved text.
fn show(approved: Option<&str>, config: &Config, text: &str) {
    output::note("This loop.yaml says:");
    for line in config.danger() {
        output::note(format!("  {}", plain(&line)));
    }
    if let Some(approved) = approved {
        output::note("It differs from the approved one in:");
        let old: Vec<&str> = approved.lines().collect();
        let new: Vec<&str> = text.lines().collect();
        for line in old.iter().filter(|line| !new.contains(line)) {
            output::note(format!("  - {}", plain(line)));
        }
        for line in new.iter().filter(|line| !old.contains(line)) {
            output::note(format!("  + {}", plain(line)));
        }
    }
}
