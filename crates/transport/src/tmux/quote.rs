//! Words in tmux's own command language.

/// Quotes `word` so that tmux reads exactly it. `None` for a word that no process can get: one with a NUL.
pub(super) fn quote(word: &str) -> Option<String> {
    let mut quoted = String::with_capacity(word.len() + 2);
    quoted.push('"');
    for c in word.chars() {
        match c {
            '\0' => return None,
            '"' | '\\' | '$' => quoted.extend(['\\', c]),
            // Blanks behind a real newline would be lost, also inside quotes.
            '\n' => quoted.push_str("\\n"),
            // Every other control character, in three octal digits.
            c if c.is_ascii_control() => quoted.push_str(&format!("\\{:03o}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    Some(quoted)
}

/// Escapes what tmux would expand in a format (a folder, a window's name).
pub(super) fn literal(text: &str) -> String {
    text.replace('#', "##")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted() {
        for (word, quoted) in [
            ("", r#""""#),
            ("a b;", r#""a b;""#),
            (r#"it's "$HOME" \"#, r#""it's \"\$HOME\" \\""#),
            ("a\n  # b", r#""a\n  # b""#),
            ("\u{1b}\t小", r#""\033\011小""#),
        ] {
            assert_eq!(quote(word).as_deref(), Some(quoted), "{word:?}");
        }
        assert_eq!(quote("a\0b"), None);
    }
}
