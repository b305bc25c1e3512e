//! Making what programs said fit to be shown.

use loop_core::plain::printed;

/// The most of a program's words that an error carries.
const MAX_WORDS: usize = 8 * 1024;

/// How much of that is the beginning; the rest is the end, where programs say why they gave up.
const HEAD: usize = 2 * 1024;

/// Joins what a program wrote to both streams into words for an error.
pub(crate) fn words(stderr: &[u8], stdout: &[u8]) -> String {
    let mut all = String::new();
    for stream in [stderr, stdout] {
        let text = printed(&String::from_utf8_lossy(stream));
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
    fn long_words_keep_both_ends() {
        let long = format!("start {} end", "ü".repeat(20_000));
        let words = words(long.as_bytes(), b"");
        assert!(words.starts_with("start ") && words.ends_with(" end") && words.len() < MAX_WORDS + 64);
        assert_eq!(super::words(b"err\n", b"out\n"), "err\nout");
    }
}
