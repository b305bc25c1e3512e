//! The agents' skill, written where each agent's CLI looks for it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use loop_core::config::Agent;
use loop_core::{Config, Profile};
use loop_git::{Blob, CommitId, GitEnv, Repo};

use crate::failure::Failure;
use crate::scribe::Scribe;

/// The skill's text.
pub(crate) const SKILL: &str = include_str!("../../../skills/agent-loop/SKILL.md");

/// Where the steps begin in the skill's text, after the look that `loop turn` is, and where they end.
const STEPS: (&str, &str) = ("\n## 2. Work\n", "\n## By hand\n");

/// The skill's steps of a turn, in the words of the skill, for the agent `name`.
pub(crate) fn steps(name: &str) -> String {
    let begin = SKILL.find(STEPS.0).unwrap_or(0);
    let end = SKILL.find(STEPS.1).unwrap_or(SKILL.len());
    SKILL[begin..end].replace("NAME", name)
}

/// Whether an agent is called in plain words instead of by its skill, and so must be told the steps. `transport` is
/// how it is reached; where that is not known, either way of its kind counts.
pub(crate) fn is_called_in_words(agent: &Agent, transport: Option<&str>) -> bool {
    let calls = |text: &str| text.contains("agent-loop");
    let profile = &agent.profile;
    let typed = !calls(&profile.invoke);
    let run = |command: &[String]| match command.iter().any(|argument| argument.contains("{text}")) {
        true => typed,
        false => !command.iter().any(|argument| calls(argument)),
    };
    let headless = agent.command.as_ref().unwrap_or(&profile.headless);
    match transport {
        Some("exec") => run(headless),
        // What a command prints calls no skill.
        Some("wait") => true,
        Some(_) => typed,
        None => typed || agent.command.is_none() && !headless.is_empty() && run(headless),
    }
}

/// Where the skill is written: the first folder of each agent's CLI, each once.
pub(crate) fn folders(config: &Config) -> Vec<String> {
    let mut folders: Vec<String> = Vec::new();
    for folder in config.agents.iter().filter_map(|agent| agent.profile.skills.first()) {
        if !folders.contains(folder) {
            folders.push(folder.clone());
        }
    }
    folders
}

/// The skill's file in one of a CLI's folders, relative to the repository.
pub(crate) fn file(folder: &str) -> PathBuf {
    Path::new(folder).join("agent-loop").join("SKILL.md")
}

/// How the skill stands for one kind of CLI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Skill {
    /// This CLI looks for none.
    NotNeeded,
    /// It is there, and it is this one.
    Current(PathBuf),
    /// It is there with other words.
    Differs(PathBuf),
    /// It is nowhere where the CLI looks; where it would be written.
    Missing(PathBuf),
}

impl Skill {
    /// What is wrong with it, if anything is.
    pub(crate) fn fault(&self) -> Option<String> {
        match self {
            Self::NotNeeded | Self::Current(_) => None,
            Self::Differs(file) => Some(format!("{} is not the one of this `loop`", file.display())),
            Self::Missing(file) => Some(format!("{} is missing", file.display())),
        }
    }
}

/// What mends it.
pub(crate) fn again(agent: &Agent) -> String {
    format!("`loop agents add {}` writes it anew", agent.name)
}

/// Looks for the skill in every folder in which a CLI looks.
pub(crate) fn look(root: &Path, profile: &Profile) -> Skill {
    let Some(first) = profile.skills.first() else { return Skill::NotNeeded };
    let there: Vec<_> = profile
        .skills
        .iter()
        .filter_map(|folder| Some((file(folder), std::fs::read(root.join(file(folder))).ok()?)))
        .collect();
    // One that differs counts before one that does not: which of two a CLI takes is its own affair.
    if let Some((file, _)) = there.iter().find(|(_, bytes)| bytes != SKILL.as_bytes()) {
        return Skill::Differs(file.clone());
    }
    match there.into_iter().next() {
        Some((file, _)) => Skill::Current(file),
        None => Skill::Missing(file(first)),
    }
}

/// A skill's file that git tracks, with other words than ours: it is the project's own.
pub(crate) struct Tracked {
    /// The CLI's folder.
    pub(crate) folder: String,
    file: PathBuf,
}

impl Tracked {
    /// Says that it stays, and how to get ours.
    pub(crate) fn note(&self, config: &Config) -> String {
        let reads = |agent: &&Agent| agent.profile.skills.first() == Some(&self.folder);
        let agent = config.agents.iter().find(reads).map_or("NAME", |agent| agent.name.as_str());
        let file = self.file.display();
        format!(
            "{file} is tracked by git and is not this loop's skill; it was left as it is. `loop agents add {agent}` puts loop's own in its place, and `git diff` shows what differs"
        )
    }
}

/// Finds the folders in which git tracks a skill of this name with other words, in the working tree or, for a
/// worktree to be made, at the commit `at`.
pub(crate) fn tracked_with_other_words(
    repo: &Repo,
    env: &GitEnv,
    folders: &[String],
    at: Option<&CommitId>,
) -> Result<Vec<Tracked>, Failure> {
    let mut found = Vec::new();
    for folder in folders {
        let file = file(folder);
        let path = file.to_string_lossy();
        let blob = match at {
            Some(commit) => repo.blob(commit, &path)?,
            None if is_tracked(repo, env, &path)? => repo.worktree_file(&path)?,
            None => Blob::Missing,
        };
        let is_ours = blob.content().is_some_and(|content| content == SKILL.as_bytes());
        if !is_ours && !matches!(blob, Blob::Missing) {
            found.push(Tracked { folder: folder.clone(), file });
        }
    }
    Ok(found)
}

fn is_tracked(repo: &Repo, env: &GitEnv, path: &str) -> Result<bool, Failure> {
    let arguments = ["--literal-pathspecs", "ls-files", "--", path];
    let listed = repo.git(env).succeed("list the tracked files", &arguments, Duration::from_secs(60))?;
    Ok(!listed.line().trim().is_empty())
}

/// Writes the skill into these folders; returns the files that belong into a commit (`share`), and otherwise leaves
/// them untracked and excluded.
pub(crate) async fn write(
    scribe: &mut Scribe<'_>,
    repo: &Repo,
    folders: &[String],
    share: bool,
) -> Result<Vec<PathBuf>, Failure> {
    let mut own = Vec::new();
    let mut hidden = Vec::new();
    for folder in folders {
        let relative = file(folder);
        scribe.file(&repo.place().worktree.join(&relative), SKILL.as_bytes()).await?;
        if share {
            own.push(relative);
        } else {
            hidden.push(format!("/{folder}/agent-loop/"));
        }
    }
    scribe.exclude(repo, &hidden).await?;
    Ok(own)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use loop_core::profile::builtin;

    #[test]
    fn each_folder_is_named_once() {
        let text = "agents: {CC: , Codex: , Gemini: , Human: }\nrotation: [CC, Codex]\n";
        let config = Config::parse(text, "loop.yaml", &std::collections::BTreeMap::new()).unwrap();
        assert_eq!(folders(&config), [".claude/skills", ".agents/skills"]);
    }

    #[test]
    fn the_steps_are_the_skill_s_own() {
        let steps = steps("Hermes");
        for words in ["## 2. Work", "loop commit Hermes -m", "## 4. Stop", "## Rules"] {
            assert!(steps.contains(words), "{words}: {steps}");
        }
        for words in ["NAME", "By hand", "description:", "## 1. Look"] {
            assert!(!steps.contains(words), "{words}: {steps}");
        }
    }

    #[test]
    fn those_called_in_words_are_told_the_steps() {
        let text = "agents:\n  CC:\n  Gemini:\n  Hermes:\n  Human:\n  OpenCode:\n  \
                    Own: {kind: claude-code, invoke: 'your turn, {name}'}\n  \
                    Lint: {kind: generic, command: [lint, '{name}']}\nrotation: [CC, Gemini]\n";
        let config = Config::parse(text, "loop.yaml", &std::collections::BTreeMap::new()).unwrap();
        let told = |transport: Option<&str>| -> Vec<String> {
            let agents = config.agents.iter().filter(|agent| is_called_in_words(agent, transport));
            agents.map(|agent| agent.name.to_string()).collect()
        };
        assert_eq!(told(Some("tmux")), ["Hermes", "Human", "Own", "Lint"]);
        assert_eq!(told(Some("exec")), ["Gemini", "Hermes", "Human", "Own", "Lint"]);
        assert_eq!(told(None), ["Gemini", "Hermes", "Human", "Own", "Lint"]);
        assert_eq!(told(Some("wait")).len(), 7);
    }

    #[test]
    fn a_skill_of_other_words_is_told_from_ours() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let codex = builtin("codex").unwrap();
        let (first, second) = (file(&codex.skills[0]), file(&codex.skills[1]));
        assert_eq!(look(root, &builtin("human").unwrap()), Skill::NotNeeded);
        assert_eq!(look(root, &codex), Skill::Missing(first.clone()));
        for (path, text, expected) in [
            (&second, SKILL, Skill::Current(second.clone())),
            (&first, SKILL, Skill::Current(first.clone())),
            (&second, "other", Skill::Differs(second.clone())),
        ] {
            std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            std::fs::write(root.join(path), text).unwrap();
            assert_eq!(look(root, &codex), expected);
        }
    }
}
