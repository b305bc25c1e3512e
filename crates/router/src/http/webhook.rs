//! `POST /webhook/agent-loop`: the wire format of the flow that this replaces.
//!
//! `author` is checked against the names of the loop and decides nothing: the commit does.

use std::path::Path;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use loop_core::decide::Decision;
use loop_core::plain::plain;
use loop_core::rendezvous::Answer;
use loop_store::LoopRow;
use serde_json::Value;

use super::problem::Problem;
use crate::desk::Desk;
use crate::relay::{Notice, Relayed};

pub(crate) async fn agent_loop(State(desk): State<Arc<Desk>>, body: Bytes) -> Result<Response, Problem> {
    let ring = Ring::read(&body)?;
    let row = desk.loop_for(ring.repo.as_deref()).await?;
    if !ring.author.is_empty() {
        desk.check_author(&row, &ring.author)?;
    }
    let from = if ring.repo.is_some() { "hook" } else { "webhook" };
    let relayed =
        desk.relay(&Notice { loop_id: row.id.clone(), from }).await.map_err(|error| Problem::ours(&error))?;
    let answer = match relayed {
        Relayed::Nothing(why) => Answer {
            status: "ok".to_owned(),
            state: Some(row.state),
            reason: Some(plain(&why).into_owned()),
            ..Answer::default()
        },
        Relayed::Read { observed, recorded } => {
            let decision = &observed.decided.decision;
            let (text, _) = crate::relay::headline(decision);
            let mut answer = Answer {
                status: "ok".to_owned(),
                state: Some(observed.report().state.to_owned()),
                reason: Some(plain(&text).into_owned()),
                ..Answer::default()
            };
            // First parents are the loop's line; a merged branch's commits are on it too, but nobody waits for them.
            if let Some(commit) = &ring.commit
                && !observed.facts.commits.contains(commit)
                && observed.start.as_ref().is_none_or(|start| start.as_str() != commit)
            {
                let short: String = commit.chars().take(7).collect();
                answer.lines.push(format!(
                    "commit {} is not on {}, where the loop lives",
                    plain(&short),
                    row.branch
                ));
            }
            if let Decision::Wake { agent, .. } = decision
                && recorded.delivery.is_none()
            {
                let text = format!("it is the turn of {agent}, but the loop is down; `loop up` wakes it");
                answer.reason = Some(text);
            }
            // A commit is often seen by the watch on references before its own hook rings: new is what no ring
            // was told before.
            if let Decision::Wake { agent, .. } = decision
                && recorded.delivery.is_some()
                && !observed.status.turns.is_empty()
                && desk.rung.is_new(&row.id, &decision.key())
            {
                answer.target = Some(agent.to_string());
                answer.turn = Some(observed.status.turns.len());
                answer.delivery = recorded.delivery.map(|delivery| delivery.id);
            }
            answer
        }
    };
    Ok((StatusCode::ACCEPTED, axum::Json(answer)).into_response())
}

/// The body, checked.
struct Ring {
    author: String,
    repo: Option<String>,
    commit: Option<String>,
}

impl Ring {
    fn read(body: &[u8]) -> Result<Self, Problem> {
        let example = r#"send {"author":"CC","message":"what I did","repo":"/path/to/repo"}"#;
        let bad = |title: &str| Problem::new(StatusCode::BAD_REQUEST, "bad-body", title).hint(example);
        if body.is_empty() {
            return Err(bad("the body is empty"));
        }
        let value: Value = serde_json::from_slice(body)
            .map_err(|error| bad("the body is no JSON").detail(error.to_string()))?;
        let Some(fields) = value.as_object() else { return Err(bad("the body is no JSON object")) };
        let text = |name: &str| match fields.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(bad(&format!("`{name}` is not a text"))),
        };
        let author = text("author")?.ok_or_else(|| bad("`author` is missing"))?;
        text("message")?;
        Ok(Self { author, repo: text("repo")?, commit: text("commit")? })
    }
}

impl Desk {
    /// The loop that a request speaks of.
    pub(crate) async fn loop_for(&self, repo: Option<&str>) -> Result<LoopRow, Problem> {
        let loops = self.store.loops(false).await.map_err(|error| Problem::ours(&error))?;
        match repo {
            Some(repo) => {
                let place = std::fs::canonicalize(repo).unwrap_or_else(|_| Path::new(repo).to_owned());
                let inside = |row: &&LoopRow| place.starts_with(&row.worktree);
                loops
                    .iter()
                    .filter(inside)
                    .max_by_key(|row| row.worktree.components().count())
                    .cloned()
                    .ok_or_else(|| {
                        Problem::new(
                            StatusCode::NOT_FOUND,
                            "unknown-repository",
                            "no loop is known in this repository",
                        )
                        .detail(plain(repo).chars().take(300).collect::<String>())
                        .hint("`loop up` in the repository makes its loop known")
                    })
            }
            None => {
                // A loop that is down is not worked on: it is meant only where no other one is.
                let up: Vec<&LoopRow> = loops.iter().filter(|row| row.up).collect();
                match (up.as_slice(), loops.as_slice()) {
                    ([only], _) => Ok((*only).clone()),
                    (_, [only]) => Ok(only.clone()),
                    (_, []) => Err(Problem::new(StatusCode::NOT_FOUND, "no-loop", "no loop is known here")
                        .hint("`loop init` and `loop up` in a repository start one")),
                    (_, several) => Err(which_loop(several)),
                }
            }
        }
    }

    fn check_author(&self, row: &LoopRow, author: &str) -> Result<(), Problem> {
        // Without an approved configuration there are no names to check against; the commit decides anyway.
        let Ok(config) = self.config_of(row) else { return Ok(()) };
        let cast = config.cast();
        if cast.find(author).is_some() {
            return Ok(());
        }
        let names: Vec<&str> = cast.names().map(loop_core::Name::as_str).collect();
        Err(Problem::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "unknown-author",
            "nobody of this name takes part",
        )
        .detail(plain(author).chars().take(80).collect::<String>())
        .hint(format!("the names of this loop: {}", names.join(", "))))
    }
}

/// More than one loop may be meant: which ones there are, and how to say which.
fn which_loop(loops: &[LoopRow]) -> Problem {
    let line = |row: &LoopRow| {
        let mark = if row.up { "up" } else { "down" };
        let folder = row.worktree.display().to_string();
        format!("{} in {} ({mark})", plain(&row.slug), plain(&folder))
    };
    let title = format!("{} loops are known here; say which one is meant", loops.len());
    Problem::new(StatusCode::CONFLICT, "which-loop", title)
        .detail(loops.iter().map(line).collect::<Vec<_>>().join("; "))
        .hint("add \"repo\": the path of the repository; or take the others down (`loop down` in each)")
}
