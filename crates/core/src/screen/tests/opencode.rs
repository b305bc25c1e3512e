//! OpenCode's screens, which draw the composer in a box.

use super::*;

/// Every recorded screen: its file, the state and the composer.
fn recorded() -> Vec<(&'static str, LookState, Option<&'static str>)> {
    use LookState::{Busy, Idle, Limited, Unknown};
    let permission = || asks("asks for a permission");
    let limit = "Usage limit reached [retrying in 2h 1m attempt #1]";
    let quota = "You exceeded your current quota, please check your plan and billing details.";
    vec![
        ("start", Idle, Some("")),
        ("start-draft", Idle, Some("hello there")),
        ("idle", Idle, Some("")),
        ("idle-plan", Idle, Some("")),
        ("idle-tiny", Idle, Some("")),
        ("idle-wide", Idle, Some("")),
        ("interrupted", Idle, Some("")),
        ("unknown-command", Idle, Some("")),
        ("quoted", Idle, Some("")),
        ("draft", Idle, Some("hello there")),
        (
            "draft-narrow",
            Idle,
            Some("a draft that is much longer than the window is wide, so that it must wrap somewhere"),
        ),
        ("draft-ours", Idle, Some("/agent-loop CC")),
        ("draft-ours-wide", Idle, Some("/agent-loop CC")),
        ("ours-narrow", Idle, Some("/agent-loop OpenCode- Reviewer-2")),
        ("commands", Idle, Some("/ag")),
        // What is typed into the list of commands never stands in the composer, so nothing is submitted.
        ("palette", Idle, Some("")),
        ("shell", Idle, None),
        ("busy", Busy, Some("")),
        ("busy-narrow", Busy, Some("")),
        ("busy-tiny", Busy, Some("")),
        ("busy-draft", Busy, Some("hello again")),
        ("busy-draft-ours", Busy, Some("/agent-loop CC")),
        ("queued", Busy, Some("")),
        ("retrying", Busy, Some("")),
        ("retrying-narrow", Busy, Some("")),
        ("limit", Limited(limit.to_owned()), Some("")),
        ("limit-quota", Limited(quota.to_owned()), Some("")),
        ("permission", permission(), None),
        ("permission-wide", permission(), None),
        ("permission-narrow", permission(), None),
        ("always", permission(), None),
        ("question", asks("asks a question"), None),
        ("starting", Unknown, None),
        ("menu", asks("shows a menu"), None),
    ]
}

fn shown(file: &str) -> Screen {
    match file {
        "starting" => screen("title: OpenCode\n"),
        "menu" => {
            screen("title: OpenCode\n     Fine.\n\n  ┃\n  ┃  Which way?\n  ┃\n  ┃   This   That\n  ┃\n")
        }
        _ => golden(&format!("opencode-{file}")),
    }
}

#[test]
fn recorded_screens_read_as_what_they_are() {
    let mut wrong = Vec::new();
    for (file, expected, composer) in recorded() {
        let look = look(&builtin("opencode").unwrap(), &shown(file));
        if (state(&look), look.composer.as_deref()) != (expected, composer) {
            wrong.push(format!("{file}: {look:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A window, idle, in which the agent has just said `reply`, with or without a side bar.
fn idle_after(reply: &[String], is_wide: bool) -> Screen {
    let idle = shown(if is_wide { "idle-wide" } else { "idle" });
    let from = idle.lines.iter().rposition(|line| line.contains('▣')).unwrap();
    let said = reply.iter().cloned();
    let lines =
        ["  ┃".to_owned(), "  ┃  what does it look like?".to_owned(), "  ┃".to_owned(), String::new()]
            .into_iter()
            .chain(said)
            .chain([String::new()])
            .chain(idle.lines[from..].iter().cloned());
    Screen { title: idle.title, lines: lines.collect(), ..Screen::default() }
}

#[test]
fn what_a_reply_quotes_does_not_count() {
    for (file, ..) in recorded() {
        for is_wide in [false, true] {
            let mut reply = vec!["     It looks like this:".to_owned(), String::new()];
            reply.extend(shown(file).lines.iter().map(|line| format!("     {line}")));
            reply.extend([String::new(), "     And that is all.".to_owned()]);
            let screen = idle_after(&reply, is_wide);
            let look = look(&builtin("opencode").unwrap(), &screen);
            assert_eq!((look.state, look.composer.as_deref()), (LookState::Idle, Some("")), "{screen:#?}");
        }
    }
}

#[test]
fn no_rule_is_without_a_screen() {
    let signs = CompiledSigns::new(&builtin("opencode").unwrap().signs).unwrap();
    let screens: Vec<Screen> = recorded().into_iter().map(|(file, ..)| shown(file)).collect();
    for rule in [&signs.ready, &signs.busy, &signs.blocked, &signs.limited].into_iter().flatten() {
        let found = screens.iter().any(|screen| rule.found(&View::new(screen)).is_some());
        assert!(found, "{}", rule.matches);
    }
}

#[test]
fn a_limit_counts_until_the_next_turn() {
    let mut limited = shown("limit-quota");
    let at = limited.lines.iter().rposition(|line| line.contains('▣')).unwrap();
    let later = ["", "  ┃", "  ┃  go on", "  ┃", "", "     Done.", "", "     ▣  Build · Stub · 1.2s"];
    limited.lines.splice(at + 1..at + 1, later.map(str::to_owned));
    assert_eq!(look(&builtin("opencode").unwrap(), &limited).state, LookState::Idle);
}
