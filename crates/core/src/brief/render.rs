//! The text of a turn for an agent.

use std::fmt::Write;

use crate::brief::{Brief, Changes, Cut, LISTED, Section};
use crate::name::Name;
use crate::plain::{line, plain};

/// As many characters of a summary, a subject or a path are shown.
const WIDE: usize = 160;

impl Brief {
    /// The text that `loop turn` prints: plain, for an agent or a person, without control characters.
    pub fn render(&self) -> String {
        let mut out = String::new();
        self.heading(&mut out);
        if self.your_turn {
            self.unfinished(&mut out);
            self.about_your_last(&mut out);
            block(&mut out, "TASK", &self.task, &format!("the beginning of {}", self.status_file));
            self.sections(&mut out);
            self.commits(&mut out);
            if let Some(changes) = &self.changes {
                self.changes(&mut out, changes);
            }
            self.steps(&mut out);
        }
        out
    }

    fn heading(&self, out: &mut String) {
        let (agent, turn) = (&self.agent, self.turn);
        let reason = line(&self.reason, 600);
        if self.your_turn {
            let of = self.round.of.map_or(String::new(), |of| format!(" of {of}"));
            let _ = writeln!(out, "{agent}: turn {turn} is yours, round {}{of} ({reason}).", self.round.n);
            return;
        }
        let _ = match (self.state, &self.whose) {
            ("passed", _) => writeln!(out, "The loop is over: {reason}."),
            ("running", Some(whose)) => {
                writeln!(out, "It is not your turn, {agent}: turn {turn} is for {whose} ({reason}).")
            }
            (state, _) => writeln!(out, "The loop is {state}: {reason}."),
        };
        if let Some(next) = &self.next {
            let _ = writeln!(out, "For a person: {}.", line(next, 600));
        }
        let _ =
            writeln!(out, "There is nothing for you to do: stop here. You are called when it is your turn.");
    }

    fn unfinished(&self, out: &mut String) {
        let left = &self.unfinished;
        if left.files.is_empty() && left.refused.is_none() {
            return;
        }
        title(out, "MISSING: your last turn ended without a section");
        if let Some(words) = &left.refused {
            let _ = writeln!(out, "  git refused the commit:");
            indented(out, words, "    ");
        }
        if !left.files.is_empty() {
            let _ = writeln!(out, "  changed and not committed:");
            listed(out, left.files.iter().map(|file| line(file, WIDE)));
        }
        let _ = writeln!(out, "  Finish it, then commit as below.");
    }

    fn about_your_last(&self, out: &mut String) {
        if self.about_your_last.is_empty() {
            return;
        }
        title(out, "ABOUT YOUR LAST SECTION");
        for diagnostic in &self.about_your_last {
            let _ = writeln!(out, "  line {}: {}", diagnostic.line, line(&diagnostic.message, 300));
            let _ = writeln!(out, "    {}", line(&diagnostic.hint, 300));
        }
    }

    fn sections(&self, out: &mut String) {
        if self.sections.is_empty() {
            return;
        }
        match self.older {
            0 => title(out, "SECTIONS"),
            older => title(out, &format!("SECTIONS ({older} older ones are in {})", self.status_file)),
        }
        for section in &self.sections {
            let _ = writeln!(out, "  turn {}, {}", section.n, headline(section));
            indented(out, &section.body.text, "      ");
            left_out(out, &section.body, "      ", &format!("{}, line {}", self.status_file, section.line));
        }
    }

    fn commits(&self, out: &mut String) {
        if self.commits.is_empty() {
            return;
        }
        title(out, "COMMITS since your last turn");
        let shown = |commit: &super::Commit| {
            format!("{} {} ({})", short(&commit.id), line(&commit.subject, WIDE), line(&commit.by, 64))
        };
        listed(out, self.commits.iter().map(shown));
    }

    fn changes(&self, out: &mut String, changes: &Changes) {
        let (from, to) = (short(&changes.from), short(&changes.to));
        if changes.files.is_empty() {
            title(out, &format!("CHANGES since {from}: no file but {}", self.status_file));
            return;
        }
        title(out, &format!("CHANGES {from}..{to}"));
        let shown = |file: &super::File| {
            let path = line(&file.path, WIDE);
            if file.binary {
                format!("{path} (binary)")
            } else {
                format!("{path} +{} -{}", file.added, file.removed)
            }
        };
        listed(out, changes.files.iter().map(shown));
        if !changes.diff.text.is_empty() {
            let _ = writeln!(out);
            indented(out, &changes.diff.text, "");
        }
        let command = format!("git diff {from} {to} -- . ':!{}'", self.status_file);
        left_out(out, &changes.diff, "", &format!("`{command}`"));
    }

    fn steps(&self, out: &mut String) {
        let name = &self.agent;
        title(out, "WHAT TO DO");
        if self.reviewer {
            let _ = writeln!(
                out,
                "  Review: you are set up as a reviewer and change no file but {}.",
                self.status_file
            );
        }
        let _ = writeln!(out, "  `--pass` when nothing that blocks is left; {}.", self.pass);
        match &self.steps {
            Some(steps) => {
                let _ = writeln!(out);
                indented(out, steps.trim(), "  ");
            }
            None => {
                let _ = writeln!(
                    out,
                    "  Work or review as the agent-loop skill says (`loop help skill`), end with \
                     `loop commit {name} -m \"what I did\"`, and stop.",
                );
            }
        }
    }
}

fn headline(section: &Section) -> String {
    let to = section.to.as_ref().map(|to: &Name| format!(" -> {to}")).unwrap_or_default();
    let verdict = section.verdict.map(|verdict| format!(" [{verdict}]")).unwrap_or_default();
    let commit = section.commit.as_ref().map(|id| format!(" [{}]", short(id))).unwrap_or_default();
    format!("{}{to}: {}{verdict}{commit}", section.agent, line(&section.summary, WIDE))
}

fn title(out: &mut String, text: &str) {
    let _ = write!(out, "\n{text}\n");
}

fn block(out: &mut String, name: &str, text: &Cut, place: &str) {
    if !text.text.trim().is_empty() {
        title(out, name);
        indented(out, &text.text, "  ");
        left_out(out, text, "  ", place);
    }
}

/// Other people's lines are set in, so that none of them can pass for one of ours.
fn indented(out: &mut String, text: &str, by: &str) {
    for line in plain(text).lines() {
        let line = line.trim_end();
        let _ = if line.is_empty() { writeln!(out) } else { writeln!(out, "{by}{line}") };
    }
}

fn listed(out: &mut String, lines: impl ExactSizeIterator<Item = String>) {
    let more = lines.len().saturating_sub(LISTED);
    for line in lines.take(LISTED) {
        let _ = writeln!(out, "    {line}");
    }
    if more > 0 {
        let _ = writeln!(out, "    and {more} more");
    }
}

fn left_out(out: &mut String, text: &Cut, by: &str, place: &str) {
    if text.left_out > 0 {
        let _ = writeln!(out, "{by}(cut: {} more lines, see {place})", text.left_out);
    }
}

fn short(id: &str) -> &str {
    id.get(..7).unwrap_or(id)
}
