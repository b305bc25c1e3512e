//! The record of a finished loop, kept beside its STATUS.md in the archive.
//!
//! `manifest.json` is written once and read by people and programs long afterwards: fields may be added, none may
//! change its meaning. [`FORMAT`] says which form a file has.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::config::{Config, PassPolicy};
use crate::decide::{Decision, Facts, rounds};
use crate::name::Name;
use crate::report::verdict_word;
use crate::status::Status;
use crate::task;

/// The form of manifest that this version writes.
pub const FORMAT: u32 = 1;

/// A finished loop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`FORMAT`].
    pub format: u32,
    /// The version of loop that wrote it.
    pub loop_version: String,
    /// The loop's id; null for a STATUS.md that was written by hand without one.
    pub loop_id: Option<String>,
    /// The task's title.
    pub title: Option<String>,
    /// The branch it ran on.
    pub branch: Option<String>,
    /// When it began: the time of the commit that opened it.
    pub started_at: Option<Timestamp>,
    /// When it was archived.
    pub ended_at: Timestamp,
    /// How it ended.
    pub result: Outcome,
    /// Who passed or accepted; null when the archive was forced.
    pub by: Option<String>,
    /// How it ended, in words; for a forced one what still stood in the way.
    pub reason: String,
    /// Whether `verify` succeeded on the passed commit.
    pub verified: bool,
    /// The passed commit.
    pub commit: Option<String>,
    /// Commits after the passed one that nobody has reviewed.
    pub unreviewed: usize,
    /// Who could end it: `any`, `other`, `all`, or names.
    pub pass: Vec<String>,
    /// The agents in the order of the rotation.
    pub rotation: Vec<Name>,
    /// Every section.
    pub turns: Vec<ManifestTurn>,
    /// Every commit of the loop, oldest first.
    pub commits: Vec<ManifestCommit>,
    /// What of the limits was used.
    pub used: Used,
}

/// How a loop ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// An agent's pass that the policy accepted.
    Passed,
    /// A person accepted.
    Accepted,
    /// It was archived unfinished.
    Forced,
}

/// One section.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestTurn {
    /// Its number, from 1.
    pub n: usize,
    /// Its author.
    pub agent: Name,
    /// Its target.
    pub to: Option<Name>,
    /// Its summary.
    pub summary: String,
    /// `pass`, `blocked` or null, as written, counted or not.
    pub verdict: Option<String>,
    /// Its commit.
    pub commit: Option<String>,
    /// The time of its commit.
    pub at: Option<Timestamp>,
}

/// One commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestCommit {
    /// Its full id.
    pub id: String,
    /// Who made it: the agent, else the git author.
    pub by: String,
    /// Its subject.
    pub subject: String,
    /// Its time.
    pub at: Timestamp,
}

/// What of the limits was used, since the last `loop resume` where there was one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Used {
    /// Whole rounds.
    pub rounds: u32,
    /// Working minutes, where they are known.
    pub minutes: Option<f64>,
    /// Tokens, where they are known.
    pub tokens: Option<u64>,
}

impl Manifest {
    /// What STATUS.md, the configuration and the decision say of a loop that is archived at `now`. The branch, the
    /// times of the turns, the start and the commits come from the repository and are put beside it.
    pub fn new(
        status: &Status,
        config: &Config,
        facts: &Facts,
        decision: &Decision,
        loop_version: &str,
        now: Timestamp,
    ) -> Self {
        let accepted = facts.accepted.as_ref().is_some_and(|accept| accept.after_turn == status.turns.len());
        let result = match decision {
            Decision::Passed { .. } if accepted => Outcome::Accepted,
            Decision::Passed { .. } => Outcome::Passed,
            _ => Outcome::Forced,
        };
        let (by, verified, commit, unreviewed) = match decision {
            Decision::Passed { by, verified, commit, unreviewed, .. } => {
                (Some(by.clone()), *verified, commit.clone(), *unreviewed)
            }
            _ => (None, false, None, 0),
        };
        let commit_of = |n: usize| facts.turns.get(&n).and_then(|known| known.commit.clone());
        let turns = status.turns.iter().map(|turn| ManifestTurn {
            n: turn.n,
            agent: turn.author.clone(),
            to: turn.to.clone(),
            summary: turn.summary.clone(),
            verdict: turn.verdict.as_ref().map(|verdict| verdict_word(verdict).to_owned()),
            commit: commit_of(turn.n),
            at: None,
        });
        Self {
            format: FORMAT,
            loop_version: loop_version.to_owned(),
            loop_id: status.loop_id.clone(),
            title: task::title(status),
            branch: None,
            started_at: None,
            ended_at: now,
            result,
            by,
            reason: decision.reason().to_owned(),
            verified,
            commit,
            unreviewed,
            pass: pass(&config.pass),
            rotation: config.rotation.members().cloned().collect(),
            turns: turns.collect(),
            commits: Vec::new(),
            used: Used {
                rounds: rounds(status, config, facts).done,
                minutes: facts.minutes,
                tokens: facts.tokens,
            },
        }
    }

    /// The text of `manifest.json`.
    ///
    /// # Errors
    /// Fails when a figure cannot be written as JSON, which none of a real loop is.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self).map(|text| text + "\n")
    }
}

fn pass(policy: &PassPolicy) -> Vec<String> {
    match policy {
        PassPolicy::Any => vec!["any".to_owned()],
        PassPolicy::Other => vec!["other".to_owned()],
        PassPolicy::All => vec!["all".to_owned()],
        PassPolicy::Names(names) => names.iter().map(ToString::to_string).collect(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::decide::Accept;
    use crate::decide::testing::{Scene, id};

    fn manifest(scene: &Scene) -> Manifest {
        let now = "2026-01-02T03:04:05Z".parse().unwrap();
        Manifest::new(&scene.status, &scene.config, &scene.facts, &scene.decided().decision, "0.1.0", now)
    }

    #[test]
    fn the_file_stays_readable() {
        let mut scene =
            Scene::new("CC Codex", "CC > Codex\nCodex pass").policy(PassPolicy::Other).changes("1:CC");
        scene.status.text = "# A parser\n".to_owned();
        scene.status.preamble = 0..scene.status.text.len();
        scene.status.loop_id = Some("01".to_owned());
        let mut manifest = manifest(&scene);
        manifest.branch = Some("loop/a-parser".to_owned());
        manifest.commits.push(ManifestCommit {
            id: id("c", 1),
            by: "CC".to_owned(),
            subject: "CC: work 1".to_owned(),
            at: manifest.ended_at,
        });
        let text = manifest.to_json().unwrap();
        assert_eq!(serde_json::from_str::<Manifest>(&text).unwrap(), manifest);
        insta::assert_snapshot!(text, @r#"
{
  "format": 1,
  "loop_version": "0.1.0",
  "loop_id": "01",
  "title": "A parser",
  "branch": "loop/a-parser",
  "started_at": null,
  "ended_at": "2026-01-02T03:04:05Z",
  "result": "passed",
  "by": "Codex",
  "reason": "passed at a000000 by Codex in turn 2, unverified",
  "verified": false,
  "commit": "a000000000000000000000000000000000000002",
  "unreviewed": 0,
  "pass": [
    "other"
  ],
  "rotation": [
    "CC",
    "Codex"
  ],
  "turns": [
    {
      "n": 1,
      "agent": "CC",
      "to": "Codex",
      "summary": "work 1",
      "verdict": null,
      "commit": "a000000000000000000000000000000000000001",
      "at": null
    },
    {
      "n": 2,
      "agent": "Codex",
      "to": null,
      "summary": "work 2",
      "verdict": "pass",
      "commit": "a000000000000000000000000000000000000002",
      "at": null
    }
  ],
  "commits": [
    {
      "id": "c000000000000000000000000000000000000001",
      "by": "CC",
      "subject": "CC: work 1",
      "at": "2026-01-02T03:04:05Z"
    }
  ],
  "used": {
    "rounds": 1,
    "minutes": null,
    "tokens": null
  }
}
"#);
    }

    #[test]
    fn how_it_ended() {
        let scene = Scene::new("CC Codex", "CC");
        assert_eq!(manifest(&scene).result, Outcome::Forced);
        let accept = Accept { after_turn: 1, by: "Dana".to_owned(), why: None, commit: None };
        let accepted = manifest(&scene.facts(|facts| facts.accepted = Some(accept)));
        assert_eq!((accepted.result, accepted.by.as_deref()), (Outcome::Accepted, Some("Dana")));
    }
}
