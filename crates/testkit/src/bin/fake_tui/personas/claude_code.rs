//! Claude Code 2.1: an inline screen between two rules, no cursor, a queue.

use loop_testkit::terminal::{cut, wrap, wrap_words};

use super::{Dialog, Early, Persona, WhileBusy};
use crate::input::Timing;
use crate::paint::{Picture, View, dim, dim_under_cursor};

macro_rules! recorded {
    ($name:literal) => {
        include_str!(concat!("../../../../../core/src/screen/golden/claude-code-", $name, ".txt"))
    };
}

pub(super) const PERSONA: Persona = Persona {
    name: "claude-code",
    about: "Claude Code: queues what is typed while it works",
    timing: Timing { close_ms: 0, letters: 1, after_letters_ms: (0, 0), after_paste_ms: (0, 20) },
    while_busy: WhileBusy::Queues,
    tab_submits: false,
    early: Early::Kept,
    refusals: &[],
    alternate: false,
    hides_cursor: true,
    dialogs: &[
        Dialog { name: "permission", recorded: recorded!("permission"), enter_leaves: false, hotkeys: "123" },
        Dialog { name: "trust", recorded: recorded!("trust"), enter_leaves: false, hotkeys: "12" },
        Dialog { name: "bypass", recorded: recorded!("bypass-warning"), enter_leaves: true, hotkeys: "12" },
        Dialog { name: "key", recorded: recorded!("api-key"), enter_leaves: false, hotkeys: "12" },
    ],
    draw,
    starting: |_| Picture::default(),
};

const PLACEHOLDER: &str = "Press up to edit queued messages";

fn draw(view: &View<'_>) -> Picture {
    let mut above: Vec<String> = Vec::new();
    if view.columns >= 119 {
        above.extend(recorded!("idle-bypass").lines().skip(1).take(11).map(str::to_owned));
    }
    for (is_users, text) in view.told {
        above.push(String::new());
        let (mark, text) = if *is_users { ("❯", text.as_str()) } else { ("●", text.as_str()) };
        above.extend(wrap_words(&format!("{mark} {text}"), view.columns, "  "));
    }
    if view.is_limited {
        let words =
            recorded!("limit").lines().find(|line| line.starts_with("● API Error")).unwrap_or_default();
        above.push(String::new());
        above.extend(wrap_words(words, view.columns, "  "));
        above.extend([String::new(), "✻ Cogitated for 2m 58s".to_owned()]);
    }
    let mut below = vec![String::new()];
    if view.is_busy {
        let star = ["✢", "✳", "✶", "✻", "✽", "·"][view.frame(6)];
        below.extend([format!("{star} Swooping…"), String::new()]);
    }
    below.extend(view.queue.iter().map(|text| format!("  ❯ {text}")));
    let rule = "─".repeat(view.columns);
    below.push(rule.clone());
    below.extend(match (view.composer, view.ghost) {
        ("", Some(ghost)) => wrap(&format!("❯ {}", dim_under_cursor(ghost)), view.columns + 4, "  "),
        ("", None) if !view.queue.is_empty() => vec![format!("❯ {}", dim(PLACEHOLDER))],
        // A space that does not break, unlike the one before a draft.
        ("", None) => vec!["❯\u{a0}".to_owned()],
        (text, _) => wrap_words(&format!("❯ {text}"), view.columns, "  "),
    });
    below.push(rule);
    below.extend(footer(view));
    let spinner = ["⠂", "⠐"][view.frame(16) / 8];
    let mark = if view.is_busy { spinner } else { "✳" };
    Picture { title: Some(format!("{mark} Claude Code")), above, below, at_the_end: false }
}

fn footer(view: &View<'_>) -> Vec<String> {
    if view.popup {
        let rows = ["  /agent-loop     Take your turn in the loop", "  /agents         Manage agents"];
        return rows.map(str::to_owned).into();
    }
    let mut words = "  ⏵⏵ bypass permissions on (shift+tab to cycle)".to_owned();
    if view.is_busy {
        words.push_str(" · esc to interrupt");
    }
    if view.composer.is_empty() {
        words.push_str(" · ← for agents");
    }
    vec![cut(&words, view.columns + 1)]
}
