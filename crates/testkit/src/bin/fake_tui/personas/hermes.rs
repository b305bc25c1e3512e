//! Hermes's classic CLI: Enter while it works interrupts.

use loop_testkit::terminal::{wrap, wrap_words};

use super::{Dialog, Early, Persona, WhileBusy};
use crate::input::Timing;
use crate::paint::{Picture, View, dim};

pub(super) const PERSONA: Persona = Persona {
    name: "hermes",
    about: "Hermes: Enter while it works interrupts",
    timing: Timing { close_ms: 0, letters: 1, after_letters_ms: (0, 0), after_paste_ms: (0, 60) },
    while_busy: WhileBusy::Interrupts,
    tab_submits: false,
    early: Early::Lost,
    refusals: &[],
    alternate: false,
    hides_cursor: false,
    dialogs: &[Dialog {
        name: "permission",
        recorded: "title: ⚠ hermes\n\
            ⚠  Dangerous command\n\
            \n\
            \u{20}  rm -rf build\n\
            \n\
            ❯ 1. Allow once\n\
            \u{20} 2. Allow for this session\n\
            \u{20} 3. Deny\n",
        enter_leaves: false,
        hotkeys: "123oasd",
    }],
    draw,
    starting: |_| Picture::default(),
};

fn draw(view: &View<'_>) -> Picture {
    let mut above = Vec::new();
    for (is_users, text) in view.told {
        let (mark, text) = if *is_users { ("●", text.as_str()) } else { ("  ⚕", text.as_str()) };
        above.extend(wrap_words(&format!("{mark} {text}"), view.columns, "  "));
        above.push(String::new());
    }
    let mut below = Vec::new();
    if view.is_busy {
        let face = ["(•_•)", "(◕‿◕)", "(⌐■_■)"][view.frame(9) / 3];
        below.push(format!("  {face} pondering... ({}s)", view.worked.as_secs()));
    }
    below.extend(match (view.composer, view.ghost) {
        ("", Some(ghost)) => vec![format!("❯ {}", dim(ghost))],
        (text, _) => wrap(&format!("❯ {text}"), view.columns, "  "),
    });
    let mark = if view.is_busy { "⏳" } else { "⚕" };
    Picture { title: Some(format!("{mark} hermes")), above, below, at_the_end: false }
}
