//! OpenCode 1.18: the alternate screen, a bar beside the composer, a slow start that loses input.

use loop_testkit::terminal::{cut, wrap_words};

use super::{Dialog, Early, Persona, WhileBusy};
use crate::input::Timing;
use crate::paint::{Picture, View, grey, padded};

pub(super) const PERSONA: Persona = Persona {
    name: "opencode",
    about: "OpenCode: merges what is typed while it works into the running turn",
    timing: Timing { close_ms: 0, letters: 1, after_letters_ms: (0, 0), after_paste_ms: (0, 0) },
    while_busy: WhileBusy::Merges,
    tab_submits: false,
    early: Early::Lost,
    refusals: &[],
    alternate: true,
    hides_cursor: false,
    dialogs: &[Dialog {
        name: "permission",
        recorded: "title: OpenCode\n\
            \n\
            ┃\n\
            ┃  △ Permission required\n\
            ┃    ← Access external directory ~/notes\n\
            ┃\n\
            ┃   Allow once   Allow always   Reject   ctrl+f fullscreen  ⇆ select  enter confirm\n\
            ┃\n",
        enter_leaves: false,
        hotkeys: "",
    }],
    draw,
    starting: |_| Picture::default(),
};

fn draw(view: &View<'_>) -> Picture {
    let mut above = vec![String::new()];
    for (is_users, text) in view.told {
        let inner = view.columns.saturating_sub(6);
        for line in wrap_words(text, inner, "") {
            above.push(if *is_users { format!("  ┃  {line}") } else { format!("     {line}") });
        }
        above.push(String::new());
    }
    let mut below = vec![String::new()];
    let bar = |line: &str| cut(&padded(&format!("  ┃  {line}"), view.columns), view.columns);
    if view.popup {
        below.push(cut("  ┃ /agent-loop  Take your turn in the loop", view.columns));
    }
    below.push("  ┃".to_owned());
    match (view.composer, view.ghost) {
        ("", ghost) if view.told.is_empty() || ghost.is_some() => {
            let words = ghost.map_or("Ask anything… \"Fix broken tests\"".to_owned(), str::to_owned);
            below.push(format!("  ┃  {}", grey(&cut(&words, view.columns.saturating_sub(6)))));
        }
        (text, _) => {
            // No further than the edge below goes.
            let inner = view.columns.saturating_sub(8);
            below.extend(wrap_words(text, inner, "").iter().map(|line| format!("  ┃  {line}")));
        }
    }
    below.push("  ┃".to_owned());
    below.push(bar("Build · stub-model Stub"));
    below.push(format!("  ╹{}", "▀".repeat(view.columns.saturating_sub(6))));
    below.push(if view.is_busy {
        let squares = ["⬝⬝■■■■■■", "⬝■■■■■■⬝", "■■■■■■⬝⬝"][view.frame(3)];
        cut(&format!("   {squares}  esc interrupt"), view.columns)
    } else {
        cut("   tab agents  ctrl+p commands", view.columns)
    });
    Picture { title: Some("OpenCode".to_owned()), above, below, at_the_end: true }
}
