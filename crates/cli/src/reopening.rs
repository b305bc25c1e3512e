//! The command with which a person opens an agent's conversation by hand.

use std::path::{Path, PathBuf};

use loop_core::config::{Agent, filled};
use loop_core::records::is_conversation;
use serde::Serialize;

/// How a conversation is opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Reopen {
    /// The folder in which it runs; most CLIs look only among the conversations of their folder.
    pub(crate) folder: PathBuf,
    /// Program and arguments.
    pub(crate) command: Vec<String>,
    /// Variables that say where its CLI keeps its conversations.
    pub(crate) env: Vec<(String, String)>,
}

impl Reopen {
    /// How the conversation `id` of `agent` is opened; `None`: its kind cannot. Headless ones can be opened too.
    pub(crate) fn new(agent: &Agent, folder: &Path, id: &str) -> Option<Self> {
        if agent.profile.resume.is_empty() || !is_conversation(id) {
            return None;
        }
        let repo = folder.to_string_lossy();
        let command = filled(&agent.profile.resume, agent.name.as_str(), "", &repo, id);
        let places = agent.profile.records.iter().flat_map(|records| &records.at);
        let places: Vec<&String> = places.collect();
        let says_where = |name: &String| places.iter().any(|place| place.starts_with(&format!("${name}")));
        let env = agent.profile.env.iter().chain(&agent.env).filter(|(name, _)| says_where(name));
        let env = env.map(|(name, value)| (name.clone(), value.clone())).collect();
        Some(Self { folder: folder.to_owned(), command, env })
    }

    /// One line for a shell.
    pub(crate) fn line(&self) -> String {
        let folder = self.folder.to_string_lossy();
        let mut line = format!("cd {} && ", shell_words::quote(&folder));
        for (name, value) in &self.env {
            line.push_str(&format!("{name}={} ", shell_words::quote(value)));
        }
        line + &shell_words::join(&self.command)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use loop_core::Config;

    use super::*;

    #[test]
    fn the_line_can_be_pasted() {
        let text = "agents:\n  CC: {env: {A: b}, resume: [claude, --resume, '{session}'], \
                    records: {format: claude, at: ['$A/projects', '~/.claude']}}\n  \
                    Lint: {kind: generic, command: x}\nrotation: [CC]\n";
        let config = Config::parse(text, "loop.yaml", &std::collections::BTreeMap::new()).unwrap();
        let folder = Path::new("/home/dana/my shop");
        let reopen = Reopen::new(&config.agents[0], folder, "0192 x").unwrap();
        assert_eq!(reopen.line(), "cd '/home/dana/my shop' && A=b claude --resume '0192 x'");
        assert_eq!(Reopen::new(&config.agents[1], folder, "1"), None);
        assert_eq!(Reopen::new(&config.agents[0], folder, "--no-sandbox"), None);
    }
}
