//! Gemini CLI's screens.

use super::*;
use LookState::{Busy, Idle, Limited, Unknown};

/// Every recorded screen: its file, the state and the composer.
fn recorded() -> Vec<(&'static str, LookState, Option<&'static str>)> {
    let wrapped = Some("a draft that is much longer than the windowis wide, so that it must wrap somewhere");
    let whole = Some("a draft that is much longer than the window is wide, so that it must wrap somewhere");
    let quota = "Usage limit reached for gemini-2.5-flash.".to_owned();
    let stopped = "[API Error: You have exhausted your daily quota on this model.]".to_owned();
    vec![
        ("trust", asks("asks whether to trust the folder"), None),
        ("starting", Unknown, Some("")),
        ("idle", Idle, Some("")),
        ("idle-narrow", Idle, Some("")),
        ("idle-truecolor", Idle, Some("")),
        ("idle-after-turn", Idle, Some("")),
        ("unknown-command", Idle, Some("")),
        ("quoted", Idle, Some("")),
        ("draft", Idle, Some("hello there")),
        ("draft-narrow", Idle, wrapped),
        ("draft-truecolor", Idle, whole),
        ("busy", Busy, Some("")),
        ("busy-shell", Busy, Some("")),
        ("busy-narrow", Busy, Some("")),
        ("busy-truecolor", Busy, Some("")),
        ("queued", Busy, Some("")),
        ("refused", Busy, Some("/agent-loop CC")),
        ("refused-truecolor", Busy, Some("/agent-loop CC")),
        ("retrying", Busy, Some("")),
        ("permission", asks("asks for a permission"), None),
        ("loop-question", asks("shows a menu"), None),
        ("quota", Limited(quota), None),
        ("quota-stopped", Limited(stopped), Some("")),
    ]
}

#[test]
fn recorded_screens_read_as_what_they_are() {
    read_as("gemini", recorded());
}

/// Its busy windows are known without the title too, which a terminal may not keep.
#[test]
fn busy_is_seen_without_a_title() {
    for file in ["busy", "busy-shell", "busy-narrow", "busy-truecolor", "queued", "refused", "retrying"] {
        let mut shown = golden(&format!("gemini-{file}"));
        shown.title = String::new();
        assert_eq!(look(&builtin("gemini").unwrap(), &shown).state, Busy, "{file}");
    }
}

#[test]
fn what_a_reply_quotes_does_not_count() {
    for truecolor in [false, true] {
        quoted_counts_for_nothing("gemini", recorded(), |reply| {
            let border = "─".repeat(120);
            let (above, below) = ("▄".repeat(120), "▀".repeat(120));
            let mut lines = vec![" > what does it look like?".to_owned(), String::new()];
            lines.extend(reply.iter().cloned());
            lines.extend([String::new(), format!("{:104}? for shortcuts", ""), border]);
            lines.push(format!(" auto-accept edits Shift+Tab to plan{:76}1 skill", ""));
            lines.extend(truecolor.then_some(above));
            lines.push(" >   Type your message or @path/to/file".to_owned());
            lines.extend(truecolor.then_some(below));
            lines.extend(
                [" workspace (/directory)  branch  sandbox  /model", " ~/the-parser  main  no sandbox  Auto"]
                    .map(str::to_owned),
            );
            Screen { title: "◇  Ready (the-parser)".to_owned(), lines, ..Screen::default() }
        });
    }
}

#[test]
fn no_rule_is_without_a_screen() {
    every_rule_decides("gemini", recorded());
}
