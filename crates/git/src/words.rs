//! Making what programs said fit to be shown.

/// The most of a program's words that an error carries.
const MAX_WORDS: usize = 8 * 1024;

/// How much of that is the beginning; the rest is the end, where programs say why they gave up.
const HEAD: usize = 2 * 1024;

/// Returns `text` without anything that could steer a terminal or disguise other text: escape sequences, control
/// characters other than newline and tab, and marks that turn the writing direction around. A carriage return
/// counts as a newline.
pub fn neutral(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' | '\t' => shown.push(c),
            '\r' => {
                chars.next_if_eq(&'\n');
                shown.push('\n');
            }
            '\u{1b}' => skip_escape(&mut chars),
            '\u{9b}' => skip_until(&mut chars, |c| ('@'..='~').contains(&c)),
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {}
            c if c.is_control() => {}
            c => shown.push(c),
        }
    }
    shown
}

fn skip_escape(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match chars.next_if(|c| !c.is_control()) {
        Some('[') => skip_until(chars, |c| ('@'..='~').contains(&c)),
        // A string for the terminal (title, link) ends with BEL or ESC \.
        Some(']' | 'P' | 'X' | '^' | '_') => {
            skip_until(chars, |c| matches!(c, '\u{7}' | '\u{1b}' | '\u{9c}' | '\n'));
            chars.next_if_eq(&'\\');
        }
        _ => {}
    }
}

fn skip_until(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, end: impl Fn(char) -> bool) {
    for c in chars.by_ref() {
        if end(c) || c == '\n' {
            return;
        }
    }
}

/// Joins what a program wrote to both streams into words for an error.
pub(crate) fn words(stderr: &[u8], stdout: &[u8]) -> String {
    let mut all = String::new();
    for stream in [stderr, stdout] {
        let text = neutral(&String::from_utf8_lossy(stream));
        let text = text.trim();
        if !all.is_empty() && !text.is_empty() {
            all.push('\n');
        }
        all.push_str(text);
    }
    if all.len() <= MAX_WORDS {
        return all;
    }
    let head = floor(&all, HEAD);
    let tail = ceil(&all, all.len() - (MAX_WORDS - HEAD));
    format!("{}\n[{} bytes left out]\n{}", &all[..head], tail - head, &all[tail..])
}

/// The last character boundary at or before `at`.
pub(crate) fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

fn ceil(text: &str, at: usize) -> usize {
    (at..=text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_steers_the_terminal() {
        for (text, expected) in [
            ("plain\ttext\n", "plain\ttext\n"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{1b}]0;title\u{7}x", "x"),
            ("\u{1b}]8;;http://a\u{1b}\\link", "link"),
            ("a\rb\r\nc", "a\nb\nc"),
            ("a\u{0}b\u{8}c\u{7f}", "abc"),
            ("abc\u{202e}fed", "abcfed"),
            ("\u{9b}2Jx", "x"),
            ("\u{1b}[never ends\nnext", "ever ends\nnext"),
            ("\u{1b}", ""),
        ] {
            assert_eq!(neutral(text), expected, "{text:?}");
        }
    }

    #[test]
    fn long_words_keep_both_ends() {
        let long = format!("start {} end", "ü".repeat(20_000));
        let words = words(long.as_bytes(), b"");
        assert!(words.starts_with("start ") && words.ends_with(" end") && words.len() < MAX_WORDS + 64);
        assert_eq!(super::words(b"err\n", b"out\n"), "err\nout");
    }
}
