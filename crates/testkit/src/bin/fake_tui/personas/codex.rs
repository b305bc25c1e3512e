//! Codex 0.171: fast letters are a paste, Tab is a submit key, slash commands that it does not know stay.

use loop_testkit::terminal::{cut, wrap_words};

use super::{Dialog, Early, Persona, Refusal, WhileBusy};
use crate::input::Timing;
use crate::paint::{Picture, View, dim};

macro_rules! recorded {
    ($name:literal) => {
        include_str!(concat!("../../../../../core/src/screen/golden/codex-", $name, ".txt"))
    };
}

pub(super) const PERSONA: Persona = Persona {
    name: "codex",
    about: "Codex CLI: Enter steers while it works, Tab queues; fast letters are a paste",
    timing: Timing { close_ms: 8, letters: 3, after_letters_ms: (120, 120), after_paste_ms: (0, 0) },
    while_busy: WhileBusy::Steers,
    tab_submits: true,
    early: Early::Kept,
    refusals: &[Refusal {
        begins: "/",
        only_busy: false,
        words: "• Unrecognized command '{word}'. Type \"/\" for a list of supported commands.",
    }],
    alternate: false,
    hides_cursor: false,
    dialogs: &[
        Dialog { name: "permission", recorded: recorded!("approval"), enter_leaves: false, hotkeys: "123yp" },
        Dialog { name: "trust", recorded: recorded!("trust"), enter_leaves: false, hotkeys: "12" },
        Dialog { name: "hooks", recorded: recorded!("hooks"), enter_leaves: false, hotkeys: "123" },
    ],
    draw,
    starting: |view| {
        let lines = recorded!("starting").lines().skip(1);
        Picture { below: lines.map(|line| cut(line, view.columns)).collect(), ..Picture::default() }
    },
};

fn draw(view: &View<'_>) -> Picture {
    let mut above: Vec<String> =
        recorded!("idle").lines().skip(1).take(2).map(|line| cut(line, view.columns)).collect();
    for (is_users, text) in view.told {
        above.push(String::new());
        let (mark, text) = if *is_users { ("›", text.as_str()) } else { ("•", text.as_str()) };
        above.extend(wrap_words(&format!("{mark} {text}"), view.columns, "  "));
    }
    if view.is_limited {
        let words: Vec<&str> = recorded!("limit")
            .lines()
            .skip_while(|line| !line.starts_with("■ You’ve"))
            .take_while(|line| !line.is_empty())
            .collect();
        above.push(String::new());
        above.extend(wrap_words(&words.concat(), view.columns, ""));
    }
    let mut below = vec![String::new()];
    if let Some(notice) = view.notice {
        below.extend(wrap_words(notice, view.columns, "  "));
        below.push(String::new());
    }
    if view.is_busy {
        let mark = ["•", "◦"][view.frame(10) / 5];
        let seconds = view.worked.as_secs();
        below.extend([format!("{mark} Working ({seconds}s • esc to interrupt)"), String::new()]);
    }
    if !view.queue.is_empty() {
        below.push("• Queued follow-up inputs".to_owned());
        below.extend(view.queue.iter().map(|text| format!("  ↳ {text}")));
        below.extend(["    shift+← edit last queued message".to_owned(), String::new()]);
    }
    below.extend(match (view.composer, view.ghost) {
        ("", ghost) => {
            vec![cut(&format!("› {}", dim(ghost.unwrap_or("Ask Codex to do anything"))), view.columns)]
        }
        (text, _) => wrap_words(&format!("› {text}"), view.columns, "  "),
    });
    below.push(String::new());
    if view.popup {
        below.push(cut("  agent-loop  Take your turn in the loop", view.columns));
    } else {
        below.push(cut("  stub-model default · /home/dana/projects/the-parser · hello there", view.columns));
        below.push(match (view.is_busy, view.composer.is_empty()) {
            (true, false) => "  tab to queue message".to_owned(),
            (_, true) => cut("  ← for agents · ? for shortcuts", view.columns),
            (false, false) => String::new(),
        });
    }
    let spinner = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧"][view.frame(8)];
    let title = if view.is_busy {
        format!("{spinner} hello there | the-parser")
    } else {
        "hello there | the-parser".into()
    };
    Picture { title: Some(title), above, below, at_the_end: false }
}
