//! Time added to `git commit`: no hook, an empty hook (the floor of any hook), loop's own with no router there, and
//! the same while a router answers.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use super::lab::{Lab, time};
use super::loopback::Router;
use super::{Row, timed};
use crate::process::output;

const COMMITS: usize = 60;

/// Measures the four in turn, so that a slow spell of the machine meets them all.
pub(super) fn run(lab: &Lab) -> Result<Vec<Row>> {
    let none = lab.repository("hook-none")?;
    let empty = lab.repository("hook-empty")?;
    let ours = lab.repository("hook-loop")?;
    empty_hook(&empty)?;
    output(lab.subject(&ours).args(["hooks", "install"]))?;

    let mut times: [Vec<Duration>; 3] = Default::default();
    for _ in 0..COMMITS {
        for (repository, times) in [&none, &empty, &ours].into_iter().zip(&mut times) {
            times.push(commit(lab, repository)?);
        }
    }
    let [mut bare, mut hooked, mut alone] = times;

    let _router = Router::start(lab)?;
    let mut heard = Vec::new();
    let mut beside = Vec::new();
    for _ in 0..COMMITS {
        beside.push(commit(lab, &empty)?);
        heard.push(commit(lab, &ours)?);
    }

    let floor = super::median(&mut hooked);
    let floor_beside = super::median(&mut beside);
    Ok(vec![
        timed("git commit, no hook", &mut bare, Some(floor)),
        timed("git commit, empty hook (floor)", &mut hooked, None),
        timed("git commit, loop's hook, no router", &mut alone, Some(floor)),
        timed("git commit, empty hook, beside a router (floor)", &mut beside, None),
        timed("git commit, loop's hook, the router answers", &mut heard, Some(floor_beside)),
    ])
}

fn commit(lab: &Lab, repository: &Path) -> Result<Duration> {
    time(lab.git(repository).args(["commit", "--quiet", "--allow-empty", "--message", "x"]))
}

fn empty_hook(repository: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let hook = repository.join(".git/hooks/post-commit");
    if let Some(dir) = hook.parent() {
        std::fs::create_dir_all(dir)?;
    }
    std::fs::write(&hook, "#!/bin/sh\n")?;
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755))?;
    Ok(())
}
