//! Hermes's classic CLI: Enter while it works interrupts.

use loop_testkit::terminal::{cut, wrap, wrap_words};

use super::{Dialog, Early, Persona, WhileBusy};
use crate::input::Timing;
use crate::paint::{Picture, View, dim};

pub(super) const PERSONA: Persona = Persona {
    name: "hermes",
    about: "Hermes: Enter while it works interrupts",
    timing: Timing { close_ms: 0, letters: 1, after_letters_ms: (0, 0), after_paste_ms: (0, 700) },
    while_busy: WhileBusy::Interrupts,
    tab_submits: false,
    early: Early::Lost,
    refusals: &[],
    alternate: false,
    hides_cursor: false,
    dialogs: &[Dialog {
        name: "permission",
        recorded: "title: host\n\
            ╭──────────────────────────────────────────────────╮\n\
            │ ⚠ Dangerous command                              │\n\
            │                                                  │\n\
            │ rm -rf build                                     │\n\
            │                                                  │\n\
            │ ❯ 1. Allow once                                  │\n\
            │   2. Allow for this session                      │\n\
            │   3. Add to permanent allowlist                  │\n\
            │   4. Deny                                        │\n\
            ╰──────────────────────────────────────────────────╯\n\
            \n  ↑/↓ to select, Enter to confirm  (57s)\n \
            ⚕ stub-model │ 5/200K │ [░░░░░░░░░░] 0% │ 47s\n\
            ────────────────────────────────────────────────────\n\
            ⚠ ❯\n\
            ────────────────────────────────────────────────────\n",
        enter_leaves: false,
        hotkeys: "1234",
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
    let rule = "─".repeat(view.columns);
    let mut below = Vec::new();
    if view.is_busy {
        below.extend([format!("  💻 sleep 5  (  {:.1}s)", view.worked.as_secs_f32()), String::new()]);
    }
    below.push(cut(
        &format!(" ⚕ stub-model │ 5/200K │ [░░░░░░░░░░] 0% │ {}s", view.worked.as_secs()),
        view.columns,
    ));
    below.push(rule.clone());
    let mark = if view.is_busy { "⚕ ❯" } else { "❯" };
    below.extend(match (view.composer, view.ghost) {
        ("", _) if view.is_busy => {
            vec![cut(&format!("{mark} {}", dim("msg=interrupt · /queue · /bg · /steer")), view.columns)]
        }
        ("", Some(ghost)) => vec![format!("{mark} {}", dim(ghost))],
        (text, _) => wrap(&format!("{mark} {text}"), view.columns, "  "),
    });
    below.push(rule);
    Picture { title: None, above, below, at_the_end: false }
}
