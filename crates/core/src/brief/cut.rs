//! Text cut to a bounded size.

use serde::Serialize;

/// The beginning of a text, and how much of it is left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Cut {
    /// What is shown, in whole lines where its first line fits.
    pub text: String,
    /// Lines left out, a line that is shown in part included.
    pub left_out: usize,
}

/// Cuts `text` to at most `lines` lines and `bytes` bytes.
pub fn cut(text: &str, lines: usize, bytes: usize) -> Cut {
    let mut end = 0;
    let mut shown = 0;
    for line in text.split_inclusive('\n').take(lines) {
        if end + line.len() > bytes {
            break;
        }
        end += line.len();
        shown += 1;
    }
    // One line that is too long by itself (minified code) is shown in part rather than not at all.
    if end == 0 && !text.is_empty() && lines > 0 {
        end = text.find('\n').unwrap_or(text.len()).min(bytes);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
    }
    let all = text.split_inclusive('\n').count();
    Cut { text: text[..end].to_owned(), left_out: all - shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_lines_are_kept() {
        for (text, lines, bytes, expected, left_out) in [
            ("", 3, 9, "", 0),
            ("a\nb\nc", 3, 9, "a\nb\nc", 0),
            ("a\nb\nc\n", 2, 9, "a\nb\n", 1),
            ("aaaa\nbbbb\n", 9, 7, "aaaa\n", 1),
            ("aaaaaaaa\nb", 9, 3, "aaa", 2),
            ("小明\nb", 9, 4, "小", 2),
            ("a\nb", 0, 9, "", 2),
        ] {
            assert_eq!(cut(text, lines, bytes), Cut { text: expected.to_owned(), left_out }, "{text:?}");
        }
    }
}
