//! Lines that fit a window, measured in columns: letters of some scripts take two.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The columns that `text` takes.
pub fn width(text: &str) -> usize {
    text.width()
}

/// Breaks where the next character does not fit, as composers of real CLIs do: a break of their own, which the
/// terminal cannot tell from two lines.
pub fn wrap(text: &str, columns: usize, indentation: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for c in text.chars() {
        let width = c.width().unwrap_or(0);
        let full = lines.last().is_some_and(|line| line.width() + width >= columns);
        if c == '\n' || full {
            lines.push(indentation.to_owned());
        }
        if let Some(line) = lines.last_mut().filter(|_| c != '\n') {
            line.push(c);
        }
    }
    lines
}

/// Breaks between words where that is possible, each further line behind `indentation`; a word that is longer than a
/// line is broken inside.
pub fn wrap_words(text: &str, columns: usize, indentation: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in text.split('\n') {
        let mut line = if lines.is_empty() { String::new() } else { indentation.to_owned() };
        for word in paragraph.split_inclusive(' ') {
            let fits = line.width() + word.trim_end().width() < columns;
            if !fits && line.width() > indentation.width() {
                lines.push(line.trim_end().to_owned());
                line = indentation.to_owned();
            }
            for c in word.chars() {
                if line.width() + c.width().unwrap_or(0) >= columns {
                    lines.push(std::mem::replace(&mut line, indentation.to_owned()));
                    if c == ' ' {
                        continue;
                    }
                }
                line.push(c);
            }
        }
        lines.push(line);
    }
    lines
}

/// The part of `text` that fits.
pub fn cut(text: &str, columns: usize) -> String {
    let mut line = String::new();
    for c in text.chars() {
        if line.width() + c.width().unwrap_or(0) >= columns {
            break;
        }
        line.push(c);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_line_breaks_by_itself() {
        assert_eq!(wrap("❯ /agent-loop 小明", 14, "  "), ["❯ /agent-loop", "   小明"]);
        assert_eq!(wrap_words("❯ /agent-loop 小明 x", 16, "  "), ["❯ /agent-loop", "  小明 x"]);
        assert_eq!(wrap_words("❯ abcdefgh", 6, "  "), ["❯ abc", "  def", "  gh"]);
        assert_eq!(wrap_words("a\nb", 6, "  "), ["a", "  b"]);
        assert_eq!(cut("小明小明", 6), "小明");
    }
}
