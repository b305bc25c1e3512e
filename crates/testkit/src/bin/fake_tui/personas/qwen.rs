//! Qwen Code 0.15: two rules, a title that never tells, a queue.

use loop_testkit::terminal::{cut, wrap_words};

use super::{Dialog, Early, Persona, WhileBusy};
use crate::input::Timing;
use crate::paint::{Picture, View, coloured, dim};

pub(super) const PERSONA: Persona = Persona {
    name: "qwen",
    about: "Qwen Code: queues what is typed while it works, loses what is typed while it starts",
    timing: Timing { close_ms: 30, letters: 2, after_letters_ms: (0, 100), after_paste_ms: (0, 100) },
    while_busy: WhileBusy::Queues,
    tab_submits: false,
    early: Early::Lost,
    refusals: &[],
    alternate: false,
    hides_cursor: true,
    dialogs: &[Dialog {
        name: "permission",
        recorded: "title: Qwen - the-parser\n  \
            ╭──────────────────────────────────────────────────────────╮\n  \
            │ ?  Shell git commit --allow-empty -qm x                  │\n  \
            │                                                          │\n  \
            │ Allow execution of: 'git'?                               │\n  \
            │                                                          │\n  \
            │ › 1. Yes, allow once                                     │\n  \
            │   2. Always allow in this project                        │\n  \
            │   3. No, suggest changes (esc)                           │\n  \
            │                                                          │\n  \
            ╰──────────────────────────────────────────────────────────╯\n\
            \n  ⠏ Waiting for user confirmation...\n",
        enter_leaves: false,
        hotkeys: "123",
    }],
    draw,
    starting: |view| {
        // Its footer tells, below a composer that looks as ever.
        let mut below = composer(view);
        below.pop();
        below.push("  ⠋ Initializing...".to_owned());
        Picture { title: Some("Qwen - the-parser".to_owned()), below, ..Picture::default() }
    },
};

fn draw(view: &View<'_>) -> Picture {
    let mut above = Vec::new();
    for (is_users, text) in view.told {
        let (mark, text) = if *is_users { ("  >", text.as_str()) } else { ("  ✦", text.as_str()) };
        above.extend(wrap_words(&format!("{mark} {text}"), view.columns, "    "));
        above.push(String::new());
    }
    let mut below = vec![String::new()];
    if view.is_busy {
        let spinner = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴"][view.frame(6)];
        let words = format!("{spinner} Hold on... ({}s · esc to cancel)", view.worked.as_secs());
        below.extend(
            wrap_words(&words, view.columns.saturating_sub(2), "").iter().map(|line| format!("  {line}")),
        );
    }
    if !view.queue.is_empty() {
        below.push(String::new());
        below.extend(view.queue.iter().map(|text| format!("  {text}")));
        below.push(cut("  Press ↑ to edit queued messages", view.columns));
    }
    below.extend(composer(view));
    Picture { title: Some("Qwen - the-parser".to_owned()), above, below, at_the_end: false }
}

fn composer(view: &View<'_>) -> Vec<String> {
    let rule = "─".repeat(view.columns);
    let mut lines = vec![rule.clone()];
    lines.extend(match (view.composer, view.ghost) {
        ("", ghost) => {
            vec![cut(
                &format!("*   {}", ghost.map_or_else(|| coloured("Type your message or @path/to/file"), dim)),
                view.columns,
            )]
        }
        (text, _) => wrap_words(&format!("* {text}\u{200b}"), view.columns, "  "),
    });
    lines.push(rule);
    lines.push(if view.popup {
        "  agent-loop  Take your turn in the loop".to_owned()
    } else {
        cut("  YOLO mode (shift + tab to cycle)", view.columns)
    });
    lines
}
