//! Characters that nobody sees.

/// Whether `c` takes no room on the screen, or is a control character.
pub(crate) fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
        || (c.is_control() && !c.is_whitespace())
}

/// Whether `c` looks like the `-` of the verdict's word and is another character.
pub(crate) fn is_other_dash(c: char) -> bool {
    matches!(
        c,
        '\u{2010}'..='\u{2015}' | '\u{2043}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' | '\u{ff0d}' | '\u{30fc}'
    )
}

/// Names a character that a reader cannot tell by looking, for example `U+200B ZERO WIDTH SPACE`.
pub(crate) fn name(c: char) -> String {
    let name = match c {
        '\u{a0}' => "NO-BREAK SPACE",
        '\u{ad}' => "SOFT HYPHEN",
        '\u{34f}' => "COMBINING GRAPHEME JOINER",
        '\u{61c}' => "ARABIC LETTER MARK",
        '\u{180e}' => "MONGOLIAN VOWEL SEPARATOR",
        '\u{2007}' => "FIGURE SPACE",
        '\u{200b}' => "ZERO WIDTH SPACE",
        '\u{200c}' => "ZERO WIDTH NON-JOINER",
        '\u{200d}' => "ZERO WIDTH JOINER",
        '\u{200e}' => "LEFT-TO-RIGHT MARK",
        '\u{200f}' => "RIGHT-TO-LEFT MARK",
        '\u{2010}' => "HYPHEN",
        '\u{2011}' => "NON-BREAKING HYPHEN",
        '\u{2012}' => "FIGURE DASH",
        '\u{2013}' => "EN DASH",
        '\u{2014}' => "EM DASH",
        '\u{2015}' => "HORIZONTAL BAR",
        '\u{202a}' => "LEFT-TO-RIGHT EMBEDDING",
        '\u{202b}' => "RIGHT-TO-LEFT EMBEDDING",
        '\u{202c}' => "POP DIRECTIONAL FORMATTING",
        '\u{202d}' => "LEFT-TO-RIGHT OVERRIDE",
        '\u{202e}' => "RIGHT-TO-LEFT OVERRIDE",
        '\u{202f}' => "NARROW NO-BREAK SPACE",
        '\u{2060}' => "WORD JOINER",
        '\u{2061}' => "FUNCTION APPLICATION",
        '\u{2062}' => "INVISIBLE TIMES",
        '\u{2063}' => "INVISIBLE SEPARATOR",
        '\u{2064}' => "INVISIBLE PLUS",
        '\u{2066}' => "LEFT-TO-RIGHT ISOLATE",
        '\u{2067}' => "RIGHT-TO-LEFT ISOLATE",
        '\u{2068}' => "FIRST STRONG ISOLATE",
        '\u{2069}' => "POP DIRECTIONAL ISOLATE",
        '\u{2212}' => "MINUS SIGN",
        '\u{2800}' => "BRAILLE PATTERN BLANK",
        '\u{3000}' => "IDEOGRAPHIC SPACE",
        '\u{3164}' => "HANGUL FILLER",
        '\u{fe00}'..='\u{fe0f}' => "VARIATION SELECTOR",
        '\u{feff}' => "ZERO WIDTH NO-BREAK SPACE",
        '\u{ff0d}' => "FULLWIDTH HYPHEN-MINUS",
        '\u{e0000}'..='\u{e007f}' => "TAG CHARACTER",
        c if c.is_control() => "CONTROL CHARACTER",
        c if is_invisible(c) => "INVISIBLE CHARACTER",
        _ => "",
    };
    let code = format!("U+{:04X}", u32::from(c));
    if name.is_empty() { code } else { format!("{code} {name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_characters_are_named() {
        assert_eq!(name('\u{200b}'), "U+200B ZERO WIDTH SPACE");
        assert_eq!(name('\u{1b}'), "U+001B CONTROL CHARACTER");
        assert_eq!(name('\u{2011}'), "U+2011 NON-BREAKING HYPHEN");
        for c in ['\u{200b}', '\u{feff}', '\u{ad}', '\u{2060}', '\u{1b}'] {
            assert!(is_invisible(c), "{c:?}");
        }
        for c in ['a', ' ', '\t', '\u{3000}', '\u{a0}', '-', '小'] {
            assert!(!is_invisible(c), "{c:?}");
        }
    }
}
