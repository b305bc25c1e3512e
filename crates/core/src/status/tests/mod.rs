//! The rules of sections and verdicts, as tables of cases.

#![allow(clippy::unwrap_used)]

mod corpus;
mod diagnostics;
mod files;
mod laws;
mod sections;
mod speed;
mod verdicts;

use super::{Status, Verdict, parse};
use crate::cast::Cast;
use crate::name::Name;

fn cast() -> Cast {
    let name = |text| Name::new(text).unwrap();
    Cast {
        agents: vec![name("CC"), name("Codex"), name("OpenCode")],
        planner: Some(name("Hermes")),
        people: vec![name("Dana")],
    }
}

fn read(text: &str) -> Status {
    parse(text.as_bytes(), &cast()).unwrap()
}

/// The verdict in one word: `pass`, `pass 3f9c2ab`, `blocked`, `blocked: why` or `-`.
fn shown(verdict: Option<&Verdict>) -> String {
    match verdict {
        None => "-".to_owned(),
        Some(Verdict::Pass { commit: None }) => "pass".to_owned(),
        Some(Verdict::Pass { commit: Some(commit) }) => format!("pass {commit}"),
        Some(Verdict::Blocked { reason: None }) => "blocked".to_owned(),
        Some(Verdict::Blocked { reason: Some(reason) }) => format!("blocked: {reason}"),
    }
}
