//! Every picture must read as what it is by the built-in profile, at any width.

#![allow(clippy::unwrap_used)]

use loop_core::Profile;
use loop_core::screen::{Look, LookState, Screen, look};

use super::*;
use crate::paint::{lines, picture, sequences};

pub(crate) fn profile(persona: &Persona) -> Profile {
    let kind = if persona.name == "generic" { "scripted" } else { persona.name };
    loop_core::profile::builtin(kind).unwrap()
}

fn view(columns: usize) -> View<'static> {
    View {
        rows: 30,
        columns,
        is_starting: false,
        is_updated: false,
        is_busy: false,
        worked: std::time::Duration::from_secs(3),
        composer: "",
        ghost: None,
        queue: &[],
        told: &[],
        notice: None,
        dialog: None,
        is_limited: false,
        popup: false,
    }
}

fn seen(persona: &Persona, view: &View<'_>) -> (Look, String) {
    let picture = picture(persona, view);
    let lines: Vec<String> = lines(&picture, view.rows).iter().map(|line| sequences(line)).collect();
    let screen = Screen::drawn(picture.title.unwrap_or_default(), &lines.join("\n"));
    let shown = format!("{} at {} columns\n{}", persona.name, view.columns, screen.lines.join("\n"));
    (look(&profile(persona), &screen), shown)
}

const WIDTHS: [usize; 5] = [120, 80, 61, 40, 20];

/// Where a narrower window hides what its rules look for, it is unknown: that is no mistake.
fn narrowest(persona: &Persona) -> usize {
    if ["claude-code", "codex", "hermes", "generic"].contains(&persona.name) { 20 } else { 40 }
}

#[test]
fn idle_and_busy_read_as_such() {
    for persona in TABLE {
        for columns in WIDTHS.into_iter().filter(|columns| *columns >= narrowest(persona)) {
            let (look, shown) = seen(persona, &view(columns));
            // Also where the words in it are cut off.
            assert_eq!((look.state, look.composer.as_deref()), (LookState::Idle, Some("")), "{shown}");
            let (look, shown) = seen(persona, &View { is_busy: true, ..view(columns) });
            assert_eq!(look.state, LookState::Busy, "{shown}");
        }
    }
}

#[test]
fn a_suggestion_is_no_draft_and_the_same_words_typed_are_one() {
    let words = "fix the flaky test";
    for persona in TABLE {
        for columns in WIDTHS.into_iter().filter(|columns| *columns >= narrowest(persona)) {
            let (look, shown) = seen(persona, &View { ghost: Some(words), ..view(columns) });
            assert_eq!((look.state, look.composer.as_deref()), (LookState::Idle, Some("")), "{shown}");
            let (look, shown) = seen(persona, &View { composer: words, ..view(columns) });
            assert_ne!(look.composer.as_deref(), Some(""), "{shown}");
        }
    }
}

#[test]
fn a_draft_reads_back_however_it_is_broken() {
    let text = "$agent-loop 小明小明小明小明 and a few words more";
    for persona in TABLE.iter().filter(|persona| profile(persona).signs.composer.is_some()) {
        for columns in WIDTHS {
            let (look, shown) = seen(persona, &View { composer: text, ..view(columns) });
            assert_ne!(look.state, LookState::Busy, "{shown}");
            if profile(persona).signs.wrapped.is_some() {
                assert!(look.holds(text), "{look:?}\n{shown}");
            }
        }
    }
}

#[test]
fn a_dialog_is_never_idle_and_a_new_version_is_unknown() {
    for persona in TABLE {
        for columns in WIDTHS {
            for dialog in persona.dialogs {
                let (look, shown) = seen(persona, &View { dialog: Some(dialog), ..view(columns) });
                // Idle without a composer counts as unknown.
                let idle = look.state == LookState::Idle && look.composer.is_some();
                assert!(!idle, "{}: {look:?} {shown}", dialog.name);
                if columns == 120 {
                    assert!(
                        matches!(look.state, LookState::Asks { .. }),
                        "{}: {look:?} {shown}",
                        dialog.name
                    );
                }
            }
            let (look, shown) = seen(persona, &View { is_updated: true, ..view(columns) });
            assert_eq!((look.state, look.composer), (LookState::Unknown, None), "{shown}");
            let (look, shown) = seen(persona, &View { is_starting: true, ..view(columns) });
            assert_ne!(look.state, LookState::Idle, "{shown}");
        }
    }
}
