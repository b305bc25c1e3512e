//! What stands in an agent's composer, also where it is broken over several lines.

use loop_core::Profile;
use loop_core::screen::{Look, Screen};
use regex::Regex;

/// What the composer holds, compared with our text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Holds {
    /// There is no composer on the screen.
    Unseen,
    /// Nothing.
    Nothing,
    /// Exactly our text.
    Ours,
    /// Something else; as it stands there.
    Foreign(String),
}

/// Compares what the composer holds with `text`.
///
/// CLIs break long drafts themselves, where they like and with an indentation, so blanks do not count. Where the
/// profile does not say how a broken draft goes on, the lines below are joined as long as what they give is the
/// beginning of our text.
pub(super) fn holds(profile: &Profile, screen: &Screen, look: &Look, text: &str) -> Holds {
    let Some(draft) = look.composer.as_deref() else { return Holds::Unseen };
    let ours = bare(text);
    let mut seen = bare(draft);
    if seen.is_empty() {
        return Holds::Nothing;
    }
    let mut shown = draft.trim().to_owned();
    let below = if profile.signs.wrapped.is_none() { lines_below(profile, screen) } else { &[] };
    for line in below {
        if seen == ours || !ours.starts_with(&seen) {
            break;
        }
        let inner = line.trim_matches(is_frame).trim();
        if inner.is_empty() {
            break;
        }
        seen.push_str(&bare(inner));
        shown.push(' ');
        shown.push_str(inner);
    }
    if seen == ours { Holds::Ours } else { Holds::Foreign(shown) }
}

/// The lines below the composer's first one.
fn lines_below<'a>(profile: &Profile, screen: &'a Screen) -> &'a [String] {
    let sign = profile.signs.composer.as_deref().and_then(|pattern| Regex::new(pattern).ok());
    let Some(sign) = sign else { return &[] };
    let composer = screen.lines.iter().rposition(|line| sign.is_match(line));
    composer.and_then(|line| screen.lines.get(line + 1..)).unwrap_or_default()
}

fn bare(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

fn is_frame(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{2500}'..='\u{259f}' | '|')
}

#[cfg(test)]
mod tests {
    use loop_core::screen::LookState;

    use super::*;
    use crate::kinds::testing::session;

    fn check(lines: &[&str], draft: Option<&str>, expected: &Holds) {
        let mut profile = session("tmux").profile;
        profile.signs.composer = Some("^[│ ]*❯ ?(.*)$".into());
        let screen =
            Screen { title: String::new(), lines: lines.iter().map(|line| (*line).to_owned()).collect() };
        let look = Look { state: LookState::Idle, composer: draft.map(str::to_owned), dialog: None };
        assert_eq!(holds(&profile, &screen, &look, "/agent-loop 小明"), *expected, "{lines:?}");
    }

    #[test]
    fn our_text_is_recognised_however_it_is_broken() {
        let foreign = |text: &str| Holds::Foreign(text.to_owned());
        check(&[], None, &Holds::Unseen);
        check(&["❯ "], Some(""), &Holds::Nothing);
        check(&["❯ /agent-loop 小明"], Some("/agent-loop 小明"), &Holds::Ours);
        check(&["❯ /agent-", "  loop 小", "  明"], Some("/agent-"), &Holds::Ours);
        check(&["│ ❯ /agent-loop │", "│ 小明 │", "╰────╯", " ? help"], Some("/agent-loop"), &Holds::Ours);
        check(&["❯ /agent-loop 小明x"], Some("/agent-loop 小明x"), &foreign("/agent-loop 小明x"));
        check(&["❯ fix this/agent-", "loop 小明"], Some("fix this/agent-"), &foreign("fix this/agent-"));
        check(
            &["❯ /agent-loop", "小明 and more"],
            Some("/agent-loop"),
            &foreign("/agent-loop 小明 and more"),
        );
        check(&["❯ /agent-loop", "", "小明"], Some("/agent-loop"), &foreign("/agent-loop"));
    }
}
