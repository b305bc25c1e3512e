//! Telling an agent why its `REVIEW-PASS` is no verdict, and how to write one.

use pulldown_cmark::{Event, Options, Parser};
use unicode_normalization::UnicodeNormalization;

use crate::cast::Role;
use crate::diagnostic::{Code, Diagnostic};
use crate::name::Name;

use super::invisible::{self, is_invisible, is_other_dash};
use super::standing::Hidden;
use super::verdict::{BLOCKED, PASS};

/// Why a verdict's word gives no verdict.
#[derive(Debug)]
pub(crate) enum Why<'a> {
    NotAnAgent { author: &'a Name, role: Role },
    BelowName { name: &'a Name, line: usize },
    BelowNearName { name: &'a Name, word: &'a str, line: usize },
    Followed { line: usize, text: &'a str },
    Code { fence: Option<usize> },
    Hidden { hidden: Hidden, line: usize },
    Quote,
    ListItem,
    Indented,
    Table,
    InlineCode,
    Link,
    Escaped,
    Invisible(char),
    Dash(char),
    Case,
    Lookalike,
    Emphasis,
    Before(String),
    After(String),
    Tag,
    Elsewhere,
}

/// The verdict's word that `line` holds, however it is dressed: in lower case, with invisible characters inside,
/// with another dash, as an entity.
pub(crate) fn word(line: &str) -> Option<&'static str> {
    let found = |text: &str| {
        let plain: String = text
            .nfkc()
            .filter(|c| !is_invisible(*c))
            .map(|c| if is_other_dash(c) { '-' } else { c.to_ascii_uppercase() })
            .collect();
        let undashed = |word: &str| [word.replace('-', " "), word.replace('-', "_")];
        [PASS, BLOCKED].into_iter().find(|word| {
            let starts = |(at, _): (usize, &str)| !plain[..at].ends_with(char::is_alphanumeric);
            plain.match_indices(*word).any(starts) || undashed(word).iter().any(|word| text.contains(word))
        })
    };
    found(line).or_else(|| found(&rendered(line)))
}

/// The line's text as a reader sees it.
fn rendered(line: &str) -> String {
    let mut text = String::new();
    for event in Parser::new_ext(line, Options::empty()) {
        match event {
            Event::Text(piece) | Event::Code(piece) | Event::Html(piece) | Event::InlineHtml(piece) => {
                text.push_str(&piece);
            }
            _ => {}
        }
    }
    text
}

/// Why the wording of a line keeps it from being a verdict.
pub(crate) fn wording(line: &str, word: &str) -> Why<'static> {
    let trimmed = line.trim();
    if trimmed.starts_with('>') {
        return Why::Quote;
    }
    if starts_with_list_marker(trimmed) {
        return Why::ListItem;
    }
    if let Some(c) = line.chars().find(|c| is_invisible(*c)) {
        return Why::Invisible(c);
    }
    let Some(at) = line.find(word) else {
        return unlike(line, word);
    };
    let (before, after) = (line[..at].trim_start(), line[at + word.len()..].trim_end());
    if line.contains('|') {
        return Why::Table;
    }
    if before.contains('`') && after.contains('`') {
        return Why::InlineCode;
    }
    if before.contains('[') && after.contains(']') {
        return Why::Link;
    }
    if before.contains('<') && before.contains('>') {
        return Why::Tag;
    }
    let odd_space = |c: &char| c.is_whitespace() && !c.is_ascii();
    let beside = line[..at].chars().filter(|_| before.is_empty()).chain(after.chars().next());
    if let Some(space) = beside.into_iter().find(odd_space) {
        return Why::Invisible(space);
    }
    let is_mark = |c: char| matches!(c, '*' | '_' | '#' | ' ');
    let (wordless_before, wordless_after) = (before.trim_matches(is_mark), after.trim_matches(is_mark));
    match (wordless_before.is_empty(), wordless_after.is_empty()) {
        (false, _) => Why::Before(shorten(wordless_before)),
        (true, false) => Why::After(shorten(wordless_after)),
        (true, true) if !before.is_empty() || !after.is_empty() => Why::Emphasis,
        (true, true) if line.len() - line.trim_start().len() > 0 => Why::Indented,
        _ => Why::Elsewhere,
    }
}

/// Why a line that does not hold the word as it is written looks as if it did.
fn unlike(line: &str, word: &str) -> Why<'static> {
    if let Some(c) = line.chars().find(|c| is_other_dash(*c)) {
        return Why::Dash(c);
    }
    if line.contains('&') || line.contains('\\') {
        return Why::Escaped;
    }
    if line.to_ascii_uppercase().contains(word) {
        return Why::Case;
    }
    Why::Lookalike
}

fn starts_with_list_marker(line: &str) -> bool {
    let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let rest = if digits.len() < line.len() {
        digits.strip_prefix(['.', ')'])
    } else {
        line.strip_prefix(['-', '*', '+'])
    };
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
}

/// The diagnostic for `word` in `line`.
pub(crate) fn diagnostic(line: usize, word: &str, why: &Why<'_>) -> Diagnostic {
    Diagnostic {
        line,
        code: Code::Mention,
        message: format!("`{word}` gives no verdict here: {}", reason(why)),
        hint: format!("{}{}", mend(why), how(word, why)),
    }
}

fn reason(why: &Why<'_>) -> String {
    match why {
        Why::NotAnAgent { author, role: Role::Planner } => {
            format!("{author} is the planner, and only agents give verdicts")
        }
        Why::NotAnAgent { author, .. } => format!("{author} is a person, and only agents give verdicts"),
        Why::BelowName { name, line } => {
            format!("the heading in line {line} above it names {name} and starts no section")
        }
        Why::BelowNearName { name, word, line } => {
            format!("the heading in line {line} above it starts with `{word}`, which may be meant for {name}")
        }
        Why::Followed { line, text } => format!("other text follows it in line {line} (`{}`)", shorten(text)),
        Why::Code { fence: Some(line) } => format!("it stands in the code block that starts in line {line}"),
        Why::Code { fence: None } => "it is indented by four columns or more, which makes it code".to_owned(),
        Why::Hidden { hidden: Hidden::Element { name, .. }, line } => {
            format!("it stands inside `<{name}>`, opened in line {line} and not closed above it")
        }
        Why::Hidden { hidden: Hidden::Unended { what, .. }, line } => {
            format!("it stands behind a {what} that begins in line {line} and does not end above it")
        }
        Why::Hidden { hidden: Hidden::Folded { .. }, line } => {
            format!("it stands inside emphasis, code or a link that begins in line {line}")
        }
        Why::Quote => "it stands in a quote".to_owned(),
        Why::ListItem => "it stands in a list item".to_owned(),
        Why::Indented => "it is indented, which makes it code or a part of the list item above it".to_owned(),
        Why::Table => "a line with `|` may be a table's row".to_owned(),
        Why::InlineCode => "it is set as code, in backticks".to_owned(),
        Why::Link => "it stands in brackets or is a link's text".to_owned(),
        Why::Escaped => "it is written with an entity or a backslash".to_owned(),
        Why::Invisible(c) => {
            format!("the line holds a character that cannot be seen, {}", invisible::name(*c))
        }
        Why::Dash(c) => format!("its dash is {}, not the hyphen `-`", invisible::name(*c)),
        Why::Case => "it is not written in capitals".to_owned(),
        Why::Lookalike => "it is not written with plain letters and a hyphen".to_owned(),
        Why::Emphasis => "the emphasis around it does not open and close on its own line".to_owned(),
        Why::Before(text) => format!("`{text}` stands before it"),
        Why::After(text) => format!("`{text}` stands behind it"),
        Why::Tag => "an HTML tag or comment stands before it".to_owned(),
        Why::Elsewhere => "it does not stand alone on the line".to_owned(),
    }
}

/// What to do first, where there is something to do besides writing the line as it should be.
fn mend(why: &Why<'_>) -> String {
    match why {
        Why::BelowName { name, .. } | Why::BelowNearName { name, .. } => format!(
            "if that heading was meant as a section, write it as `## {name}: what was done`; if not, make it a \
             `###` heading or leave the name out; "
        ),
        Why::Followed { line, .. } => format!("move or remove what stands from line {line} on; "),
        Why::Hidden { hidden: Hidden::Element { name, .. }, .. } => {
            format!("close it with `</{name}>` above the verdict; ")
        }
        Why::Hidden { hidden: Hidden::Unended { what, .. }, .. } => {
            format!("end the {what} above the verdict; ")
        }
        _ => String::new(),
    }
}

/// How a verdict is written.
fn how(word: &str, why: &Why<'_>) -> String {
    if let Why::NotAnAgent { .. } = why {
        return "an agent ends the loop with a section of its own, a person with `loop accept`".to_owned();
    }
    if word == PASS {
        return "to pass, write `REVIEW-PASS` (or `REVIEW-PASS 3f9c2ab` with the reviewed commit) as the section's last \
                line: at the start of the line, in capitals, with nothing else on it and nothing below it"
            .to_owned();
    }
    "to hold the loop for a person, write `REVIEW-BLOCKED: the reason` as the section's last paragraph: at the start of \
     a line, in capitals, with nothing below it"
        .to_owned()
}

/// The beginning of a text that may be long.
fn shorten(text: &str) -> String {
    const MOST: usize = 40;
    let text: String = text.chars().filter(|c| !c.is_control()).collect();
    if text.chars().count() <= MOST {
        return text;
    }
    text.chars().take(MOST).chain(['…']).collect()
}
