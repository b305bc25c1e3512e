//! From a picture to the bytes that draw it.

use std::time::Duration;

use loop_testkit::terminal::{cut, width};

use crate::personas::{Dialog, Persona};

/// What there is to be seen of an agent.
pub(crate) struct View<'a> {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    /// It shows what it shows before it takes input.
    pub(crate) is_starting: bool,
    /// A new version has changed its screen.
    pub(crate) is_updated: bool,
    pub(crate) is_busy: bool,
    /// For how long it has worked; spinners turn with it.
    pub(crate) worked: Duration,
    pub(crate) composer: &'a str,
    /// Dim in the empty composer.
    pub(crate) ghost: Option<&'a str>,
    pub(crate) queue: &'a [String],
    /// What it was told and what it said, each as `(is it the user's, text)`.
    pub(crate) told: &'a [(bool, String)],
    /// A line that goes away by itself (`Slash commands cannot be queued`).
    pub(crate) notice: Option<&'a str>,
    pub(crate) dialog: Option<&'a Dialog>,
    pub(crate) is_limited: bool,
    /// Completions are listed.
    pub(crate) popup: bool,
}

impl View<'_> {
    /// The spinner's place among `count`.
    pub(crate) fn frame(&self, count: usize) -> usize {
        usize::try_from(self.worked.as_millis() / 120).unwrap_or(0) % count.max(1)
    }
}

/// What a persona draws.
#[derive(Debug, Default)]
pub(crate) struct Picture {
    /// The window's title; `None` leaves it.
    pub(crate) title: Option<String>,
    /// What scrolls.
    pub(crate) above: Vec<String>,
    /// What stands at the bottom.
    pub(crate) below: Vec<String>,
    /// The bottom stands at the window's end also when there is room above it.
    pub(crate) at_the_end: bool,
}

/// Marks in a line that say how what follows is drawn, and what the terminal gets for them.
const MARKS: [(char, &str); 5] = [
    (DIM, "\x1b[2m"),
    (GREY, "\x1b[38;5;8m"),
    (THEME, "\x1b[38;5;248m"),
    (CURSOR, "\x1b[7m"),
    (PLAIN, "\x1b[0m"),
];
const DIM: char = '\u{e000}';
const GREY: char = '\u{e001}';
const CURSOR: char = '\u{e002}';
const PLAIN: char = '\u{e003}';
const THEME: char = '\u{e004}';

/// Words that are drawn dim.
pub(crate) fn dim(text: &str) -> String {
    format!("{DIM}{text}{PLAIN}")
}

/// Words that are drawn grey.
pub(crate) fn grey(text: &str) -> String {
    format!("{GREY}{text}{PLAIN}")
}

/// Words in a colour of the theme, which no rule knows.
pub(crate) fn coloured(text: &str) -> String {
    format!("{THEME}{text}{PLAIN}")
}

/// Dim words with a drawn cursor on the first letter.
pub(crate) fn dim_under_cursor(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(String::from).unwrap_or_default();
    format!("{CURSOR}{first}{PLAIN}{}", dim(letters.as_str()))
}

/// The line with the sequences that its marks stand for.
pub(crate) fn sequences(line: &str) -> String {
    MARKS.iter().fold(line.to_owned(), |line, (mark, sequence)| line.replace(*mark, sequence))
}

/// The bytes that draw the persona's window.
pub(crate) fn paint(persona: &Persona, view: &View<'_>) -> String {
    let picture = picture(persona, view);
    let title = picture.title.as_deref().map(|title| format!("\x1b]2;{title}\x07")).unwrap_or_default();
    let mut bytes = format!("{title}\x1b[?25l\x1b[H");
    for (row, line) in lines(&picture, view.rows).iter().enumerate() {
        let line = sequences(line);
        bytes.push_str(&format!("\x1b[{};1H{line}\x1b[0m\x1b[K", row + 1));
    }
    bytes.push_str("\x1b[J");
    if !persona.hides_cursor {
        bytes.push_str("\x1b[?25h");
    }
    bytes
}

/// What the persona shows.
pub(crate) fn picture(persona: &Persona, view: &View<'_>) -> Picture {
    match view.dialog {
        _ if view.is_starting => (persona.starting)(view),
        Some(dialog) => dialog.picture(view.columns),
        None if view.is_updated => updated(view),
        None => (persona.draw)(view),
    }
}

/// The screen of a version that nobody has recorded yet: another title, another composer, another footer.
fn updated(view: &View<'_>) -> Picture {
    let words = [
        "Welcome to the new look",
        "",
        "What shall we build today",
        "[ write here ]",
        "",
        "F1 guide  F2 agents",
    ];
    let below = words.iter().map(|line| cut(line, view.columns)).collect();
    Picture { title: Some("a new version".to_owned()), below, ..Picture::default() }
}

/// The visible lines, the newest last.
pub(crate) fn lines(picture: &Picture, rows: usize) -> Vec<String> {
    let room = rows.saturating_sub(picture.below.len());
    let above = &picture.above[picture.above.len().saturating_sub(room)..];
    let mut lines = above.to_vec();
    if picture.at_the_end {
        lines.resize(room, String::new());
    }
    lines.extend(picture.below.iter().cloned());
    lines.split_off(lines.len().saturating_sub(rows))
}

/// The line without its marks.
pub(crate) fn plain(line: &str) -> String {
    line.replace(MARKS.map(|(mark, _)| mark), "")
}

/// `text` and blanks up to `columns`.
pub(crate) fn padded(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(&plain(text)))))
}
