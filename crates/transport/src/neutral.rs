//! An agent's output as harmless text.

/// Most lines that are kept.
const LINES: usize = 40;
/// Most characters of a line that are kept.
const COLUMNS: usize = 400;

/// Returns the last lines of `text` without anything that a terminal or a reader could be fooled by: escape
/// sequences, control and format characters; long lines are cut.
pub fn neutral(text: &str) -> String {
    let plain = without_sequences(text);
    let lines: Vec<String> = plain
        .lines()
        .map(|line| {
            let kept: String = line.chars().filter(|c| !is_hidden(*c)).take(COLUMNS).collect();
            kept.trim_end().to_owned()
        })
        .collect();
    let end = lines.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
    let lines = lines.get(..end).unwrap_or_default();
    let lines = lines.get(lines.len().saturating_sub(LINES)..).unwrap_or_default();
    let begin = lines.iter().position(|line| !line.is_empty()).unwrap_or(0);
    lines.get(begin..).unwrap_or_default().join("\n")
}

fn is_hidden(c: char) -> bool {
    // Direction marks and zero-width characters can make a line read as something else.
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Removes CSI and OSC sequences as wholes; a lone Escape goes with the other control characters.
fn without_sequences(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('\u{1b}', Some('[')) => {
                chars.next();
                for c in chars.by_ref() {
                    if ('\u{40}'..='\u{7e}').contains(&c) {
                        break;
                    }
                }
            }
            ('\u{1b}', Some(']')) => {
                while let Some(c) = chars.next() {
                    if c == '\u{7}' || (c == '\u{1b}' && chars.next_if_eq(&'\\').is_some()) {
                        break;
                    }
                }
            }
            _ => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_text_is_left() {
        for (text, expected) in [
            ("\n\na\nb\n\n", "a\nb"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{1b}]2;title\u{7}x\u{1b}]8;;http://e\u{1b}\\link", "xlink"),
            ("a\u{202e}b\u{200b}c\r\n", "abc"),
            ("x\u{7}\u{8}y", "xy"),
            ("小明\ttab", "小明tab"),
            ("", ""),
        ] {
            assert_eq!(neutral(text), expected, "{text:?}");
        }
        let many: String = (0..100).map(|n| format!("{n}\n")).collect();
        assert_eq!(neutral(&many).lines().next(), Some("60"));
    }
}
