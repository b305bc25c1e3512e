//! What is said of an opening: before it, and after.

use std::path::PathBuf;

use loop_core::Name;
use loop_core::plain::plain;
use loop_router::reading::CONFIG_FILE;
use loop_store::LoopRow;
use serde_json::json;

use super::task::pass_words;
use super::{Plan, quoted};
use crate::skills;
use crate::turn_hooks::File;

impl Plan {
    /// What would be done, for programs.
    pub(crate) fn json(&self) -> serde_json::Value {
        json!({
            "status": "dry-run", "title": self.title, "branch": self.branch, "worktree": self.worktree,
            "writes": self.writes(), "take": self.take, "notes": self.notes,
        })
    }

    fn writes(&self) -> Vec<String> {
        let mut writes = vec![self.config.status_file.clone()];
        if self.writes_config {
            writes.push(CONFIG_FILE.to_owned());
        }
        writes.extend(self.skills.iter().map(|folder| skills::file(folder).display().to_string()));
        writes.extend(self.new_turn_hooks().map(|file| file.shown(&self.root)));
        writes
    }

    /// What would be done, for a person.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("loop: {}\nthis would be done, and nothing was:\n", self.title);
        if !self.take.is_empty() {
            let files = if self.take.len() == 1 { "file" } else { "files" };
            text.push_str(&format!("  commit your {} changed {files}\n", self.take.len()));
        }
        if let Some(worktree) = &self.worktree {
            text.push_str(&format!("  make the worktree {}\n", worktree.display()));
        }
        if let Some(branch) = &self.branch {
            text.push_str(&format!("  make the branch {branch}\n"));
        }
        for file in self.writes() {
            text.push_str(&format!("  write {file}\n"));
        }
        if !self.has_hook {
            text.push_str("  install the post-commit notifier\n");
        }
        text.push_str(&format!("  commit {}\n", self.config.status_file));
        if let Some(setup) = self.config.setup.as_ref().filter(|_| self.worktree.is_some() && self.approved) {
            text.push_str(&format!("  run setup: {}\n", shell_words::join(setup)));
        }
        text.push_str(&self.cast());
        let of_hooks = self.turn_hooks.iter().flat_map(|wanted| &wanted.notes);
        for note in self.notes.iter().chain(of_hooks) {
            text.push_str(&format!("note: {note}\n"));
        }
        text
    }

    /// The files with turn hooks that are to be written.
    fn new_turn_hooks(&self) -> impl Iterator<Item = &File> {
        self.turn_hooks.iter().flat_map(|wanted| &wanted.files).filter(|file| file.is_new())
    }

    fn cast(&self) -> String {
        let order: Vec<&str> = self.config.rotation.members().map(Name::as_str).collect();
        format!("  agents    {}\n  pass      {}\n", order.join(" -> "), pass_words(&self.config.pass))
    }
}

/// A loop that was opened.
pub(crate) struct Opened {
    pub(crate) row: LoopRow,
    pub(crate) commit: String,
    /// What the commit holds, relative to the repository.
    pub(super) files: Vec<PathBuf>,
    /// What became of the notifier, where it is in place.
    pub(super) hook: Option<&'static str>,
    pub(crate) notes: Vec<String>,
}

impl Opened {
    /// What was done, and what comes next.
    pub(crate) fn text(&self, plan: &Plan) -> String {
        let mut text = format!("loop: {}\n", plan.title);
        text.push_str(&format!("  branch    {}\n", self.row.branch));
        if plan.worktree.is_some() {
            text.push_str(&format!("  worktree  {}\n", self.row.worktree.display()));
        }
        let files: Vec<String> = self.files.iter().map(|file| file.display().to_string()).collect();
        text.push_str(&format!(
            "  commit    {} ({})\n",
            &self.commit[..7.min(self.commit.len())],
            plain(&files.join(", "))
        ));
        if let Some(hook) = self.hook {
            text.push_str(&format!("  hook      post-commit, {hook}\n"));
        }
        if let Some(wanted) = &plan.turn_hooks {
            let agents: Vec<&str> =
                wanted.files.iter().flat_map(|file| &file.agents).map(String::as_str).collect();
            let agents = if agents.is_empty() { "nobody's".to_owned() } else { agents.join(", ") };
            text.push_str(&format!(
                "  hooks     of the turns of {agents}; `loop doctor` says whose have been heard\n"
            ));
        }
        text.push_str(&plan.cast());
        for note in &self.notes {
            text.push_str(&format!("note: {note}\n"));
        }
        let verify =
            if plan.config.verify.is_none() { ", and `verify:` in loop.yaml if tests must pass" } else { "" };
        text.push_str(&format!("Nobody was woken. Next: look at STATUS.md{verify}; then `loop up`.\n"));
        if plan.worktree.is_some() {
            text.push_str(&format!("The loop lives in its worktree: cd {}\n", quoted(&self.row.worktree)));
        }
        text
    }
}
