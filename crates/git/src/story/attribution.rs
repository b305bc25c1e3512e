//! Whose commit a change belongs to.

use loop_core::decide::{Change, Who};
use loop_core::{Cast, Name, Role};

use super::Seen;
use super::sections::{Brought, Sections};
use super::walk::Link;
use crate::commit_id::CommitId;

/// Returns what every commit brought to STATUS.md.
pub(super) fn brought(before: Option<&Sections>, links: &[Link]) -> Vec<Brought> {
    let mut last = before;
    let mut all = Vec::new();
    for link in links {
        let Some(now) = link.sections.as_deref() else {
            all.push(Brought::default());
            continue;
        };
        let same = last.is_some_and(|last| std::ptr::eq(last, now));
        // The sections of another loop are not this one's past.
        let past = last.filter(|last| last.loop_id == now.loop_id);
        all.push(if same { Brought::default() } else { Brought::between(past, now) });
        last = Some(now);
    }
    all
}

/// Returns the commits that changed other files than STATUS.md, with their turns and who made them.
pub(super) fn changes(
    links: &[Link],
    brought: &[Brought],
    seen: &[Option<Seen>],
    cast: &Cast,
    set_up: &dyn Fn(&str) -> bool,
) -> Vec<Change> {
    let changing = links.iter().enumerate().filter(|(_, link)| !link.step.paths.is_empty());
    let change = |(at, link): (usize, &Link)| {
        let step = &link.step;
        Change {
            commit: link.id.to_string(),
            turn: turn(at, seen),
            by: who(at, link, brought, cast),
            set_up: step.by_loop || (!step.more_paths && step.paths.iter().all(|path| set_up(path))),
        }
    };
    changing.map(change).collect()
}

/// Returns the commits that brought new sections of several names.
pub(super) fn two_names(links: &[Link], brought: &[Brought]) -> Vec<(CommitId, Vec<Name>)> {
    let names = brought.iter().map(|brought| {
        let mut names: Vec<Name> = Vec::new();
        for name in &brought.added {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        names
    });
    let of_commits = links.iter().zip(names).filter(|(_, names)| names.len() > 1);
    of_commits.map(|(link, names)| (link.id.into(), names)).collect()
}

/// The first section whose commit is this one or a later one; one more than the newest when there is none.
fn turn(at: usize, seen: &[Option<Seen>]) -> usize {
    let follows = |seen: &Option<Seen>| matches!(seen, Some(Seen::In(commit)) if *commit >= at);
    seen.iter().position(follows).unwrap_or(seen.len()) + 1
}

fn who(at: usize, link: &Link, brought: &[Brought], cast: &Cast) -> Who {
    let by_trailer =
        link.step.agent_trailer.as_deref().and_then(|text| cast.find(text)).map(|(name, _)| name);
    let own = brought[at].author();
    let next = || brought[at + 1..].iter().find_map(|brought| brought.added.first());
    match by_trailer.or(own).or_else(next) {
        Some(name) => participant(name, cast),
        None => Who::Person(link.step.author.clone()),
    }
}

/// The planner may have a window of its own; then it works as an agent does.
fn participant(name: &Name, cast: &Cast) -> Who {
    let agent = cast.agents.contains(name) || matches!(cast.find(name.as_str()), Some((_, Role::Agent)));
    if agent { Who::Agent(name.clone()) } else { Who::Person(name.to_string()) }
}
