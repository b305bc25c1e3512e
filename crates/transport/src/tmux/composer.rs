//! What stands in an agent's composer, also where it is broken over several lines.

use std::sync::atomic::{AtomicUsize, Ordering};

use loop_core::Profile;
use loop_core::profile::Signs;
use loop_core::screen::{Look, Screen};
use regex::{Regex, RegexBuilder};

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
    // A box is read as a whole.
    let is_whole = profile.signs.wrapped.is_some() || profile.signs.edge.is_some();
    let below = if is_whole { &[] } else { lines_below(profile, screen) };
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

/// Finds what the composer's lines begin with.
pub(super) struct Prompt {
    composer: Regex,
    edge: Option<Regex>,
}

impl Prompt {
    pub(super) fn new(signs: &Signs) -> Option<Self> {
        let regex = |pattern: &String| RegexBuilder::new(pattern).multi_line(true).build().ok();
        Some(Self {
            composer: signs.composer.as_ref().and_then(regex)?,
            edge: signs.edge.as_ref().and_then(regex),
        })
    }

    /// What the composer's line begins with, before the draft, or what its box has for a border on the left; `None`
    /// where there is none of them or a line begins with the draft.
    pub(super) fn find(&self, screen: &Screen) -> Option<String> {
        let lines = &screen.lines;
        let prompt = if let Some(edge) = &self.edge {
            let line = lines[..lines.iter().rposition(|line| edge.is_match(line))?].last()?;
            let indentation = line.len() - line.trim_start().len();
            let border = line[indentation..].chars().next().filter(|c| !c.is_alphanumeric())?;
            &line[..indentation + border.len_utf8()]
        } else {
            let found = |line: &'_ String| {
                let found = self.composer.captures(line)?;
                Some(found.get(1).map_or(line.len(), |draft| draft.start()))
            };
            let (line, end) = lines.iter().rev().find_map(|line| Some((line, found(line)?)))?;
            line[..end].trim_end()
        };
        (!prompt.trim().is_empty()).then(|| prompt.to_owned())
    }

    /// The first line that belongs to the composer; `None` where there is none.
    pub(super) fn top(&self, screen: &Screen) -> Option<usize> {
        let lines = &screen.lines;
        let Some(edge) = &self.edge else {
            return lines.iter().rposition(|line| self.composer.is_match(line));
        };
        let edge = lines.iter().rposition(|line| edge.is_match(line))?;
        let border = |line: &String| line.trim_start().chars().next().filter(|c| !c.is_alphanumeric());
        let box_has = border(lines[..edge].last()?)?;
        let above = lines[..edge].iter().rposition(|line| border(line) != Some(box_has));
        Some(above.map_or(0, |above| above + 1))
    }
}

/// How often `text` stands on the screen, in the composer and among what the agent was told.
pub(super) fn echoes(screen: &Screen, text: &str) -> usize {
    let solid = |line: &String| line.chars().filter(|c| !is_frame(*c)).collect::<String>();
    let shown: String = screen.lines.iter().map(solid).collect();
    shown.matches(bare(text).as_str()).count()
}

/// Whether a draft holds our text, or a beginning of it that somebody is adding to.
pub(super) fn is_part(text: &str, draft: &str) -> bool {
    bare(draft).contains(&bare(text))
}

/// Whether the composer's line is the last one: then it may be a prompt whose line stays where it was typed.
pub(super) fn is_last_line(profile: &Profile, screen: &Screen) -> bool {
    lines_below(profile, screen).iter().all(|line| line.trim().is_empty())
}

/// Reads a composer of which the profile does not say where it is: by our text that comes up where there was none.
#[derive(Debug)]
pub(super) struct Blind {
    /// Lines that are our text, and its echoes, before it was put in.
    before: (usize, usize),
    /// Where it stands, counted from the last line; none yet: the greatest number.
    at: AtomicUsize,
}

impl Blind {
    /// `screen` is what was seen before our text was put in.
    pub(super) fn new(screen: &Screen, text: &str) -> Self {
        let before = (standing(screen, text).len(), echoes(screen, text));
        Self { before, at: AtomicUsize::new(usize::MAX) }
    }

    pub(super) fn holds(&self, screen: &Screen, text: &str) -> Holds {
        let found = standing(screen, text);
        let at = self.at.load(Ordering::Relaxed);
        match found.last() {
            Some(place) if at == usize::MAX && found.len() > self.before.0 => {
                self.at.store(*place, Ordering::Relaxed);
                Holds::Ours
            }
            Some(_) if found.contains(&at) => Holds::Ours,
            _ if at == usize::MAX && echoes(screen, text) > self.before.1 => {
                Holds::Foreign("our text, with other text around it".to_owned())
            }
            _ => Holds::Nothing,
        }
    }
}

/// The places, counted from the last line, of lines that are nothing but `text`; a frame and a prompt aside.
fn standing(screen: &Screen, text: &str) -> Vec<usize> {
    let ours = bare(text);
    let solid = |line: &String| line.chars().filter(|c| !is_frame(*c)).collect::<String>();
    let lines: Vec<String> = screen.lines.iter().map(solid).collect();
    let prompts = ['>', '❯', '›', '*'];
    let filled = lines.iter().rposition(|line| !line.is_empty()).unwrap_or(0);
    let begins = |at: usize| {
        let first = lines[at].strip_prefix(prompts).unwrap_or(&lines[at]);
        let mut joined = String::new();
        !first.is_empty()
            && std::iter::once(first).chain(lines[at + 1..].iter().map(String::as_str)).any(|line| {
                joined.push_str(line);
                joined == ours
            })
    };
    (0..lines.len()).filter(|at| begins(*at)).map(|at| filled - at.min(filled)).collect()
}

pub(super) fn bare(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

pub(super) fn is_frame(c: char) -> bool {
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
        let screen = Screen {
            title: String::new(),
            lines: lines.iter().map(|line| (*line).to_owned()).collect(),
            ..Screen::default()
        };
        let look = Look { state: LookState::Idle, composer: draft.map(str::to_owned), dialog: None };
        assert_eq!(holds(&profile, &screen, &look, "/agent-loop 小明"), *expected, "{lines:?}");
    }

    fn screen(lines: &[&str]) -> Screen {
        Screen {
            title: String::new(),
            lines: lines.iter().map(|line| (*line).to_owned()).collect(),
            ..Screen::default()
        }
    }

    #[test]
    fn our_text_is_found_where_nobody_says_where_the_composer_is() {
        let text = "/agent-loop CC";
        let before = screen(&["  ┃  /agent-loop CC", "     done", "  ┃", "  ┃  Build", "  tab agents"]);
        let blind = Blind::new(&before, text);
        assert_eq!(blind.holds(&before, text), Holds::Nothing);
        let glued =
            screen(&["  ┃  /agent-loop CC", "     done", "  ┃  y/agent-loop CC", "  ┃  Build", "  tab"]);
        assert!(matches!(blind.holds(&glued, text), Holds::Foreign(_)));
        let stands =
            screen(&["  ┃  /agent-loop CC", "     done", "  ┃  /agent-", "  ┃  loop CC", "  tab agents"]);
        assert_eq!(blind.holds(&stands, text), Holds::Ours);
        assert_eq!(blind.holds(&stands, text), Holds::Ours);
        assert_eq!(blind.holds(&glued, text), Holds::Nothing, "it stood there alone, and does no more");
        let taken =
            screen(&["  ┃  /agent-loop CC", "  ┃  /agent-loop CC", "  ┃", "  ┃  Build", "  esc interrupt"]);
        assert_eq!(blind.holds(&taken, text), Holds::Nothing);
    }

    #[test]
    fn the_prompt_is_what_stands_before_the_draft() {
        let check = |composer: &str, edge: Option<&str>, lines: &[&str], expected: Option<&str>| {
            let signs = Signs {
                composer: Some(composer.to_owned()),
                edge: edge.map(str::to_owned),
                ..Signs::default()
            };
            let found = Prompt::new(&signs).and_then(|prompt| prompt.find(&screen(lines)));
            assert_eq!(found.as_deref(), expected, "{lines:?}");
        };
        check(r"^❯\s?(.*)$", None, &["❯ hello", "● done", "❯\u{a0}", "───"], Some("❯"));
        check(r"^ [>*!](?: {1,3}(.*))?$", None, &[" >   /agent-loop CC"], Some(" >"));
        check(r"^ [>*!](?: {1,3}(.*))?$", None, &[" *"], Some(" *"));
        check(r"^(.*)$", None, &["hello"], None);
        check(r"^❯\s?(.*)$", None, &["hello"], None);
        check("(.*)", Some("╹▀{5,}"), &["  ┃  told", "", "  ┃  draft", "  ┃", "  ╹▀▀▀▀▀"], Some("  ┃"));
        check("(.*)", Some("╹▀{5,}"), &["words", "  ╹▀▀▀▀▀"], None);
        check("(.*)", Some("╹▀{5,}"), &["  ╹▀▀▀▀▀"], None);
    }

    #[test]
    fn the_composer_begins_at_its_prompt_or_at_the_top_of_its_box() {
        let check = |edge: Option<&str>, lines: &[&str], expected: Option<usize>| {
            let composer = Some(r"^❯\s?(.*)$".to_owned());
            let signs = Signs { composer, edge: edge.map(str::to_owned), ..Signs::default() };
            let top = Prompt::new(&signs).and_then(|prompt| prompt.top(&screen(lines)));
            assert_eq!(top, expected, "{lines:?}");
        };
        check(None, &["❯ hello", "● done", "❯ draft", "───"], Some(2));
        check(None, &["hello"], None);
        let edge = Some("╹▀{5,}");
        check(edge, &["  ┃  told", "", "  ┃", "  ┃  draft", "  ┃", "  ╹▀▀▀▀▀", "  tab agents"], Some(2));
        check(edge, &["  ┃  draft", "  ╹▀▀▀▀▀"], Some(0));
        check(edge, &["words", "  ╹▀▀▀▀▀"], None);
        check(edge, &["  ╹▀▀▀▀▀"], None);
    }

    #[test]
    fn echoes_are_counted_however_they_are_broken() {
        let shown = screen(&["❯ /agent-loop CC", "● ok", "❯ /agent-", "  loop CC", "───", "❯", "───"]);
        assert_eq!(echoes(&shown, "/agent-loop CC"), 2);
        assert!(is_part("/agent-loop CC", "wait /agent- loop CCx") && !is_part("/agent-loop CC", "wait"));
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
