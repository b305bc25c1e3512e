//! An agent's output as harmless text.

use loop_core::plain::printed;

/// Most lines that are kept.
const LINES: usize = 40;
/// Most characters of a line that are kept.
const COLUMNS: usize = 400;

/// Returns the last lines of `text` without anything that a terminal or a reader could be fooled by: no escape
/// sequences, other hidden characters as their codes, long lines cut.
pub fn neutral(text: &str) -> String {
    let plain = printed(text);
    let mut lines: Vec<String> = Vec::new();
    for line in plain.lines() {
        let kept: String = line.chars().take(COLUMNS).collect();
        let line = kept.trim_end().to_owned();
        // One blank line says as much as the half screen of them that a terminal gives.
        if !line.is_empty() || lines.last().is_some_and(|before| !before.is_empty()) {
            lines.push(line);
        }
    }
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines.split_off(lines.len().saturating_sub(LINES)).join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_text_is_left() {
        for (text, expected) in [
            ("\n\na\nb\n\n", "a\nb"),
            ("a\n\n\n\nb", "a\n\nb"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{1b}]2;title\u{7}x\u{1b}]8;;http://e\u{1b}\\link", "xlink"),
            ("a\u{202e}b\r\n", "a\\u{202e}b"),
            ("x\u{7}y", "x\\u{7}y"),
            ("小明\ttab", "小明\ttab"),
            ("", ""),
        ] {
            assert_eq!(neutral(text), expected, "{text:?}");
        }
        let many: String = (0..100).map(|n| format!("{n}\n")).collect();
        assert_eq!(neutral(&many).lines().next(), Some("60"));
    }
}
