//! A program of the user's own, read by the profile `scripted`: the composer in the last line.

use loop_testkit::terminal::{cut, wrap, wrap_words};

use super::{Dialog, Early, Persona, WhileBusy};
use crate::input::Timing;
use crate::paint::{Picture, View};

pub(super) const PERSONA: Persona = Persona {
    name: "generic",
    about: "a program of the user's own, read by the profile `scripted`",
    timing: Timing { close_ms: 0, letters: 1, after_letters_ms: (0, 0), after_paste_ms: (0, 0) },
    while_busy: WhileBusy::Queues,
    tab_submits: true,
    early: Early::Lost,
    refusals: &[],
    alternate: false,
    hides_cursor: true,
    dialogs: &[Dialog {
        name: "question",
        recorded: "title: agent\n? shall I go on\n  press y or n\n",
        enter_leaves: false,
        hotkeys: "yn",
    }],
    draw,
    starting: |_| Picture::default(),
};

fn draw(view: &View<'_>) -> Picture {
    let mut above = Vec::new();
    for (is_users, text) in view.told {
        let mark = if *is_users { "> " } else { "" };
        above.extend(wrap_words(&format!("{mark}{text}"), view.columns, ""));
    }
    let mut below = vec![String::new()];
    if view.is_limited {
        below.push(cut("limit reached, resets 17:00", view.columns));
    }
    if view.is_busy {
        below.push(cut("… working (esc to interrupt)", view.columns));
    }
    below.extend(wrap(&format!("❯ {}", view.composer), view.columns, "  "));
    let mark = if view.is_busy { "✻ " } else { "" };
    Picture { title: Some(format!("{mark}agent")), above, below, at_the_end: false }
}
