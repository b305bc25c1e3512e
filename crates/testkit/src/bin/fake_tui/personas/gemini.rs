//! Gemini CLI 0.61: a title that tells, and no slash commands while it works.

use loop_testkit::terminal::{cut, wrap_words};

use super::{Dialog, Early, Persona, Refusal, WhileBusy};
use crate::input::Timing;
use crate::paint::{Picture, View, coloured, dim, padded};

pub(super) const PERSONA: Persona = Persona {
    name: "gemini",
    about: "Gemini CLI: refuses slash commands while it works, and the text stays",
    timing: Timing { close_ms: 30, letters: 2, after_letters_ms: (10, 40), after_paste_ms: (30, 220) },
    while_busy: WhileBusy::Refuses,
    tab_submits: false,
    early: Early::Lost,
    refusals: &[Refusal { begins: "/", only_busy: true, words: "Slash commands cannot be queued" }],
    alternate: false,
    hides_cursor: true,
    dialogs: &[
        Dialog {
            name: "permission",
            recorded: "title: ✋  Action Required (the-parser)\n\
                ╭──────────────────────────────────────────────────────────╮\n\
                │ ? Shell  git commit --allow-empty -qm x                  │\n\
                │                                                          │\n\
                │ Allow execution of [Shell]?                              │\n\
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
            recorded: "title: ◇  Ready (the-parser)\n \
                ╭──────────────────────────────────────────────────────────╮\n \
                │                                                          │\n \
                │ Do you trust the files in this folder?                   │\n \
                │                                                          │\n \
                │ ● 1. Trust folder (the-parser)                           │\n \
                │   2. Trust parent folder (dana)                          │\n \
                │   3. Don't trust                                         │\n \
                │                                                          │\n \
                ╰──────────────────────────────────────────────────────────╯\n",
            enter_leaves: false,
            hotkeys: "123",
        },
    ],
    draw,
    starting: |view| {
        let mut below = hints(view, "");
        below.extend(composer(view));
        Picture { title: Some("◇  Ready (the-parser)".to_owned()), below, ..Picture::default() }
    },
};

fn draw(view: &View<'_>) -> Picture {
    let mut above = Vec::new();
    for (is_users, text) in view.told {
        let (mark, text) = if *is_users { (" >", text.as_str()) } else { ("✦", text.as_str()) };
        above.extend(wrap_words(&format!("{mark} {text}"), view.columns, "   "));
        above.extend([String::new(), String::new()]);
    }
    let mut below = vec![String::new()];
    below.extend(view.notice.map(|words| format!(" {words}")));
    if view.is_busy {
        let spinner = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴"][view.frame(6)];
        below.push(format!(" {spinner} Thinking... (esc to cancel, {}s)", view.worked.as_secs()));
    }
    below.extend(view.queue.iter().map(|text| format!("  {text}")));
    below.extend(hints(view, "1 skill"));
    below.extend(composer(view));
    let title = if view.is_busy { "✦  Working… (the-parser)" } else { "◇  Ready (the-parser)" };
    Picture { title: Some(title.to_owned()), above, below, at_the_end: false }
}

/// The rule and the lines below it; the count of skills comes a moment after the start.
fn hints(view: &View<'_>, skills: &str) -> Vec<String> {
    let rule = "─".repeat(view.columns);
    if view.columns < 60 {
        let count = if skills.is_empty() { String::new() } else { format!("  {skills}") };
        return vec![
            rule,
            cut(" Shift+Tab to accept edits", view.columns),
            String::new(),
            count,
            String::new(),
        ];
    }
    let line = padded(" Shift+Tab to accept edits", view.columns - skills.len() - 1);
    vec![rule, format!("{line}{skills}"), String::new()]
}

fn composer(view: &View<'_>) -> Vec<String> {
    let mut lines = match (view.composer, view.ghost) {
        ("", ghost) => {
            vec![cut(
                &format!(
                    " >   {}",
                    ghost.map_or_else(|| coloured("Type your message or @path/to/file"), dim)
                ),
                view.columns,
            )]
        }
        (text, _) => wrap_words(&format!(" > {text}"), view.columns, "   "),
    };
    lines.push(String::new());
    if view.popup {
        lines.push(" agent-loop  Take your turn in the loop".to_owned());
        return lines;
    }
    lines.push(cut(" workspace (/directory)   branch   sandbox        /model", view.columns));
    lines.push(cut(" /home/dana/the-parser    main     no sandbox     Auto", view.columns));
    lines
}
