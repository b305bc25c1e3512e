//! How each character of a screen is drawn, and what was drawn there by the CLI and typed by nobody.
//!
//! Some CLIs draw a suggestion into their empty composer, dim: read as text alone it looks like somebody's draft.

use super::Screen;

/// How one character is drawn, as far as it tells a hint from what was typed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Style {
    /// Dim (SGR 2).
    pub is_dim: bool,
    /// Reversed (SGR 7): how CLIs that hide the terminal's cursor draw their own.
    pub is_reversed: bool,
    /// Its colour in the palette; `None`: the terminal's own, or one of the 24-bit ones.
    pub colour: Option<u8>,
}

/// Bright black, which most terminals show as grey.
const GREY: u8 = 8;

/// In what a CLI draws its hints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hint {
    Dim,
    Colour(u8),
}

impl Hint {
    /// Reads `dim`, `grey`, or a colour's number in the palette.
    pub(crate) fn new(text: &str) -> Option<Self> {
        match text {
            "dim" => Some(Self::Dim),
            "grey" => Some(Self::Colour(GREY)),
            number => number.parse().ok().map(Self::Colour),
        }
    }

    fn has(self, style: Style) -> bool {
        match self {
            Self::Dim => style.is_dim,
            Self::Colour(colour) => style.colour == Some(colour),
        }
    }
}

/// Whether these characters are one hint: all of them drawn so, blanks aside. The first may be drawn as the cursor,
/// where others follow it: an empty composer's cursor stands on its hint.
pub(super) fn is_hint(hints: &[Hint], drawn: impl Iterator<Item = (char, Style)>) -> bool {
    let mut drawn = drawn.filter(|(c, _)| !c.is_whitespace()).peekable();
    let is_drawn_so = |style: Style| hints.iter().any(|hint| hint.has(style));
    if drawn.peek().is_some_and(|(_, style)| style.is_reversed && !is_drawn_so(*style)) {
        drawn.next();
    }
    drawn.peek().is_some() && drawn.all(|(_, style)| is_drawn_so(style))
}

impl Screen {
    /// Reads lines with their escape sequences, as a terminal gives them when it is asked for its screen. What is
    /// set in one line holds in the next.
    pub fn drawn(title: String, text: &str) -> Self {
        let mut screen = Self { title, ..Self::default() };
        let mut style = Style::default();
        for line in text.lines() {
            let mut plain = String::with_capacity(line.len());
            let mut styles = Vec::new();
            let mut rest = line.chars();
            while let Some(c) = rest.next() {
                match c {
                    '\u{1b}' => escape(&mut rest, &mut style),
                    c if c.is_control() && c != '\t' => {}
                    c => {
                        plain.push(c);
                        styles.push(style);
                    }
                }
            }
            plain.truncate(plain.trim_end().len());
            screen.lines.push(plain);
            screen.styles.push(styles);
        }
        screen
    }

    /// How a character is drawn, counted from its line's first; plain where nobody knows.
    pub(super) fn style(&self, line: usize, at: usize) -> Style {
        self.styles.get(line).and_then(|styles| styles.get(at)).copied().unwrap_or_default()
    }
}

/// Reads on behind an Escape: the sequence's end, and what it says of the style.
fn escape(rest: &mut std::str::Chars<'_>, style: &mut Style) {
    match rest.next() {
        Some('[') => {
            let mut parameters = String::new();
            for c in rest.by_ref() {
                match c {
                    'm' => return select(&parameters, style),
                    '\u{40}'..='\u{7e}' => return,
                    c => parameters.push(c),
                }
            }
        }
        // A link and the like, up to a bell or a string's end.
        Some(']') => {
            while let Some(c) = rest.next() {
                if c == '\u{7}' || c == '\u{1b}' {
                    if c == '\u{1b}' {
                        rest.next();
                    }
                    return;
                }
            }
        }
        Some('(' | ')') => {
            rest.next();
        }
        _ => {}
    }
}

fn select(parameters: &str, style: &mut Style) {
    let mut words = parameters.split(';');
    while let Some(word) = words.next() {
        if let Some((kind, rest)) = word.split_once(':') {
            // With colons, all of it stands in one word.
            if kind == "38" {
                style.colour = palette(&mut rest.split(':'));
            }
            continue;
        }
        match word.parse().unwrap_or(0) {
            0_u8 => *style = Style::default(),
            2 => style.is_dim = true,
            22 => style.is_dim = false,
            7 => style.is_reversed = true,
            27 => style.is_reversed = false,
            39 => style.colour = None,
            colour @ 30..=37 => style.colour = Some(colour - 30),
            colour @ 90..=97 => style.colour = Some(colour - 90 + GREY),
            38 => style.colour = palette(&mut words),
            // The background's and the underline's.
            48 | 58 => drop(palette(&mut words)),
            _ => {}
        }
    }
}

/// Reads on behind the number that announces a colour.
fn palette<'a>(words: &mut impl Iterator<Item = &'a str>) -> Option<u8> {
    match words.next()? {
        "5" => words.next()?.parse().ok(),
        "2" => {
            words.take(3).for_each(drop);
            None
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, plain: &str, hints: &[Hint], expected: bool) {
        let screen = Screen::drawn(String::new(), text);
        assert_eq!(screen.lines, [plain], "{text:?}");
        let drawn = plain.chars().enumerate().map(|(at, c)| (c, screen.style(0, at)));
        assert_eq!(is_hint(hints, drawn), expected, "{text:?} as {hints:?}");
    }

    #[test]
    fn only_what_is_wholly_drawn_so_is_a_hint() {
        let both = [Hint::Dim, Hint::Colour(GREY)];
        check("\x1b[2mfix it\x1b[22m", "fix it", &both, true);
        check("\x1b[2mfix it\x1b[22m", "fix it", &[Hint::Colour(GREY)], false);
        check("\x1b[2mfix it\x1b[22m", "fix it", &[], false);
        check("\x1b[1;2;38;5;8mfix it", "fix it", &both, true);
        check("\x1b[90mfix it", "fix it", &both, true);
        check("\x1b[38;5;8mfix it", "fix it", &both, true);
        check("\x1b[38:5:8mfix it", "fix it", &both, true);
        check("\x1b[38;5;103mfix it", "fix it", &[Hint::Colour(103)], true);
        check("\x1b[38;2;8;8;8;48;5;8mfix it", "fix it", &both, false);
        check("\x1b[7mf\x1b[0;2mix it", "fix it", &both, true);
        check("\x1b[7mf\x1b[27mix it", "fix it", &both, false);
        check("\x1b[7mf\x1b[0m", "f", &both, false);
        check("fix\x1b[2m it\x1b[0m", "fix it", &both, false);
        check("\x1b[2mfix\x1b[0m it", "fix it", &both, false);
        check("fix it", "fix it", &both, false);
        check("\x1b[2m  \x1b[0m  ", "", &both, false);
    }

    #[test]
    fn sequences_are_no_text_and_hold_over_lines() {
        let screen = Screen::drawn(
            "t".to_owned(),
            "\x1b]8;;http://a\x1b\\a\x1b]8;;\x1b\\ \x1b[2m小\n明\x1b(B\x1b[0m\x0e b \n",
        );
        assert_eq!(screen.lines, ["a 小", "明 b"]);
        assert!(!screen.style(0, 0).is_dim && screen.style(0, 2).is_dim);
        assert!(screen.style(1, 0).is_dim && !screen.style(1, 2).is_dim);
    }
}
