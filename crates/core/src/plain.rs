//! Text of others made harmless for a terminal.
//!
//! Sections, commits and screens hold what agents and tools wrote. Printed as it is, an escape sequence in it
//! could move the cursor, hide lines or answer for a person; a bidirectional control could show words in another
//! order than they are read in. Whoever prints such text sends it through here first.

use std::borrow::Cow;
use std::fmt::Write;

/// Returns `text` with every control, bidirectional and invisible character shown as its code, `\u{1b}`. Line
/// feeds and tabs stay; a carriage return in front of a line feed is dropped.
pub fn plain(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut characters = text.chars().peekable();
    let mut before = ' ';
    while let Some(character) = characters.next() {
        let next = characters.peek();
        match character {
            '\r' if next == Some(&'\n') => {}
            // Persian words and emoji need their joiners to be read at all; between ASCII they only hide.
            '\u{200c}' | '\u{200d}' if !before.is_ascii() && next.is_some_and(|next| !next.is_ascii()) => {
                shown.push(character);
            }
            character if is_hidden(character) => {
                let _ = write!(shown, "\\u{{{:x}}}", u32::from(character));
            }
            character => shown.push(character),
        }
        before = character;
    }
    Cow::Owned(shown)
}

/// Returns `text` on one line, harmless, and cut with `…` behind `most` characters.
pub fn line(text: &str, most: usize) -> String {
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown = plain(&joined);
    match shown.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", shown[..end].trim_end()),
        None => shown.into_owned(),
    }
}

/// Returns what a program printed as text for a reader: escape sequences, which were meant for a terminal, are left
/// out as wholes, a lone carriage return counts as a line feed, and what else is hidden is shown as by [`plain`].
pub fn printed(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' => {
                chars.next_if_eq(&'\n');
                kept.push('\n');
            }
            '\u{1b}' => skip_sequence(&mut chars),
            '\u{9b}' => skip_until(&mut chars, |c| ('@'..='~').contains(&c)),
            c => kept.push(c),
        }
    }
    plain(&kept).into_owned()
}

type Characters<'text> = std::iter::Peekable<std::str::Chars<'text>>;

fn skip_sequence(chars: &mut Characters<'_>) {
    match chars.next_if(|c| !c.is_control()) {
        Some('[') => skip_until(chars, |c| ('@'..='~').contains(&c)),
        // A string for the terminal (title, link) ends with BEL or ESC \.
        Some(']' | 'P' | 'X' | '^' | '_') => {
            skip_until(chars, |c| matches!(c, '\u{7}' | '\u{1b}' | '\u{9c}'));
            chars.next_if_eq(&'\\');
        }
        _ => {}
    }
}

/// Skips to the character that ends a sequence; one that never ends is over at the end of its line.
fn skip_until(chars: &mut Characters<'_>, end: impl Fn(char) -> bool) {
    while let Some(c) = chars.next_if(|c| *c != '\n') {
        if end(c) {
            return;
        }
    }
}

/// Whether a character does something to a terminal, or cannot be seen.
fn is_hidden(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' => true,
        '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' => true,
        // Tags: a whole invisible alphabet.
        '\u{e0000}'..='\u{e007f}' => true,
        _ => character.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_meant_for_a_terminal_is_left_out() {
        for (text, expected) in [
            ("plain\ttext\n", "plain\ttext\n"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{1b}]0;title\u{7}x", "x"),
            ("\u{1b}]8;;http://a\u{1b}\\link", "link"),
            ("a\rb\r\nc", "a\nb\nc"),
            ("a\u{0}b\u{8}c", "a\\u{0}b\\u{8}c"),
            ("abc\u{202e}fed", "abc\\u{202e}fed"),
            ("\u{9b}2Jx", "x"),
            ("\u{1b}[12\nnext", "\nnext"),
            ("\u{1b}", ""),
        ] {
            assert_eq!(printed(text), expected, "{text:?}");
        }
    }

    #[test]
    fn what_acts_on_a_terminal_is_shown_instead() {
        for (text, expected) in [
            ("plain text\n\twith 小明 and é", "plain text\n\twith 小明 and é"),
            ("\u{1b}[2Jgone", "\\u{1b}[2Jgone"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("a\r\nb\rc", "a\nb\\u{d}c"),
            ("bell\u{7}nul\u{0}del\u{7f}", "bell\\u{7}nul\\u{0}del\\u{7f}"),
            ("evil \u{202e}txt.exe", "evil \\u{202e}txt.exe"),
            ("REVIEW\u{200b}-PASS", "REVIEW\\u{200b}-PASS"),
            ("tag\u{e0041}", "tag\\u{e0041}"),
            ("👩\u{200d}💻", "👩\u{200d}💻"),
            ("REVIEW\u{200d}-PASS", "REVIEW\\u{200d}-PASS"),
        ] {
            assert_eq!(plain(text), expected);
        }
        assert!(matches!(plain("nothing to do"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_line_is_one_line() {
        assert_eq!(line("two\nlines\r\n  here", 80), "two lines here");
        assert_eq!(line("小明小明", 2), "小明…");
        assert_eq!(line("ab", 2), "ab");
        assert_eq!(line("\u{1b}[31m", 80), "\\u{1b}[31m");
    }
}
