//! What an agent's window shows, read with its profile's signs.
//!
//! An agent's reply may quote anything, also a dialog or a limit. So rules look at the title or at the bottom of
//! the screen, where the CLI draws and the agent does not, and are anchored at its end. What no rule knows is
//! [`LookState::Unknown`]: nothing is typed then.

mod boxed;
mod drawn;

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use regex::{Regex, RegexBuilder};

pub(crate) use drawn::Hint;
pub use drawn::Style;

use crate::profile::{Place, Profile, Rule, Signs};

/// How many lines that are not blank make the bottom of the screen.
const BOTTOM_LINES: usize = 8;

/// The most memory that one compiled expression may take. A stranger's file holds them too.
const REGEX_BYTES: usize = 1 << 20;

/// The visible screen of a window.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Screen {
    /// The pane's title.
    pub title: String,
    /// The visible lines from top to bottom, without escape sequences.
    pub lines: Vec<String>,
    /// How each of their characters is drawn; empty where nobody knows.
    pub styles: Vec<Vec<Style>>,
}

/// What the screen says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    /// The agent's state.
    pub state: LookState,
    /// The composer's draft; `None` when no composer was found. Placeholders and hints read as empty.
    pub composer: Option<String>,
    /// The dialog it asks with, where its rule has a name.
    pub dialog: Option<Dialog>,
}

/// A dialog that can be answered by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dialog {
    /// Its name (`trust`).
    pub name: String,
    /// The keys that answer it, as tmux names them; none where only a person answers it.
    pub keys: Vec<String>,
}

impl Look {
    /// Whether the composer holds `text` and nothing else. White space does not count: where a CLI breaks a line by
    /// itself cannot be seen.
    pub fn holds(&self, text: &str) -> bool {
        let solid = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
        self.composer.as_deref().is_some_and(|draft| solid(draft) == solid(text))
    }
}

/// The agent's state by its screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LookState {
    /// It takes input and does nothing.
    Idle,
    /// It works.
    Busy,
    /// It shows a dialog or asks something: what, and what a person presses.
    Asks {
        /// What it asks, in words.
        says: String,
        /// What a person presses.
        press: String,
    },
    /// It has met a usage limit; the text says until when, as it stands on the screen.
    Limited(String),
    /// No rule matches: say so, never type.
    Unknown,
}

/// Reads a screen. Pure: the same screen always reads the same.
///
/// Compiling expressions costs more than matching them, and every window is looked at several times a second, so
/// the last few profiles' expressions are kept.
pub fn look(profile: &Profile, screen: &Screen) -> Look {
    match kept(&profile.signs) {
        Some(signs) => signs.look(screen),
        // Profiles are compiled when they are read, so this is one that was made by hand.
        None => Look { state: LookState::Unknown, composer: None, dialog: None },
    }
}

/// How many profiles' expressions are kept; a loop rarely has more than a handful of kinds.
const KEPT: usize = 32;

static COMPILED: Mutex<VecDeque<(Signs, Arc<CompiledSigns>)>> = Mutex::new(VecDeque::new());

fn kept(signs: &Signs) -> Option<Arc<CompiledSigns>> {
    // Nothing in the queue is ever half changed, so one that a panic poisoned is as good as before.
    let mut queue = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, compiled)) = queue.iter().find(|(known, _)| known == signs) {
        return Some(Arc::clone(compiled));
    }
    let compiled = Arc::new(CompiledSigns::new(signs).ok()?);
    if queue.len() == KEPT {
        queue.pop_front();
    }
    queue.push_back((signs.clone(), Arc::clone(&compiled)));
    Some(compiled)
}

/// A profile's signs, compiled once.
#[derive(Debug, Clone)]
pub struct CompiledSigns {
    ready: Vec<CompiledRule>,
    busy: Vec<CompiledRule>,
    blocked: Vec<CompiledRule>,
    limited: Vec<CompiledRule>,
    composer: Option<Regex>,
    edge: Option<Regex>,
    wrapped: Option<Regex>,
    placeholder: Vec<Regex>,
    hints: Vec<Hint>,
}

#[derive(Debug, Clone)]
struct CompiledRule {
    place: Place,
    matches: Regex,
    says: String,
    press: String,
    dialog: Option<Dialog>,
}

impl CompiledSigns {
    /// Compiles the expressions of `signs`.
    ///
    /// # Errors
    /// Fails when one of them is no regular expression; those of a profile that was read never are.
    pub fn new(signs: &Signs) -> Result<Self, String> {
        let rules =
            |rules: &[Rule]| -> Result<Vec<CompiledRule>, String> { rules.iter().map(compiled).collect() };
        let line = |pattern: &Option<String>| {
            pattern.as_deref().map(|pattern| checked_regex(pattern, Group::Needed)).transpose()
        };
        let placeholder = signs.placeholder.iter().map(|pattern| checked_regex(pattern, Group::Optional));
        Ok(Self {
            ready: rules(&signs.ready)?,
            busy: rules(&signs.busy)?,
            blocked: rules(&signs.blocked)?,
            limited: rules(&signs.limited)?,
            composer: line(&signs.composer)?,
            edge: signs.edge.as_deref().map(|pattern| checked_regex(pattern, Group::Optional)).transpose()?,
            wrapped: line(&signs.wrapped)?,
            placeholder: placeholder.collect::<Result<_, _>>()?,
            hints: signs.hints.iter().filter_map(|hint| Hint::new(hint)).collect(),
        })
    }

    /// Reads a screen.
    pub fn look(&self, screen: &Screen) -> Look {
        let view = View::new(screen);
        let (state, dialog) = self.state(&view);
        Look { state, composer: self.draft(&view), dialog }
    }

    fn state(&self, view: &View<'_>) -> (LookState, Option<Dialog>) {
        let first = |rules: &[CompiledRule]| rules.iter().find_map(|rule| rule.found(view));
        if let Some((rule, says)) = self.limited.iter().find_map(|rule| Some((rule, rule.found(view)?))) {
            return (LookState::Limited(says), rule.dialog.clone());
        }
        if let Some((rule, says)) = self.blocked.iter().find_map(|rule| Some((rule, rule.found(view)?))) {
            let says = if rule.says.is_empty() { says } else { rule.says.clone() };
            return (LookState::Asks { says, press: rule.press.clone() }, rule.dialog.clone());
        }
        if first(&self.busy).is_some() {
            return (LookState::Busy, None);
        }
        if first(&self.ready).is_some() {
            return (LookState::Idle, None);
        }
        (LookState::Unknown, None)
    }

    /// The draft inside the composer's box, or in the lowest line that looks like a composer with the lines that
    /// continue it.
    fn draft(&self, view: &View<'_>) -> Option<String> {
        let composer = self.composer.as_ref()?;
        let lines: Vec<&str> = view.screen.lines().collect();
        let lowest = lines.len() - view.bottom_height;
        if let Some(edge) = &self.edge {
            let inside = boxed::inside(edge, &lines, lowest)?;
            let text = inside.text(&lines);
            let group = composer.captures(&text)?.get(1);
            let draft = group.map_or("", |group| group.as_str());
            let draft = self.without_placeholder(&draft.lines().map(str::trim).collect::<Vec<_>>().join(" "));
            let pieces = group.map(|group| inside.pieces(group.range())).unwrap_or_default();
            return Some(self.without_hint(draft, view, &lines, &pieces));
        }
        let (at, found) =
            (lowest..lines.len()).rev().find_map(|at| Some((at, composer.captures(lines[at])?)))?;
        let mut draft = String::new();
        let mut pieces: Vec<Piece> = Vec::new();
        if let Some(group) = found.get(1) {
            draft.push_str(group.as_str());
            pieces.push((at, group.range()));
        }
        for (below, line) in lines.iter().enumerate().skip(at + 1) {
            let continued = self.wrapped.as_ref().and_then(|wrapped| wrapped.captures(line)?.get(1));
            let Some(group) = continued else { break };
            draft.push_str(group.as_str());
            pieces.push((below, group.range()));
        }
        Some(self.without_hint(self.without_placeholder(&draft), view, &lines, &pieces))
    }

    /// Nothing where all of the draft is drawn as hints are.
    fn without_hint(&self, draft: String, view: &View<'_>, lines: &[&str], pieces: &[Piece]) -> String {
        if draft.is_empty() || self.hints.is_empty() {
            return draft;
        }
        let drawn = pieces.iter().flat_map(|(at, range)| {
            let first = lines[*at][..range.start].chars().count();
            let characters = lines[*at][range.clone()].chars().enumerate();
            characters.map(move |(behind, c)| (c, view.of.style(*at, first + behind)))
        });
        if drawn::is_hint(&self.hints, drawn) { String::new() } else { draft }
    }

    fn without_placeholder(&self, draft: &str) -> String {
        let draft = draft.trim();
        let is_placeholder = self.placeholder.iter().any(|pattern| pattern.is_match(draft));
        if is_placeholder { String::new() } else { draft.to_owned() }
    }
}

impl CompiledRule {
    /// What the rule found, in one line: its first group, or else the first line of what it matched.
    fn found(&self, view: &View<'_>) -> Option<String> {
        let text = match self.place {
            Place::Title => view.title,
            Place::Bottom => &view.bottom,
            Place::Screen => &view.screen,
        };
        let captures = self.matches.captures(text)?;
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        Some(match (captures.get(1), captures.get(0)) {
            (Some(group), _) => words(group.as_str()),
            (None, found) => words(found.and_then(|found| found.as_str().lines().next()).unwrap_or_default()),
        })
    }
}

/// A part of a line of the screen: which line, and its bytes.
type Piece = (usize, Range<usize>);

/// A screen as the rules see it.
struct View<'a> {
    of: &'a Screen,
    title: &'a str,
    screen: String,
    bottom: String,
    /// How many lines of the screen the bottom is made of, blank ones included.
    bottom_height: usize,
}

impl<'a> View<'a> {
    fn new(screen: &'a Screen) -> Self {
        let mut lines: Vec<&str> = screen.lines.iter().map(|line| line.trim_end()).collect();
        while lines.last().is_some_and(|line| line.is_empty()) {
            lines.pop();
        }
        let filled = lines.iter().enumerate().rev().filter(|(_, line)| !line.is_empty());
        let first = filled.take(BOTTOM_LINES).last().map_or(lines.len(), |(at, _)| at);
        let bottom: Vec<&str> = lines[first..].iter().copied().filter(|line| !line.is_empty()).collect();
        Self {
            of: screen,
            title: &screen.title,
            screen: lines.join("\n"),
            bottom: bottom.join("\n"),
            bottom_height: lines.len() - first,
        }
    }
}

fn compiled(rule: &Rule) -> Result<CompiledRule, String> {
    Ok(CompiledRule {
        place: rule.place,
        matches: checked_regex(&rule.matches, Group::Optional)?,
        says: rule.says.clone(),
        press: rule.press.clone(),
        dialog: (!rule.name.is_empty()).then(|| Dialog { name: rule.name.clone(), keys: rule.keys.clone() }),
    })
}

/// Whether an expression must have a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    Needed,
    Optional,
}

/// Compiles an expression as the rules use it, `^` and `$` at each line, or says why not in one line.
pub(crate) fn checked_regex(pattern: &str, group: Group) -> Result<Regex, String> {
    let compiled = RegexBuilder::new(pattern).multi_line(true).size_limit(REGEX_BYTES).build();
    let regex = compiled.map_err(|error| {
        let text = error.to_string();
        let last = text.lines().last().unwrap_or_default().trim();
        last.trim_start_matches("error: ").to_owned()
    })?;
    if group == Group::Needed && regex.captures_len() < 2 {
        return Err("it needs a group, `(…)`, for what is wanted".to_owned());
    }
    Ok(regex)
}

#[cfg(test)]
mod tests;
