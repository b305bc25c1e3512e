//! The picture that the `scripted` profile describes.

use loop_testkit::terminal::{cut, wrap};

/// What is to be seen.
pub(crate) struct Picture<'a> {
    pub(crate) name: &'a str,
    pub(crate) transcript: &'a [String],
    pub(crate) composer: &'a str,
    pub(crate) busy: bool,
    /// A dialog instead of the composer.
    pub(crate) dialog: Option<&'a str>,
}

/// The bytes that draw `picture` on a screen of this size.
pub(crate) fn draw(picture: &Picture<'_>, rows: usize, columns: usize) -> String {
    let lines = lines(picture, rows.max(1), columns.max(4));
    let mark = if picture.busy { "✻ " } else { "" };
    let mut bytes = format!("\x1b]2;{mark}{}\x07\x1b[?25l\x1b[H", picture.name);
    for (row, line) in lines.iter().enumerate() {
        bytes.push_str(&format!("\x1b[{};1H{line}\x1b[K", row + 1));
    }
    bytes.push_str("\x1b[J");
    bytes
}

fn lines(picture: &Picture<'_>, rows: usize, columns: usize) -> Vec<String> {
    let mut bottom = Vec::new();
    if picture.busy {
        bottom.push(cut("… working (esc to interrupt)", columns));
    }
    match picture.dialog {
        Some(question) => {
            bottom.extend(wrap(&format!("? {question}"), columns, ""));
            bottom.push(cut("  press y or n", columns));
        }
        None => bottom.extend(wrap(&format!("❯ {}", picture.composer), columns, "  ")),
    }
    let above: Vec<String> = picture.transcript.iter().flat_map(|line| wrap(line, columns, "")).collect();
    let room = rows.saturating_sub(bottom.len() + 1);
    let mut lines: Vec<String> = above.iter().skip(above.len().saturating_sub(room)).cloned().collect();
    lines.push(String::new());
    lines.extend(bottom);
    lines.split_off(lines.len().saturating_sub(rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_composer_stands_last() {
        let transcript = vec!["hello".to_owned(); 30];
        let picture =
            Picture { name: "CC", transcript: &transcript, composer: "draft", busy: true, dialog: None };
        let lines = lines(&picture, 6, 80);
        assert_eq!(lines.len(), 6);
        assert_eq!(lines[4..], ["… working (esc to interrupt)", "❯ draft"]);
    }
}
