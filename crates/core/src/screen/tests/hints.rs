//! Screens recorded with how they are drawn (`golden/*-drawn.txt`): what nobody typed is no draft.
//!
//! The profiles' placeholders are left out: these are words that are known, and a suggestion may be any.

use super::*;

fn drawn(name: &str) -> Screen {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/screen/golden");
    let text = std::fs::read_to_string(folder.join(name).with_extension("txt")).unwrap();
    let (title, lines) = text.split_once('\n').unwrap();
    Screen::drawn(title.strip_prefix("title: ").unwrap().to_owned(), lines)
}

/// The recorded line that holds `words`, drawn anew as `sequences`.
fn redrawn(name: &str, words: &str, sequences: &str) -> Screen {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/screen/golden");
    let text = std::fs::read_to_string(folder.join(name).with_extension("txt")).unwrap();
    assert_eq!(text.matches(words).count(), 1, "{name} holds {words:?} once");
    let text = text.replacen(words, &format!("\x1b[0m{sequences}\x1b[0m"), 1);
    let (title, lines) = text.split_once('\n').unwrap();
    Screen::drawn(title.strip_prefix("title: ").unwrap().to_owned(), lines)
}

fn composer(kind: &str, screen: &Screen) -> (LookState, Option<String>) {
    let mut profile = builtin(kind).unwrap();
    profile.signs.placeholder.clear();
    let look = look(&profile, screen);
    (look.state, look.composer)
}

fn check(kind: &str, screen: &Screen, expected: &str) {
    let (state, composer) = composer(kind, screen);
    assert_eq!(composer.as_deref(), Some(expected), "{kind} {state:?}\n{}", screen.lines.join("\n"));
    assert_eq!(state, LookState::Idle, "{kind}\n{}", screen.lines.join("\n"));
}

#[test]
fn what_a_cli_was_seen_to_draw_into_its_empty_composer_is_no_draft() {
    check("claude-code", &drawn("claude-code-idle-drawn"), "");
    check("codex", &drawn("codex-idle-drawn"), "");
    check("opencode", &drawn("opencode-idle-drawn"), "");
}

#[test]
fn what_was_typed_is_one() {
    for kind in ["claude-code", "codex", "opencode"] {
        check(kind, &drawn(&format!("{kind}-draft-drawn")), "hello th");
    }
}

#[test]
fn a_suggestion_is_none_and_one_that_a_person_has_begun_to_type_is_one() {
    let typed = |sequences: &str| {
        [("claude-code", "hello th"), ("codex", "hello th"), ("opencode", "hello th")]
            .map(|(kind, words)| (kind, redrawn(&format!("{kind}-draft-drawn"), words, sequences)))
    };
    for (kind, screen) in typed("\x1b[2mfix the tests") {
        check(kind, &screen, "");
    }
    for (kind, screen) in typed("\x1b[90mfix the tests") {
        check(kind, &screen, "");
    }
    // The cursor stands on the first letter.
    for (kind, screen) in typed("\x1b[7mf\x1b[0;2mix the tests") {
        check(kind, &screen, "");
    }
    for partly in [
        "fix\x1b[2m the tests",
        "\x1b[2mfix the\x1b[22m tests",
        "f\x1b[7mi\x1b[0;2mx the tests",
        "\x1b[7mf\x1b[27mix the tests",
        "\x1b[38;5;153mfix the tests",
    ] {
        for (kind, screen) in typed(partly) {
            check(kind, &screen, "fix the tests");
        }
    }
}

#[test]
fn where_a_profile_names_no_hints_what_is_dim_is_a_draft() {
    let mut profile = builtin("codex").unwrap();
    profile.signs.placeholder.clear();
    profile.signs.hints.clear();
    let look = look(&profile, &drawn("codex-idle-drawn"));
    assert_eq!(look.composer.as_deref(), Some("Ask Codex to do anything"));
}
