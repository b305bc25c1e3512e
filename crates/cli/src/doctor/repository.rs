//! Git, the repository, its loop, its hook and its `loop.yaml`.

use std::time::Duration;

use loop_core::Config;
use loop_git::{Git, Head};
use loop_hooks::Proof;

use super::{Check, Report};
use crate::here::Here;
use crate::notifier::old_way;
use crate::world::World;

const DEADLINE: Duration = Duration::from_secs(10);
const MEND: &str = "git config --global user.name NAME, and user.email";

/// The program, and in whose name it commits.
pub(super) fn git(world: &World, report: &mut Report) {
    let git = Git::at(&world.cwd, &world.git_env);
    let version = match git.run(&["--version"], DEADLINE) {
        Ok(output) if output.ok() => output.line(),
        Ok(output) => return report.add(Check::not_ok("git", output.words(), "mend the git program")),
        Err(error) => return report.add(Check::not_ok("git", error.to_string(), "install git")),
    };
    report.add(match git.identity() {
        Ok((name, email)) => Check::ok("git", format!("{version}, commits as {name} <{email}>")),
        Err(error) => Check::not_ok(
            "git",
            format!("{version}, but {error}"),
            error.hint().unwrap_or_else(|| MEND.to_owned()),
        ),
    });
}

/// Where the loop lives.
pub(super) fn repository(here: &Here, report: &mut Report) {
    let repo = here.reader.repo();
    let shown = repo.place().worktree.display();
    let head = match repo.head() {
        Ok(head) => head,
        Err(error) => return report.add(Check::not_ok("repository", error.to_string(), "mend HEAD")),
    };
    report.add(match &head {
        Head::Branch { name, tip: Some(_) } => Check::ok("repository", format!("{shown}, on {name}")),
        Head::Branch { name, tip: None } => Check::unproven(
            "repository",
            format!("{shown}, on {name}, which has no commit yet; a loop needs one to start from"),
            "git commit --allow-empty -m \"first\"",
        ),
        Head::Detached(commit) => {
            Check::ok("repository", format!("{shown}, on no branch, at {}", commit.short()))
        }
    });
    if let Some(operation) = repo.operation() {
        report.add(Check::not_ok(
            "repository",
            format!("{operation} is under way; nobody is woken meanwhile"),
            "finish or abort it",
        ));
    }
    report.add(match &here.row {
        None => {
            Check::unproven("loop", "no loop is known here", "`loop init \"what is to be done\"` starts one")
        }
        Some(row) if head.branch() != Some(row.branch.as_str()) => Check::not_ok(
            "loop",
            format!("it lives on {}, and what is checked out is another branch", row.branch),
            format!("`git switch {}`", shell_words::quote(&row.branch)),
        ),
        Some(row) => Check::ok(
            "loop",
            format!("{} on {}, {}", row.slug, row.branch, if row.up { "up" } else { "down" }),
        ),
    });
}

/// Whether a commit rings, as a trial commit shows.
pub(super) fn hook(world: &World, here: &Here, report: &mut Report) {
    let worktree = &here.reader.repo().place().worktree;
    let status = match loop_hooks::status(worktree, &world.hook_env(), true) {
        Ok(status) => status,
        Err(error) => {
            return report.add(Check::not_ok("hook", error.to_string(), "`loop hooks status` shows more"));
        }
    };
    let wanted = here.row.is_some() || !status.sections.is_empty();
    report.add(match status.proof {
        Some(Proof::Works { took_ms }) if status.current => {
            Check::ok("hook", format!("a trial commit rang ({took_ms} ms)"))
        }
        Some(Proof::Works { took_ms }) => Check::ok(
            "hook",
            format!("a trial commit rang ({took_ms} ms), by another `loop` or in an older form: `loop hooks install` renews it"),
        ),
        Some(Proof::NotRun { .. }) if !wanted => {
            Check::unproven("hook", "the notifier is not installed", "`loop init` or `loop hooks install` does it")
        }
        Some(Proof::NotRun { why } | Proof::Bypassed { why }) => Check::not_ok(
            "hook",
            format!("{why}; the router finds commits all the same, a few seconds later"),
            "`loop hooks install`; `loop hooks status` shows more",
        ),
        Some(Proof::Unproven { why }) => {
            Check::unproven("hook", format!("the trial commit could not be made: {why}"), "mend that, then again")
        }
        None => Check::unproven("hook", "not tried", "`loop hooks status`"),
    });
    for old in &status.old_ways {
        report.add(Check::not_ok("hook", old_way(old), format!("edit {}", old.file.display())));
    }
}

/// Whether `loop.yaml` can be read, and is the one that a person approved.
pub(super) fn config(world: &World, here: &Here, report: &mut Report) -> Option<Config> {
    let (config, text) = match here.config(world) {
        Ok(read) => read,
        Err(failure) if here.row.is_none() => {
            report.add(Check::unproven("loop.yaml", failure.words(), "`loop init` writes one"));
            return None;
        }
        Err(failure) => {
            report.add(Check::not_ok("loop.yaml", failure.words(), "mend it and commit"));
            return None;
        }
    };
    let approved = here.row.as_ref().map(|row| row.approved_text.as_deref());
    report.add(match approved {
        None => Check::unproven("loop.yaml", "it can be read; no loop here has it", "`loop init` starts one"),
        Some(None) => Check::not_ok(
            "loop.yaml",
            "nobody has approved it yet",
            "`loop up` shows it and asks; or `loop trust`",
        ),
        Some(Some(approved)) if approved != text => Check::not_ok(
            "loop.yaml",
            "it was changed since a person approved it",
            "`loop trust` shows the difference",
        ),
        Some(Some(_)) => {
            Check::ok("loop.yaml", format!("approved; rotation {}, pass {}", config.rotation, config.pass))
        }
    });
    Some(config)
}
