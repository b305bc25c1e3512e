//! Qwen Code's screens.

use super::*;
use LookState::{Busy, Idle, Limited};

/// Every recorded screen: its file, the state and the composer.
fn recorded() -> Vec<(&'static str, LookState, Option<&'static str>)> {
    let wrapped = Some("a draft that is much longer than thewindow is wide, so that it must wrapsomewhere");
    vec![
        ("starting", Busy, Some("")),
        ("idle", Idle, Some("")),
        ("idle-narrow", Idle, Some("")),
        ("idle-after-turn", Idle, Some("")),
        ("unknown-command", Idle, Some("")),
        ("cancelled", Idle, Some("")),
        ("quoted", Idle, Some("")),
        ("error", Limited("[API Error: 400 You exceeded your quota, resets 3pm]".to_owned()), Some("")),
        ("draft", Idle, Some("hello there")),
        ("draft-narrow", Idle, wrapped),
        ("busy", Busy, Some("")),
        ("busy-shell", Busy, Some("")),
        ("busy-narrow", Busy, Some("")),
        ("queued", Busy, Some("")),
        ("queued-draft-narrow", Busy, Some("draft")),
        ("retrying", Busy, Some("")),
        ("permission", asks("asks for a permission"), None),
    ]
}

#[test]
fn recorded_screens_read_as_what_they_are() {
    read_as("qwen", recorded());
}

#[test]
fn what_a_reply_quotes_does_not_count() {
    quoted_counts_for_nothing("qwen", recorded(), idle_after);
}

/// An idle screen in which it has just said `reply`.
fn idle_after(reply: &[String]) -> Screen {
    let border = "─".repeat(120);
    let mut lines = vec!["  > what does it look like?".to_owned(), String::new()];
    lines.extend(reply.iter().cloned());
    lines.extend([
        String::new(),
        border.clone(),
        ">   Type your message or @path/to/file".to_owned(),
        border,
    ]);
    lines.push("  ? for shortcuts".to_owned());
    Screen { title: "Qwen - the-parser".to_owned(), lines, ..Screen::default() }
}

/// It tries a refused request again for minutes by itself, and is busy until it gives up.
#[test]
fn a_request_that_it_gave_up_is_a_limit() {
    let says = "[API Error: 429 You exceeded your current quota, resets 3pm]";
    let refused = |rest: &str| {
        let mut shown = idle_after(&[format!("  ✕ {says}{rest}")]);
        shown.lines.splice(0..2, []);
        look(&builtin("qwen").unwrap(), &shown).state
    };
    assert_eq!(refused(" (Press Ctrl+Y to retry)"), Limited(says.to_owned()));
    assert_eq!(refused(""), Limited(says.to_owned()));
}

/// The spinner is one dot to three where the terminal is not known for more.
#[test]
fn every_spinner_is_one() {
    for line in
        ["  .   Dividing by zero... (0s · esc to cancel)", "  ⠋ Thinking (12s · ↑ 5 tokens · esc to cancel)"]
    {
        let shown = idle_after(&[line.to_owned()]);
        let mut lines = shown.lines;
        // Nothing stands between the spinner and the composer.
        lines.remove(3);
        assert_eq!(look(&builtin("qwen").unwrap(), &Screen { lines, ..shown }).state, Busy, "{line}");
    }
}

#[test]
fn no_rule_is_without_a_screen() {
    let menu = "title: Qwen\n  │ Which one?\n  │\n  │ › 1. This  │\n  │   2. That  │\n  ╰────────────╯\n";
    let signs = CompiledSigns::new(&builtin("qwen").unwrap().signs).unwrap();
    assert_eq!(state(&look(&builtin("qwen").unwrap(), &screen(menu))), asks("shows a menu"));
    let rules = [&signs.ready, &signs.busy, &signs.blocked, &signs.limited];
    let mut screens: Vec<Screen> =
        recorded().into_iter().map(|(file, ..)| golden(&format!("qwen-{file}"))).collect();
    screens.extend([screen(menu), idle_after(&["  ✕ [API Error: 429 Too many requests]".to_owned()])]);
    for rule in rules.into_iter().flatten() {
        let found = screens.iter().any(|screen| rule.found(&View::new(screen)).is_some());
        assert!(found, "{}", rule.matches);
    }
}
