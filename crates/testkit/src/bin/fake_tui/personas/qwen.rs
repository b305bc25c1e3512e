//! Qwen Code 0.15: a box, a title that never tells, a queue.

use loop_testkit::terminal::wrap_words;

use super::{Dialog, Early, Persona, WhileBusy, boxed};
use crate::input::Timing;
use crate::paint::{Picture, View, dim};

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
        recorded: "title: Qwen - the-parser\n\
            ╭──────────────────────────────────────────────────────────╮\n\
            │ ?  Shell curl http://example.com                         │\n\
            │                                                          │\n\
            │ Allow execution of: 'curl'?                              │\n\
            │                                                          │\n\
            │ › 1. Yes, allow once                                     │\n\
            │   2. Yes, allow always ...                               │\n\
            │   3. No, suggest changes (esc)                           │\n\
            ╰──────────────────────────────────────────────────────────╯\n",
        enter_leaves: false,
        hotkeys: "123",
    }],
    draw,
    starting: |view| {
        let words = ["⠋ Initializing...", "", "  YOLO mode"];
        let mut below = vec![words[0].to_owned()];
        below.extend(boxed(view, &dim("Type your message or @path/to/file")));
        below.push(words[2].to_owned());
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
        below.push(format!("  {spinner} Hold on… ({}s · ↑ 5 tokens · esc to cancel)", view.worked.as_secs()));
    }
    below.extend(view.queue.iter().map(|text| format!("  {text}")));
    below.extend(boxed(view, &dim(view.ghost.unwrap_or("Type your message or @path/to/file"))));
    below.push(if view.popup {
        "  agent-loop  Take your turn in the loop".to_owned()
    } else {
        "  YOLO mode (shift + tab to cycle)".to_owned()
    });
    Picture { title: Some("Qwen - the-parser".to_owned()), above, below, at_the_end: false }
}
