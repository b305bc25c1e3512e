//! How an agent's window is started: in a new conversation, or in the one that it had.

use loop_core::config::{Agent, Fill};
use loop_core::records::is_conversation;
use uuid::Uuid;

/// Program and arguments of a window, and the conversation that they lead to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Start {
    /// Program and arguments; empty: nothing says what to start.
    pub(crate) argv: Vec<String>,
    /// The conversation's id, where it is known before the first turn.
    pub(crate) conversation: Option<String>,
    /// Whether it reopens a conversation that was there.
    pub(crate) resumes: bool,
}

/// What is filled into the arguments beside the agent's own words.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ground<'a> {
    /// The working tree.
    pub(crate) repo: &'a str,
    /// The common git directory.
    pub(crate) git_dir: &'a str,
    /// The loop's verify command in one line.
    pub(crate) verify: Option<&'a str>,
}

impl<'a> Ground<'a> {
    /// All that is filled in for `agent`, in the conversation `session`.
    pub(crate) fn fill(self, agent: &'a Agent, session: &'a str) -> Fill<'a> {
        Fill {
            name: agent.name.as_str(),
            text: "",
            repo: self.repo,
            session,
            git_dir: Some(self.git_dir),
            verify: self.verify,
        }
    }
}

impl Start {
    /// How to start `agent`. `known` is the conversation to go on in.
    pub(crate) fn new(agent: &Agent, ground: Ground<'_>, known: Option<&str>) -> Self {
        let profile = &agent.profile;
        let known = known.filter(|id| is_conversation(id));
        let fill = |template: &[String], session| ground.fill(agent, session).command(template);
        let with_flags = |template: &[String]| [template, profile.flags(agent.permissions)].concat();
        if let Some(command) = &agent.command {
            // What the command makes of the id is its own business, so the one that is known stays.
            let argv = fill(command, known.unwrap_or_default());
            return Self { argv, conversation: known.map(str::to_owned), resumes: false };
        }
        if let Some(known) = known.filter(|_| !profile.resume.is_empty()) {
            let argv = fill(&with_flags(&profile.resume), known);
            return Self { argv, conversation: Some(known.to_owned()), resumes: true };
        }
        if !profile.start_as.is_empty() {
            let id = Uuid::new_v4().to_string();
            let argv = fill(&with_flags(&profile.start_as), &id);
            return Self { argv, conversation: Some(id), resumes: false };
        }
        let argv = match profile.start.is_empty() {
            true => Vec::new(),
            false => fill(&with_flags(&profile.start), ""),
        };
        Self { argv, conversation: None, resumes: false }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::collections::BTreeMap;

    use loop_core::Config;

    use super::*;

    const GROUND: Ground<'static> = Ground { repo: "/r", git_dir: "/r/.git", verify: None };

    fn agent(fields: &str) -> Agent {
        let text = format!("agents: {{CC: {{kind: generic, {fields}}}}}\nrotation: [CC]\n");
        Config::parse(&text, "loop.yaml", &BTreeMap::new()).unwrap().agents[0].clone()
    }

    #[test]
    fn a_conversation_is_begun_under_an_id_of_ours_and_reopened() {
        let agent = agent(
            "start: [cli], start_as: [cli, --id, '{session}'], resume: [cli, --go-on, '{session}'], \
             permissions: {edits: [--edits]}",
        );
        let new = Start::new(&agent, GROUND, None);
        let id = new.conversation.clone().unwrap();
        assert_eq!(new.argv, ["cli", "--id", &id, "--edits"]);
        assert!(!new.resumes && Uuid::parse_str(&id).is_ok());
        assert_ne!(Start::new(&agent, GROUND, None).conversation, new.conversation);
        let again = Start::new(&agent, GROUND, Some("c1"));
        assert_eq!(again.argv, ["cli", "--go-on", "c1", "--edits"]);
        assert!(again.resumes && again.conversation.as_deref() == Some("c1"));
        // An agent can tell of any id; as an option it would open its own sandbox.
        let forged = Start::new(&agent, GROUND, Some("--no-sandbox"));
        assert!(!forged.resumes && !forged.argv.contains(&"--no-sandbox".to_owned()), "{forged:?}");
    }

    #[test]
    fn a_cli_that_cannot_starts_afresh() {
        let plain = agent("start: [cli]");
        let start = Start::new(&plain, GROUND, Some("c1"));
        assert_eq!(start, Start { argv: vec!["cli".to_owned()], conversation: None, resumes: false });
        assert!(Start::new(&agent("settle_ms: 1"), GROUND, None).argv.is_empty());
        let own = agent("command: [mine, '{name}', '{repo}', '{session}']");
        assert_eq!(Start::new(&own, GROUND, Some("c1")).argv, ["mine", "CC", "/r", "c1"]);
    }
}
