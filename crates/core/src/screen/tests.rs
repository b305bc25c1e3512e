//! Recorded screens (`golden/`, the first line is the title) and what they must read as.

#![allow(clippy::unwrap_used)]

mod gemini;
mod hints;
mod opencode;
mod qwen;

use super::*;
use crate::profile::builtin;

fn screen(text: &str) -> Screen {
    let mut lines = text.lines();
    let title = lines.next().unwrap().strip_prefix("title:").unwrap().trim_start().to_owned();
    Screen { title, lines: lines.map(str::to_owned).collect(), ..Screen::default() }
}

fn golden(name: &str) -> Screen {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/screen/golden");
    screen(&std::fs::read_to_string(folder.join(name).with_extension("txt")).unwrap())
}

fn asks(says: &str) -> LookState {
    LookState::Asks { says: says.to_owned(), press: String::new() }
}

/// The state without what a person presses, which is not worth repeating.
fn state(look: &Look) -> LookState {
    match &look.state {
        LookState::Asks { says, press } => {
            assert!(!press.is_empty(), "a dialog needs a way out: {says}");
            asks(says)
        }
        other => other.clone(),
    }
}

/// Every recorded screen: its kind, its file, the state and the composer.
fn recorded() -> Vec<(&'static str, &'static str, LookState, Option<&'static str>)> {
    use LookState::{Busy, Idle, Limited, Unknown};
    let wrapped = Some("a draft that is much longer than the window is wide, sothat it must wrap somewhere");
    let rejected = "API Error: Request rejected (429) · You have hit your limit";
    let session = "You've hit your session limit · resets 3:31am (Europe/Berlin)";
    let until = "You’ve hit your usage limit. Upgrade to Pro (https://chatgpt.com/explore/pro), visit \
                 https://chatgpt.com/settings/ usage to purchase more credits or try again at Dec 1st, 2026 12:58 AM.";
    vec![
        ("claude-code", "trust", asks("asks whether to trust the folder"), None),
        ("claude-code", "api-key", asks("asks whether to use the API key"), None),
        ("claude-code", "bypass-warning", asks("asks whether to run without asking for permissions"), None),
        ("claude-code", "permission", asks("asks for a permission"), None),
        ("claude-code", "theme", asks("asks which colours suit the terminal"), None),
        ("claude-code", "security-notes", asks("shows its security notes"), None),
        ("claude-code", "login", asks("asks to sign in"), None),
        ("claude-code", "not-logged-in", asks("is not signed in"), None),
        (
            "claude-code",
            "resume-old",
            asks("asks whether to go on from a summary of its long conversation"),
            None,
        ),
        ("claude-code", "plan", asks("asks whether to carry out its plan"), None),
        ("claude-code", "plan-exit", asks("asks whether to carry out its plan"), None),
        ("claude-code", "question", asks("asks a question"), None),
        // The lowest prompt is the one that opened the menu.
        ("claude-code", "limit-menu", Limited(session.to_owned()), Some("/rate-limit-options")),
        ("claude-code", "limit-session", Limited(session.to_owned()), Some("")),
        ("claude-code", "idle-20", Idle, Some("")),
        ("claude-code", "draft-20", Idle, Some("a draft longerthan twenty")),
        ("claude-code", "busy-20", Busy, Some("")),
        ("claude-code", "permission-20", asks("asks for a permission"), None),
        ("claude-code", "trust-20", asks("asks whether to trust the folder"), None),
        ("claude-code", "idle-bypass", Idle, Some("")),
        ("claude-code", "idle-edits", Idle, Some("")),
        ("claude-code", "idle-ask", Idle, Some("")),
        ("claude-code", "quoted", Idle, Some("")),
        ("claude-code", "draft", Idle, Some("hello there")),
        ("claude-code", "draft-ask", Idle, Some("dr")),
        ("claude-code", "draft-narrow", Idle, wrapped),
        ("claude-code", "busy", Busy, Some("")),
        ("claude-code", "busy-ask", Busy, Some("")),
        ("claude-code", "limit", Limited(rejected.to_owned()), Some("")),
        ("claude-code", "queued", Busy, Some("")),
        (
            "codex",
            "trust",
            asks("asks whether to trust the folder"),
            Some("1. Trust and continue2. Back to Agent Command Center"),
        ),
        ("codex", "hooks", asks("asks to review its hooks"), None),
        ("codex", "approval", asks("asks for a permission"), None),
        ("codex", "starting", Unknown, Some("")),
        ("codex", "idle", Idle, Some("")),
        ("codex", "quoted", Idle, Some("")),
        ("codex", "slash-refused", Idle, Some("/agent-loop CC")),
        ("codex", "draft", Idle, Some("hello there")),
        ("codex", "draft-narrow", Idle, wrapped),
        ("codex", "busy", Busy, Some("")),
        ("codex", "busy-draft", Busy, Some("queued words")),
        ("codex", "queued", Busy, Some("")),
        ("codex", "limit", Limited(until.to_owned()), Some("")),
        ("hermes", "idle", Idle, Some("")),
        ("hermes", "draft", Idle, Some("a draft")),
        ("hermes", "busy", Busy, Some("")),
        ("hermes", "permission", asks("asks for a permission"), None),
        ("codex", "update", asks("asks whether to update itself"), None),
        ("codex", "resume-folder", asks("asks in which folder to go on"), None),
        ("codex", "login", asks("asks to sign in"), None),
        ("codex", "open-elsewhere", asks("has its conversation open in another window"), None),
        ("codex", "idle-20", Idle, Some("")),
        ("codex", "draft-20", Unknown, Some("a draft longerthan twenty")),
        ("codex", "busy-20", Busy, Some("")),
        ("codex", "approval-20", asks("asks something"), None),
    ]
}

#[test]
fn recorded_screens_read_as_what_they_are() {
    let mut wrong = Vec::new();
    for (kind, file, expected, composer) in recorded() {
        let look = look(&builtin(kind).unwrap(), &golden(&format!("{kind}-{file}")));
        if state(&look) != expected {
            wrong.push(format!("{kind} {file}: {look:?}"));
        }
        // A menu's pointer may look like a composer; nobody types into a dialog.
        if !matches!(expected, LookState::Asks { .. }) && look.composer.as_deref() != composer {
            wrong.push(format!("{kind} {file}: {look:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// An idle screen of the kind, in which the agent has just said `reply`.
fn idle_after(kind: &str, reply: &[String]) -> Screen {
    let border = "─".repeat(120);
    let (title, bottom): (&str, Vec<&str>) = match kind {
        "claude-code" => (
            "✳ Claude Code",
            vec![
                "",
                "✻ Crunched for 2s",
                "",
                &border,
                "❯",
                &border,
                "  ⏵⏵ accept edits on (shift+tab to cycle)",
            ],
        ),
        "codex" => (
            "fix the parser | the-parser",
            vec![
                "",
                "› Ask Codex to do anything",
                "",
                "  gpt-5 default · ~/projects/the-parser · fix the parser",
                "  ← for agents · ? for shortcuts",
            ],
        ),
        "hermes" => ("host", vec!["", " ⚕ stub-model │ 5/200K", &border, "❯", &border]),
        _ => ("CC", vec!["", "❯"]),
    };
    let said = reply.iter().map(String::as_str);
    let lines = ["❯ what does it look like?", ""].into_iter().chain(said).chain(bottom);
    Screen { title: title.to_owned(), lines: lines.map(str::to_owned).collect(), ..Screen::default() }
}

/// The scripted agents' screens, which no CLI had to be recorded for.
fn scripted() -> Vec<(&'static str, LookState, Option<&'static str>)> {
    use LookState::{Busy, Idle, Limited, Unknown};
    vec![
        ("title: CC\nhello\n\n❯", Idle, Some("")),
        ("title: CC\nhello\n\n❯ /agent-loop CC", Idle, Some("/agent-loop CC")),
        ("title: CC\nhello\n\n❯ /agent-loop\n   小明", Idle, Some("/agent-loop 小明")),
        ("title: ✻ CC\nhello\n\n… working (esc to interrupt)\n❯", Busy, Some("")),
        ("title: CC\nhello\n\n… working (esc to interrupt)\n❯ draft", Busy, Some("draft")),
        ("title: CC\nhello\n\nworking, esc to interrupt", Busy, None),
        ("title: CC\nhello\n\n? may I?\n  press y or n", asks("may I?"), None),
        ("title: CC\nhello\n\n? may I?", asks("may I?"), None),
        (
            "title: CC\nhello\n\nlimit reached, resets 3pm\n❯",
            Limited("limit reached, resets 3pm".into()),
            Some(""),
        ),
        (
            "title: CC\n? usage limit reached, resets 3pm\n  press y",
            Limited("usage limit reached, resets 3pm".into()),
            None,
        ),
        ("title: host\nroot@host:~# ", Unknown, None),
        ("title: \n", Unknown, None),
    ]
}

#[test]
fn scripted_screens_read_as_what_they_are() {
    for (text, expected, composer) in scripted() {
        let look = look(&builtin("scripted").unwrap(), &screen(text));
        assert_eq!((state(&look), look.composer.as_deref()), (expected, composer), "{text}");
    }
}

/// An agent that shows somebody what a dialog, a limit or a busy window looks like has nothing of the sort itself.
#[test]
fn what_a_reply_quotes_does_not_count() {
    let files = recorded().into_iter().map(|(kind, file, ..)| (kind, golden(&format!("{kind}-{file}"))));
    let scripted = scripted().into_iter().map(|(text, ..)| ("scripted", screen(text)));
    let limit = ("claude-code", screen(CLAUDE_LIMIT));
    for (kind, shown) in files.chain(scripted).chain([limit]) {
        let mut reply = vec!["● It looks like this:".to_owned(), String::new()];
        reply.extend(shown.lines.iter().map(|line| format!("  {line}")));
        reply.extend([String::new(), "  And that is all.".to_owned()]);
        let screen = idle_after(kind, &reply);
        let look = look(&builtin(kind).unwrap(), &screen);
        assert_eq!(
            look,
            Look { state: LookState::Idle, composer: Some(String::new()), dialog: None },
            "{screen:#?}"
        );
    }
}

const CLAUDE_LIMIT: &str = "title: ✳ Claude Code
❯ /agent-loop CC

  ⎿  5-hour limit reached ∙ resets 3pm
     /upgrade to increase your usage limit.

────────────────────────────────────────────────────
❯
────────────────────────────────────────────────────
  ⏵⏵ accept edits on (shift+tab to cycle)
";

#[test]
fn a_limit_counts_until_the_next_turn() {
    let profile = builtin("claude-code").unwrap();
    let limited = screen(CLAUDE_LIMIT);
    let found = look(&profile, &limited);
    assert_eq!(found.state, LookState::Limited("5-hour limit reached ∙ resets 3pm".to_owned()));
    let later = CLAUDE_LIMIT.replace("limit.\n", "limit.\n\n❯ go on\n\n● Done.\n");
    assert_eq!(look(&profile, &screen(&later)).state, LookState::Idle);
}

/// A menu of a kind that no rule has words for is a menu all the same.
#[test]
fn an_unknown_menu_is_a_menu() {
    let claude = "title: ✳ Claude Code\n❯ go\n\n Which one?\n\n ❯ 1. This\n     with more\n   2. That\n\n Enter to select\n";
    let codex = "title: x\n› go\n\n  Which one?\n\n  1. This\n› 2. That\n\n  Press enter to continue\n";
    for (kind, text) in [("claude-code", claude), ("codex", codex)] {
        assert_eq!(state(&look(&builtin(kind).unwrap(), &screen(text))), asks("shows a menu"), "{kind}");
    }
}

/// Every rule of the three kinds that must be right is the one that decides some screen above.
#[test]
fn no_rule_is_without_a_screen() {
    for kind in ["claude-code", "codex", "scripted"] {
        let mut screens: Vec<Screen> = recorded()
            .into_iter()
            .filter(|(other, ..)| *other == kind)
            .map(|(kind, file, ..)| golden(&format!("{kind}-{file}")))
            .collect();
        match kind {
            "scripted" => screens.extend(scripted().into_iter().map(|(text, ..)| screen(text))),
            "claude-code" => screens.push(screen(CLAUDE_LIMIT)),
            _ => {}
        }
        let signs = CompiledSigns::new(&builtin(kind).unwrap().signs).unwrap();
        let rules = [&signs.ready, &signs.busy, &signs.blocked, &signs.limited];
        for rule in rules.into_iter().flatten() {
            let found = screens.iter().any(|screen| rule.found(&View::new(screen)).is_some());
            assert!(found, "{kind}: {}", rule.matches);
        }
    }
}

#[test]
fn the_composer_holds_a_text_however_it_is_wrapped() {
    let look = Look { state: LookState::Idle, composer: Some("/agent-loop小明".to_owned()), dialog: None };
    assert!(look.holds("/agent-loop 小明"));
    assert!(!look.holds("/agent-loop 小"));
    assert!(!Look { state: LookState::Idle, composer: None, dialog: None }.holds(""));
}

#[test]
fn any_screen_can_be_looked_at() {
    use proptest::prelude::*;
    let line = prop_oneof![
        Just("❯ 1. x".to_owned()),
        Just("› ".to_owned()),
        Just("  esc to interrupt".to_owned()),
        Just("? what".to_owned()),
        ".{0,20}",
        Just(String::new()),
    ];
    let profiles: Vec<Profile> = crate::profile::kinds().iter().filter_map(|row| builtin(row.kind)).collect();
    proptest!(ProptestConfig::with_cases(256), |(title in ".{0,8}", lines in proptest::collection::vec(line, 0..50))| {
        let screen = Screen { title, lines, ..Screen::default() };
        for profile in &profiles {
            prop_assert_eq!(look(profile, &screen), look(profile, &screen));
        }
    });
}

/// Compares recorded screens of a kind with what they must read as.
fn read_as(kind: &str, recorded: Vec<(&str, LookState, Option<&str>)>) {
    let mut wrong = Vec::new();
    for (file, expected, composer) in recorded {
        let look = look(&builtin(kind).unwrap(), &golden(&format!("{kind}-{file}")));
        // A menu's pointer may look like a composer; nobody types into a dialog.
        let blocked = composer.is_none() && !matches!(expected, LookState::Unknown);
        if state(&look) != expected || (!blocked && look.composer.as_deref() != composer) {
            wrong.push(format!("{kind} {file}: {look:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Lets a reply quote every recorded screen of a kind above an idle composer.
fn quoted_counts_for_nothing(
    kind: &str,
    recorded: Vec<(&str, LookState, Option<&str>)>,
    idle_after: impl Fn(&[String]) -> Screen,
) {
    for (file, ..) in recorded {
        for indent in ["  ", "     1 "] {
            let mut reply = vec!["✦ It looks like this:".to_owned(), String::new()];
            let shown = golden(&format!("{kind}-{file}"));
            reply.extend(shown.lines.iter().map(|line| format!("{indent}{line}")));
            reply.extend([String::new(), "  And that is all.".to_owned()]);
            let screen = idle_after(&reply);
            let look = look(&builtin(kind).unwrap(), &screen);
            assert_eq!(
                (look.state, look.composer.as_deref()),
                (LookState::Idle, Some("")),
                "{file}: {screen:#?}"
            );
        }
    }
}

/// Every rule of a kind is met by some recorded screen.
fn every_rule_decides(kind: &str, recorded: Vec<(&str, LookState, Option<&str>)>) {
    let screens: Vec<Screen> =
        recorded.into_iter().map(|(file, ..)| golden(&format!("{kind}-{file}"))).collect();
    let signs = CompiledSigns::new(&builtin(kind).unwrap().signs).unwrap();
    let rules = [&signs.ready, &signs.busy, &signs.blocked, &signs.limited];
    for rule in rules.into_iter().flatten() {
        let found = screens.iter().any(|screen| rule.found(&View::new(screen)).is_some());
        assert!(found, "{kind}: {}", rule.matches);
    }
}
