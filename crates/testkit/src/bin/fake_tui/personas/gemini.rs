//! Gemini CLI 0.61: a box, a title that tells, and no slash commands while it works.

use loop_testkit::terminal::wrap_words;

use super::{Dialog, Early, Persona, Refusal, WhileBusy, boxed};
use crate::input::Timing;
use crate::paint::{Picture, View, dim};

pub(super) const PERSONA: Persona = Persona {
    name: "gemini",
    about: "Gemini CLI: refuses slash commands while it works, and the text stays",
    timing: Timing { close_ms: 30, letters: 2, after_letters_ms: (10, 40), after_paste_ms: (30, 220) },
    while_busy: WhileBusy::Refuses,
    tab_submits: false,
    early: Early::Lost,
    refusals: &[Refusal { begins: "/", only_busy: true, words: "ⓘ  Slash commands cannot be queued" }],
    alternate: false,
    hides_cursor: true,
    dialogs: &[
        Dialog {
            name: "permission",
            recorded: "title: ✋  Action Required (the-parser)\n\
                ╭──────────────────────────────────────────────────────────╮\n\
                │ Action Required                                          │\n\
                │                                                          │\n\
                │ ?  Shell curl http://example.com                         │\n\
                │                                                          │\n\
                │ Allow execution of: 'curl'?                              │\n\
                │                                                          │\n\
                │ ● 1. Allow once                                          │\n\
                │   2. Allow for this session                              │\n\
                │   3. No, suggest changes (esc)                           │\n\
                ╰──────────────────────────────────────────────────────────╯\n",
            enter_leaves: false,
            hotkeys: "123",
        },
        Dialog {
            name: "trust",
            recorded: "title: ◇  Ready (the-parser)\n\
                ╭──────────────────────────────────────────────────────────╮\n\
                │ Do you trust the files in this folder?                   │\n\
                │                                                          │\n\
                │ ● 1. Trust folder (the-parser)                           │\n\
                │   2. Trust parent folder (projects)                      │\n\
                │   3. Don't trust                                         │\n\
                ╰──────────────────────────────────────────────────────────╯\n",
            enter_leaves: false,
            hotkeys: "123",
        },
    ],
    draw,
    starting: |_| Picture::default(),
};

fn draw(view: &View<'_>) -> Picture {
    let mut above = Vec::new();
    for (is_users, text) in view.told {
        let (mark, text) = if *is_users { (" >", text.as_str()) } else { ("✦", text.as_str()) };
        above.extend(wrap_words(&format!("{mark} {text}"), view.columns, "   "));
        above.push(String::new());
    }
    let mut below = vec![String::new()];
    if view.is_busy {
        let spinner = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴"][view.frame(6)];
        below.push(format!("{spinner} Thinking… (esc to cancel, {}s)", view.worked.as_secs()));
    }
    below.extend(view.queue.iter().map(|text| format!("  {text}")));
    below.extend(view.notice.map(str::to_owned));
    below.extend(boxed(view, &dim(view.ghost.unwrap_or("Type your message or @path/to/file"))));
    if view.popup {
        below.push(" agent-loop  Take your turn in the loop".to_owned());
    } else {
        below.extend(wrap_words(" ~/projects/the-parser (main)  no sandbox  stub-model", view.columns, " "));
    }
    let title = if view.is_busy { "✦  Working… (the-parser)" } else { "◇  Ready (the-parser)" };
    Picture { title: Some(title.to_owned()), above, below, at_the_end: false }
}
