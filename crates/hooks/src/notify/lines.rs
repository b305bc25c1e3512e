//! What the one who committed reads in git's own output.

use loop_core::diagnostic::{Code, Diagnostic};
use loop_core::plain;
use loop_core::rendezvous::Answer;

use super::read::{Seen, What};
use super::ring::Rung;

/// More than this of each kind would bury the commit's own output.
const MAX_OF_A_KIND: usize = 3;
/// The longest line.
const MAX_CHARS: usize = 400;
/// What holds whenever nobody could be rung.
const BY_ITSELF: &str = "it sees the commit by itself, a few seconds later";

/// Says what became of a commit: first of its turn, then what the router adds, then what can be mended.
pub(super) fn compose(seen: &Seen, rung: &Rung) -> Vec<String> {
    let mut lines: Vec<String> = headline(seen, rung).into_iter().collect();
    if let Rung::Answered(answer) = rung {
        lines.extend(answer.lines.iter().take(MAX_OF_A_KIND).cloned());
    }
    let mut diagnostics: Vec<&Diagnostic> = seen.diagnostics.iter().collect();
    // A heading with a colon is often just a heading.
    diagnostics.sort_by_key(|diagnostic| (diagnostic.code == Code::UnknownAgent, diagnostic.line));
    let shown = diagnostics.iter().take(MAX_OF_A_KIND);
    lines.extend(shown.map(|diagnostic| {
        let Diagnostic { line, message, hint, .. } = diagnostic;
        let end = if hint.is_empty() { String::new() } else { format!("; {hint}") };
        format!("{}:{line}: {message}{end}", seen.status_file)
    }));
    if diagnostics.len() > MAX_OF_A_KIND {
        lines.push(format!("and {} more (loop check)", diagnostics.len() - MAX_OF_A_KIND));
    }
    if diagnostics.iter().any(|diagnostic| diagnostic.code != Code::UnknownAgent) {
        lines.push("mend it and `git commit --amend`, as long as the turn is not answered".to_owned());
    }
    lines.iter().map(|line| marked(line)).collect()
}

/// Says that the loop here cannot be read.
pub(super) fn failed(why: &str) -> String {
    marked(&format!("the router was not rung: {why}"))
}

/// Says that git took too long to be read.
pub(super) fn slow() -> String {
    marked("git could not be read in time; the router was rung, and reads it")
}

/// One line of ours: nothing in it can steer a terminal.
fn marked(line: &str) -> String {
    plain::line(&format!("loop: {}", line.strip_prefix("loop: ").unwrap_or(line)), MAX_CHARS)
}

fn headline(seen: &Seen, rung: &Rung) -> Option<String> {
    let answer = if let Rung::Answered(answer) = rung { Some(answer) } else { None };
    let state = answer.and_then(|answer| answer.state.as_deref());
    match &seen.what {
        What::Section { n, author } if seen.detached => Some(format!(
            "turn {n} by {author} is on no branch (HEAD is detached): it counts once the loop's branch has it"
        )),
        What::Section { n, author } => Some(turn(&format!("turn {n} by {author}"), rung)),
        What::LeftAlone | What::NoSection => {
            let nothing = if seen.what == What::LeftAlone {
                "no section added"
            } else {
                "STATUS.md changed, no section added"
            };
            match state {
                Some("idle") => None,
                Some("passed") => Some("the loop has passed; this commit is unreviewed".to_owned()),
                _ => Some(format!(
                    "{}, so no turn passes (`loop commit {} -m \"what I did\"` hands over)",
                    nothing.replace("STATUS.md", &seen.status_file),
                    who(seen, answer)
                )),
            }
        }
        What::Removed => Some(format!(
            "{} is gone: no loop runs here any more (`git revert` brings it back)",
            seen.status_file
        )),
        What::Unreadable(words) => Some(words.clone()),
        What::Idle => None,
    }
}

/// Whom the hint about `loop commit` is for.
fn who<'a>(seen: &'a Seen, answer: Option<&'a Answer>) -> &'a str {
    let due = answer.and_then(|answer| answer.target.as_deref());
    due.or(Some(seen.author.as_str()).filter(|author| !author.is_empty())).unwrap_or("NAME")
}

fn turn(turn: &str, rung: &Rung) -> String {
    let but = |what: &str| format!("{turn} is in the commit; {what}");
    match rung {
        Rung::Answered(answer) => {
            let reason = answer.reason.as_deref().filter(|reason| !reason.is_empty());
            match (answer.state.as_deref(), &answer.target, reason) {
                (Some("passed"), ..) => format!("{turn}: passed"),
                (Some(state @ ("held" | "blocked")), _, Some(reason)) => format!("{turn}: {state}: {reason}"),
                (Some(state @ ("held" | "blocked")), _, None) => format!("{turn}: {state} (loop status)"),
                (_, Some(target), _) => format!("{turn} -> {target}"),
                _ => format!("{turn} is recorded"),
            }
        }
        Rung::NoRouter => {
            but("the router is not running: the turn is handed over when it is back (`loop up`)")
        }
        Rung::Late => but(&format!("the router did not answer in time: {BY_ITSELF}")),
        Rung::Barred(why) => but(&format!("the router cannot be rung from here ({why}): {BY_ITSELF}")),
        Rung::NoKey { path, why } => but(&format!(
            "the router was not rung, its key {} cannot be read ({why}): {BY_ITSELF}",
            path.display()
        )),
        Rung::WrongKey { path } => {
            but(&format!("the router refused the key in {}: {BY_ITSELF}", path.display()))
        }
        Rung::Refused { code, words } if words.is_empty() => {
            but(&format!("the router refused the ring ({code})"))
        }
        Rung::Refused { words, .. } => but(&format!("the router says: {words}")),
        Rung::Stranger { addr } => {
            but(&format!("what answers at {addr} is no router of loop's: is it running? (`loop up`)"))
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::path::PathBuf;

    use loop_core::Name;

    use super::*;

    fn seen(what: What) -> Seen {
        Seen {
            worktree: PathBuf::from("/repo"),
            commit: "0".repeat(40),
            subject: String::new(),
            author: String::new(),
            detached: false,
            status_file: "STATUS.md".to_owned(),
            what,
            diagnostics: Vec::new(),
        }
    }

    fn section() -> Seen {
        seen(What::Section { n: 3, author: Name::new("CC").unwrap() })
    }

    fn answer(state: Option<&str>, target: Option<&str>, reason: Option<&str>) -> Rung {
        Rung::Answered(Answer {
            status: "ok".to_owned(),
            state: state.map(str::to_owned),
            target: target.map(str::to_owned),
            reason: reason.map(str::to_owned),
            ..Answer::default()
        })
    }

    #[test]
    fn one_line_for_a_turn() {
        let path = PathBuf::from("/s/key");
        let cases = [
            answer(None, Some("Codex"), None),
            answer(Some("running"), Some("Codex"), None),
            answer(Some("passed"), None, None),
            answer(Some("held"), None, Some("round limit (8)")),
            answer(Some("blocked"), None, None),
            answer(None, None, None),
            Rung::NoRouter,
            Rung::Late,
            Rung::Barred("operation not permitted".to_owned()),
            Rung::NoKey { path: path.clone(), why: "no such file".to_owned() },
            Rung::WrongKey { path },
            Rung::Refused { code: 500, words: String::new() },
            Rung::Refused { code: 404, words: "no loop in /repo\u{1b}[2J\nloop: passed".to_owned() },
            Rung::Stranger { addr: "127.0.0.1:5679".parse().unwrap() },
        ];
        let lines: Vec<String> = cases.iter().flat_map(|rung| compose(&section(), rung)).collect();
        insta::assert_snapshot!(lines.join("\n"), @r#"
        loop: turn 3 by CC -> Codex
        loop: turn 3 by CC -> Codex
        loop: turn 3 by CC: passed
        loop: turn 3 by CC: held: round limit (8)
        loop: turn 3 by CC: blocked (loop status)
        loop: turn 3 by CC is recorded
        loop: turn 3 by CC is in the commit; the router is not running: the turn is handed over when it is back (`loop up`)
        loop: turn 3 by CC is in the commit; the router did not answer in time: it sees the commit by itself, a few seconds later
        loop: turn 3 by CC is in the commit; the router cannot be rung from here (operation not permitted): it sees the commit by itself, a few seconds later
        loop: turn 3 by CC is in the commit; the router was not rung, its key /s/key cannot be read (no such file): it sees the commit by itself, a few seconds later
        loop: turn 3 by CC is in the commit; the router refused the key in /s/key: it sees the commit by itself, a few seconds later
        loop: turn 3 by CC is in the commit; the router refused the ring (500)
        loop: turn 3 by CC is in the commit; the router says: no loop in /repo\u{1b}[2J loop: passed
        loop: turn 3 by CC is in the commit; what answers at 127.0.0.1:5679 is no router of loop's: is it running? (`loop up`)
        "#);
    }

    #[test]
    fn one_line_for_a_commit_without_a_turn() {
        let running = answer(Some("running"), Some("Codex"), None);
        let named = Seen { author: "CC".to_owned(), ..seen(What::LeftAlone) };
        let cases = [
            (seen(What::LeftAlone), &running),
            (named, &Rung::NoRouter),
            (seen(What::LeftAlone), &Rung::NoRouter),
            (seen(What::NoSection), &Rung::Late),
            (seen(What::LeftAlone), &answer(Some("passed"), None, None)),
            (seen(What::LeftAlone), &answer(Some("idle"), None, None)),
            (seen(What::Removed), &Rung::NoRouter),
            (seen(What::Idle), &Rung::NoRouter),
            (seen(What::Unreadable("loop.yaml:3: unknown key".to_owned())), &Rung::NoRouter),
            (Seen { detached: true, ..section() }, &running),
        ];
        let lines: Vec<String> = cases.iter().flat_map(|(seen, rung)| compose(seen, rung)).collect();
        insta::assert_snapshot!(lines.join("\n"), @r#"
        loop: no section added, so no turn passes (`loop commit Codex -m "what I did"` hands over)
        loop: no section added, so no turn passes (`loop commit CC -m "what I did"` hands over)
        loop: no section added, so no turn passes (`loop commit NAME -m "what I did"` hands over)
        loop: STATUS.md changed, no section added, so no turn passes (`loop commit NAME -m "what I did"` hands over)
        loop: the loop has passed; this commit is unreviewed
        loop: STATUS.md is gone: no loop runs here any more (`git revert` brings it back)
        loop: loop.yaml:3: unknown key
        loop: turn 3 by CC is on no branch (HEAD is detached): it counts once the loop's branch has it
        "#);
    }

    #[test]
    fn diagnostics_come_last_and_few() {
        let diagnostic =
            |line, code| Diagnostic { line, code, message: "message".to_owned(), hint: "hint".to_owned() };
        let mut seen = section();
        seen.diagnostics = vec![
            diagnostic(1, Code::UnknownAgent),
            diagnostic(2, Code::Mention),
            diagnostic(3, Code::OpenFence),
            diagnostic(4, Code::Setext),
        ];
        let Rung::Answered(mut router) = answer(None, Some("Codex"), None) else { panic!() };
        router.lines = vec!["loop: the loop lives on branch loop/x".to_owned()];
        insta::assert_snapshot!(compose(&seen, &Rung::Answered(router)).join("\n"), @r#"
        loop: turn 3 by CC -> Codex
        loop: the loop lives on branch loop/x
        loop: STATUS.md:2: message; hint
        loop: STATUS.md:3: message; hint
        loop: STATUS.md:4: message; hint
        loop: and 1 more (loop check)
        loop: mend it and `git commit --amend`, as long as the turn is not answered
        "#);
    }
}
