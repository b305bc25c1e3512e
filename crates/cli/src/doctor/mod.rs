//! Proving, by doing, that each piece works here: one check after the other, each bounded in time.

mod agents;
mod repository;
mod service;
mod turn_hooks;
mod windows;

use std::process::ExitCode;

use loop_core::plain::plain;
use loop_git::GitError;
use serde::Serialize;
use serde_json::json;

use crate::failure::{DONE, OURS, USERS};
use crate::here::Here;
use crate::output;
use crate::world::World;

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Outcome {
    /// It works.
    Ok,
    /// It does not.
    NotOk,
    /// It was not, or could not be, tried.
    Unproven,
}

/// One line of the report.
#[derive(Debug, Serialize)]
struct Check {
    /// What was looked at.
    check: String,
    /// How it ended.
    state: Outcome,
    /// What was seen.
    says: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// Whether what does not work is a part of loop, not of the user's set-up.
    ours: bool,
}

impl Check {
    fn new(check: impl Into<String>, state: Outcome, says: impl Into<String>) -> Self {
        Self { check: check.into(), state, says: says.into(), next: None, ours: false }
    }

    fn ok(check: impl Into<String>, says: impl Into<String>) -> Self {
        Self::new(check, Outcome::Ok, says)
    }

    fn not_ok(check: impl Into<String>, says: impl Into<String>, next: impl Into<String>) -> Self {
        Self { next: Some(next.into()), ..Self::new(check, Outcome::NotOk, says) }
    }

    fn unproven(check: impl Into<String>, says: impl Into<String>, next: impl Into<String>) -> Self {
        Self { next: Some(next.into()), ..Self::new(check, Outcome::Unproven, says) }
    }

    fn ours(self) -> Self {
        Self { ours: true, ..self }
    }
}

/// The report, printed line by line as it grows, or whole as one object.
struct Report {
    json: bool,
    color: bool,
    checks: Vec<Check>,
}

impl Report {
    fn add(&mut self, check: Check) {
        if !self.json {
            output::print(&self.line(&check));
        }
        self.checks.push(check);
    }

    fn line(&self, check: &Check) -> String {
        let (color, word) = match check.state {
            Outcome::Ok => ("\x1b[32m", "ok"),
            Outcome::NotOk => ("\x1b[31m", "NOT OK"),
            Outcome::Unproven => ("\x1b[33m", "unproven"),
        };
        let word = output::pad(word, 8);
        let word = if self.color { format!("{color}{word}\x1b[0m") } else { word };
        let lines: Vec<&str> = check.says.lines().filter(|line| !line.trim().is_empty()).collect();
        let says = plain(&lines.join("\n            ")).into_owned();
        let next = check.next.as_deref().map(|next| format!("            next: {}\n", plain(next)));
        format!("{word}  {}: {says}\n{}", check.check, next.unwrap_or_default())
    }

    /// 0 when nothing is broken, 1 when something of the user's is, 5 when something of ours is.
    fn exit(&self) -> u8 {
        let broken = || self.checks.iter().filter(|check| check.state == Outcome::NotOk);
        match (broken().next(), broken().any(|check| check.ours)) {
            (None, _) => DONE,
            (_, true) => OURS,
            (_, false) => USERS,
        }
    }

    fn end(self) -> ExitCode {
        let exit = self.exit();
        let count = |state: Outcome| self.checks.iter().filter(|check| check.state == state).count();
        let (ok, broken, unproven) = (count(Outcome::Ok), count(Outcome::NotOk), count(Outcome::Unproven));
        if self.json {
            output::json(&json!({
                "ok": broken == 0, "exit": exit, "checks": self.checks,
                "counts": {"ok": ok, "not_ok": broken, "unproven": unproven},
            }));
        } else {
            output::line(format!("{ok} ok, {broken} not ok, {unproven} unproven"));
        }
        ExitCode::from(exit)
    }
}

/// Examines everything that can be examined from the current folder.
pub(crate) async fn examine(world: &World, json: bool) -> ExitCode {
    let mut report = Report { json, color: world.color, checks: Vec::new() };
    repository::git(world, &mut report);
    service::key(world, &mut report);
    let store = service::store(world, &mut report).await;
    let router = service::router(world, store.as_ref(), &mut report).await;
    let tmux = windows::tmux(world, &mut report).await;
    service::tell(world, &mut report).await;
    match Here::at(world, &world.cwd, store.as_ref()).await {
        Ok(here) => {
            repository::repository(&here, &mut report);
            repository::hook(world, &here, &mut report);
            let config = repository::config(world, &here, &mut report);
            if let Some(config) = config {
                agents::agents(world, &here, &config, store, router, tmux, &mut report).await;
            } else {
                agents::installed(world, &mut report);
            }
        }
        Err(failure) => {
            let says = failure.words();
            let nowhere = matches!(
                loop_git::Repo::discover(&world.cwd),
                Err(GitError::NotARepository { .. } | GitError::Bare { .. })
            );
            report.add(if nowhere {
                Check::unproven("repository", says, "run this in a repository to prove the rest")
            } else {
                Check::not_ok("repository", says, "mend that, then again")
            });
            agents::installed(world, &mut report);
        }
    }
    report.end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_says_whose_it_is() {
        let report = |checks: Vec<Check>| Report { json: true, color: false, checks };
        for (checks, expected) in [
            (vec![], DONE),
            (vec![Check::ok("a", "b"), Check::unproven("a", "b", "c")], DONE),
            (vec![Check::unproven("a", "b", "c").ours()], DONE),
            (vec![Check::not_ok("a", "b", "c"), Check::ok("a", "b")], USERS),
            (vec![Check::not_ok("a", "b", "c"), Check::not_ok("a", "b", "c").ours()], OURS),
        ] {
            assert_eq!(report(checks).exit(), expected);
        }
    }

    #[test]
    fn a_line_says_what_to_do() {
        let report = Report { json: false, color: false, checks: Vec::new() };
        let line = report.line(&Check::not_ok("hook", "no\nhook", "install it"));
        assert_eq!(line, "NOT OK    hook: no\n            hook\n            next: install it\n");
    }
}
