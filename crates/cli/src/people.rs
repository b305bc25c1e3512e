//! Steering is for people: refused inside an agent's session that loop started, the planner's aside.
//!
//! Told by process ancestry, not by the environment, which agents with a shared background server hand to each
//! other. Best effort: where `/proc` is not there, or an agent runs its tools in a server of its own, nothing is seen.

use std::collections::HashSet;

use loop_core::{Config, Name};
use loop_store::{LoopRow, SessionRow};

use crate::client::Client;
use crate::failure::Failure;

/// Refuses when this process descends from an agent of the loop that is not its planner.
pub(crate) async fn only_people(client: &Client, row: &LoopRow, what: &str) -> Result<(), Failure> {
    let sessions = client.store.sessions(None).await?;
    let Some(agent) = inside(&sessions, &ancestors()) else { return Ok(()) };
    let planner = row
        .approved_text
        .as_deref()
        .and_then(|text| Config::parse(text, "loop.yaml", &client.kinds).ok())
        .and_then(|config| config.planner);
    if planner.is_some_and(|planner| planner == *agent) {
        return Ok(());
    }
    Err(Failure::say(format!("`loop {what}` is for people; this is {agent}'s session")).next(format!(
        "an agent ends its turn with `loop commit {agent} -m …`; a person steers from another window"
    )))
}

fn inside<'sessions>(sessions: &'sessions [SessionRow], ancestors: &HashSet<i64>) -> Option<&'sessions Name> {
    sessions
        .iter()
        .filter(|session| session.started_by_loop)
        .find(|session| pids(session).any(|pid| ancestors.contains(&pid)))
        .map(|session| &session.agent)
}

/// The session's own process, and the one in its address (the process of an `exec` turn).
fn pids(session: &SessionRow) -> impl Iterator<Item = i64> {
    let address: serde_json::Value = serde_json::from_str(&session.address).unwrap_or_default();
    let in_address = address.get("pid").and_then(serde_json::Value::as_i64);
    session.pid.into_iter().chain(in_address).filter(|pid| *pid > 1)
}

/// This process and all above it.
fn ancestors() -> HashSet<i64> {
    let mut found = HashSet::new();
    let mut pid = i64::from(std::process::id());
    while pid > 1 && found.insert(pid) {
        let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { break };
        // `pid (name) state ppid …`; the name may hold anything, also parentheses.
        let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse().ok());
        pid = parent.unwrap_or(0);
    }
    found
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn session(pid: Option<i64>, address: &str, started_by_loop: bool) -> SessionRow {
        SessionRow {
            loop_id: "l".into(),
            agent: Name::new("CC").unwrap(),
            transport: "tmux".into(),
            address: address.into(),
            conversation: None,
            pid,
            started_by_loop,
            registered_at: jiff::Timestamp::UNIX_EPOCH,
        }
    }

    #[test]
    fn ancestry_tells_an_agents_session() {
        let ancestors = ancestors();
        let me = i64::from(std::process::id());
        assert!(ancestors.contains(&me) && ancestors.len() > 1);
        assert!(inside(&[session(Some(me), "null", true)], &ancestors).is_some());
        assert!(inside(&[session(None, &format!("{{\"pid\":{me}}}"), true)], &ancestors).is_some());
        assert!(inside(&[session(Some(me), "null", false)], &ancestors).is_none());
        assert!(inside(&[session(None, "null", true)], &ancestors).is_none());
    }
}
