//! What later commits did to earlier sections, in words.

use crate::config::Config;
use crate::decide::commits::short;
use crate::decide::policy::listed;
use crate::decide::{Facts, Hold};
use crate::diagnostic::{Code, Diagnostic};
use crate::history::{Damage, Recorded};
use crate::plain;
use crate::status::Status;

/// More lost sections than this are told as one.
const NAMED: usize = 3;

/// A hold for damage: which rule, what happened, and how to mend it.
pub(super) type Holding = (Hold, String, String);

/// What of the damage holds the loop, and every piece as a diagnostic.
pub(super) fn judge(status: &Status, config: &Config, facts: &Facts) -> (Option<Holding>, Vec<Diagnostic>) {
    let by = facts.damaged_at.as_deref().map_or(String::new(), |id| format!(" in {}", short(id)));
    let file = &*config.status_file;
    let vanished: Vec<&Recorded> = facts
        .damage
        .iter()
        .filter_map(|damage| match damage {
            Damage::Vanished(was) => Some(was),
            _ => None,
        })
        .collect();
    let mut diagnostics = Vec::new();
    let mut holding: Option<Holding> = None;
    let mut hold = |why: Hold, line: usize, code: Code, message: String, hint: String| {
        holding.get_or_insert_with(|| (why, message.clone(), hint.clone()));
        diagnostics.push(Diagnostic { line, code, message, hint });
    };
    if let Some((message, hint)) = lost(&vanished, &by, file) {
        hold(Hold::Damaged, 0, Code::Rewritten, message, hint);
    }
    for damage in &facts.damage {
        match damage {
            Damage::Vanished(_) | Damage::Edited { .. } => {}
            Damage::Reattributed { was, now, line } => hold(
                Hold::Damaged,
                *line,
                Code::Rewritten,
                format!("turn {} was by {} and is by {now} now{by}", was.n, was.author),
                mend(
                    was.commit.as_deref(),
                    file,
                    &format!("give it back its heading `## {}: …`", was.author),
                ),
            ),
            Damage::Inserted { n, author, line } => hold(
                Hold::Damaged,
                *line,
                Code::Rewritten,
                format!("a new section by {author} stands before older ones, as turn {n}{by}"),
                format!(
                    "move the section in line {line} to the end of {file} and commit; the loop then goes on by itself"
                ),
            ),
            Damage::TwoNames { commit, authors, line } => {
                if answered(status, facts, *line) {
                    continue;
                }
                let commit =
                    commit.as_deref().map_or_else(|| "one commit".to_owned(), |id| short(id).to_owned());
                hold(
                    Hold::TwoNames,
                    *line,
                    Code::TwoNames,
                    format!("{commit} brought new sections of {}", listed(authors)),
                    "each agent commits its own section: take the other one out again and commit, or take both as they are with `loop resume`"
                        .to_owned(),
                );
            }
        }
    }
    for damage in &facts.damage {
        if let Damage::Edited { was, line } = damage {
            diagnostics.push(Diagnostic {
                line: *line,
                code: Code::OldBodyChanged,
                message: format!(
                    "turn {} by {} was changed after it had been answered{by}",
                    was.n, was.author
                ),
                hint: "what is new belongs into a section of its own; nothing is held for this".to_owned(),
            });
        }
    }
    (holding, diagnostics)
}

/// Whether a person resumed with the section in `line` before their eyes.
fn answered(status: &Status, facts: &Facts, line: usize) -> bool {
    let n = status.turns.iter().take_while(|turn| turn.line <= line).count();
    facts.resumed.as_ref().is_some_and(|resume| n > 0 && resume.after_turn >= n)
}

fn lost(vanished: &[&Recorded], by: &str, file: &str) -> Option<(String, String)> {
    let (first, last) = (vanished.first()?, vanished.last()?);
    let message = if let [only] = vanished {
        format!(
            "turn {} by {} ({}) is gone from its place in {file}{by}",
            only.n,
            only.author,
            plain::line(&only.summary, 80)
        )
    } else if vanished.len() <= NAMED {
        let each: Vec<String> = vanished.iter().map(|was| format!("{} by {}", was.n, was.author)).collect();
        format!("turns {} are gone from {file}{by}", listed(&each))
    } else {
        format!("{} turns ({} to {}) are gone from {file}{by}", vanished.len(), first.n, last.n)
    };
    let newest = vanished.iter().rev().find_map(|was| was.commit.as_deref());
    let what = if vanished.len() == 1 { "put the section back" } else { "put the sections back" };
    Some((message, mend(newest, file, what)))
}

fn mend(commit: Option<&str>, file: &str, what: &str) -> String {
    let from = commit.map_or(String::new(), |id| format!(" (see `git show {}:{file}`)", short(id)));
    format!("{what}{from} and commit; the loop then goes on by itself")
}
