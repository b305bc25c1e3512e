//! What a level-2 heading says: a section, something that looks like one, or neither.

use crate::cast::{Cast, Role};
use crate::name::{Name, fold};

use super::invisible::is_invisible;
use super::scan::{Piece, PieceKind};

/// A heading's words, split at its first colon.
#[derive(Debug)]
pub(crate) struct Words {
    /// The whole text without markup.
    pub(crate) all: String,
    /// What stands before the first colon; `None` without a colon.
    pub(crate) before: Option<String>,
    /// What stands behind it.
    pub(crate) summary: String,
    /// Where in the source the text behind the colon starts.
    pub(crate) summary_at: usize,
}

/// A heading that starts a section.
#[derive(Debug)]
pub(crate) struct SectionTitle<'c> {
    pub(crate) author: &'c Name,
    pub(crate) role: Role,
    /// What stands behind the arrow, if there is one.
    pub(crate) target: Option<String>,
}

/// How a heading that starts no section names a participant.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Naming<'c> {
    /// The name is a word of it.
    Word(&'c Name),
    /// Its first word is one edit away from the name.
    Near(&'c Name, String),
}

/// Takes the words of a heading's content.
pub(crate) fn words(pieces: &[Piece<'_>], source: &str) -> Words {
    let mut all = String::new();
    let mut colon = None;
    for piece in pieces {
        if !matches!(piece.kind, PieceKind::Text | PieceKind::Code | PieceKind::Html | PieceKind::Break) {
            continue;
        }
        if colon.is_none()
            && let Some(at) = piece.text.find([':', '：'])
        {
            let as_written = source[piece.range.clone()] == *piece.text;
            let width = piece.text[at..].chars().next().map_or(0, char::len_utf8);
            let behind = if as_written { piece.range.start + at + width } else { piece.range.end };
            colon = Some((all.len() + at, all.len() + at + width, behind));
        }
        all.push_str(&piece.text);
    }
    match colon {
        Some((before, after, behind)) => Words {
            before: Some(all[..before].trim().to_owned()),
            summary: all[after..].trim().to_owned(),
            summary_at: behind,
            all,
        },
        None => Words { before: None, summary: String::new(), summary_at: 0, all },
    }
}

/// Reads the words as `Name: …` or `Name -> Target: …`, if the name is known.
pub(crate) fn section<'c>(words: &Words, cast: &'c Cast) -> Option<SectionTitle<'c>> {
    let (name, target) = name_and_target(words.before.as_deref()?);
    let (author, role) = cast.find(name)?;
    Some(SectionTitle { author, role, target: target.map(str::to_owned) })
}

/// Splits what stands before the colon at its arrow.
pub(crate) fn name_and_target(before: &str) -> (&str, Option<&str>) {
    let arrow = ["->", "→"].iter().filter_map(|arrow| Some((before.find(arrow)?, arrow.len()))).min();
    match arrow {
        Some((at, length)) => (before[..at].trim(), Some(before[at + length..].trim())),
        None => (before, None),
    }
}

/// Whether the heading looks like a section of an unknown name: some words, then a colon.
pub(crate) fn looks_like_section(words: &Words) -> bool {
    let Some(before) = words.before.as_deref() else { return false };
    let is_verdict = ["REVIEW-PASS", "REVIEW-BLOCKED"].contains(&before);
    let is_path_or_url = words.summary.starts_with("//") || words.summary.starts_with(':');
    before.chars().any(char::is_alphabetic) && !is_verdict && !is_path_or_url
}

/// Finds out how a heading that starts no section names a participant, if it does.
pub(crate) fn naming<'c>(heading: &str, cast: &'c Cast) -> Option<Naming<'c>> {
    let seen: String = fold(&heading.chars().filter(|c| !is_invisible(*c)).collect::<String>());
    if let Some(name) = cast.names().find(|name| has_word(&seen, name.key())) {
        return Some(Naming::Word(name));
    }
    let word = first_word(heading);
    let bare: String = word.chars().filter(|c| !is_invisible(*c)).collect();
    let until_mark: String = word.chars().take_while(|c| !matches!(c, '_' | '-' | '.')).collect();
    let near = |name: &&Name| {
        let is_near = |word: &str| strsim::levenshtein(&fold(word), name.key()) <= 1;
        name.key().chars().count() >= 4 && [&word, &bare, &until_mark].into_iter().any(|word| is_near(word))
    };
    cast.names().find(near).map(|name| Naming::Near(name, word.clone()))
}

/// The first word: what starts with the first letter or digit, up to a character that no name has. A word far
/// too long to be near any name is cut.
fn first_word(heading: &str) -> String {
    heading
        .trim_start_matches(|c: char| !c.is_alphanumeric())
        .chars()
        .take_while(|c| is_word(*c) || is_invisible(*c) || matches!(c, '_' | '-' | '.'))
        .take(2 * crate::name::MAX_CHARS)
        .collect::<String>()
        .trim_end_matches(|c: char| !is_word(c))
        .to_owned()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || unicode_normalization::char::is_combining_mark(c)
}

/// Whether `name` stands in `text` with a word's edge on both sides. Both are folded.
fn has_word(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        let edge = |inside: Option<char>, outside: Option<char>| match (inside, outside) {
            (Some(inside), Some(outside)) => is_edge(inside, outside),
            _ => true,
        };
        edge(name.chars().next(), text[..at].chars().next_back())
            && edge(name.chars().next_back(), text[at + name.len()..].chars().next())
    })
}

/// Whether a word can end between two neighbouring characters. Scripts that put no spaces between words have an
/// edge everywhere, also towards the letters of others (`Codex第二轮`).
fn is_edge(inside: char, outside: char) -> bool {
    !is_word(outside) || !is_word(inside) || is_unspaced(inside) || is_unspaced(outside)
}

fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1100}'..='\u{11ff}' | '\u{1780}'..='\u{17ff}'
        | '\u{2e80}'..='\u{2fdf}' | '\u{3005}'..='\u{312f}' | '\u{3130}'..='\u{318f}' | '\u{31a0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7ff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}

/// The known name that is nearest to `text`, if one is near enough to be meant.
pub(crate) fn nearest<'c>(text: &str, cast: &'c Cast) -> Option<&'c Name> {
    let text = fold(text);
    if text.chars().count() > 2 * crate::name::MAX_CHARS {
        return None;
    }
    cast.names()
        .map(|name| (strsim::normalized_damerau_levenshtein(&text, name.key()), name))
        .filter(|(likeness, _)| *likeness >= 0.5)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::status::scan::scan;

    fn cast() -> Cast {
        let name = |text| Name::new(text).unwrap();
        Cast {
            agents: vec![name("CC"), name("Codex"), name("小明")],
            planner: Some(name("Hermes")),
            people: vec![name("Dana")],
        }
    }

    fn check_section(heading: &str, expected: Option<(&str, Option<&str>, &str)>) {
        let scan = scan(heading, None);
        let words = words(&scan.headings[0].pieces, heading);
        let cast = cast();
        let found = section(&words, &cast);
        let found = found
            .as_ref()
            .map(|title| (title.author.as_str(), title.target.as_deref(), words.summary.as_str()));
        assert_eq!(found, expected, "{heading}");
    }

    #[test]
    fn headings_that_start_sections() {
        for (heading, expected) in [
            ("## CC: did it", Some(("CC", None, "did it"))),
            ("## cc:did it", Some(("CC", None, "did it"))),
            ("## CC：做完了", Some(("CC", None, "做完了"))),
            ("## CC:", Some(("CC", None, ""))),
            ("##\tCC: x", Some(("CC", None, "x"))),
            ("## **CC**: a **b** `c`", Some(("CC", None, "a b c"))),
            ("## **CC:** a", Some(("CC", None, "a"))),
            ("## __CC -> Codex__: a", Some(("CC", Some("Codex"), "a"))),
            ("## CC→小明：x", Some(("CC", Some("小明"), "x"))),
            ("## CC -> Nobody: x", Some(("CC", Some("Nobody"), "x"))),
            ("## CC: a -> b: c", Some(("CC", None, "a -> b: c"))),
            ("## CC: done ##", Some(("CC", None, "done"))),
            ("## CC: Vec<T> &amp; `x<y>`", Some(("CC", None, "Vec<T> & x<y>"))),
            ("## CC: a <!-- b -->", Some(("CC", None, "a"))),
            ("## Dana: hello", Some(("Dana", None, "hello"))),
            ("## CC (round 2): fixed", None),
            ("## Codx: right", None),
            ("## CC", None),
            ("## \u{200b}CC: x", None),
        ] {
            check_section(heading, expected);
        }
    }

    #[test]
    fn headings_that_name_a_participant() {
        let cast = cast();
        let check = |heading: &str, expected: Option<&str>| {
            let found = naming(heading, &cast).map(|naming| match naming {
                Naming::Word(name) => name.to_string(),
                Naming::Near(name, _) => format!("~{name}"),
            });
            assert_eq!(found.as_deref(), expected, "{heading}");
        };
        for (heading, expected) in [
            ("CC (round 2): fixed", Some("CC")),
            ("🤖 Codex – review", Some("Codex")),
            ("[2026-11-30] Codex", Some("Codex")),
            ("\u{200b}Codex: right", Some("Codex")),
            ("Co\u{200b}dex: right", Some("Codex")),
            ("Codex's review", Some("Codex")),
            ("Codex第二轮：修好", Some("Codex")),
            ("小明的总结", Some("小明")),
            ("dana", Some("Dana")),
            ("Codx: right", Some("~Codex")),
            ("\u{200b}Codx: right", Some("~Codex")),
            ("Codexx", Some("~Codex")),
            ("**Kodex** review", Some("~Codex")),
            ("Codx-review: x", Some("~Codex")),
            ("C\u{43e}dex: x", Some("~Codex")),
            ("Cdoex: x", None),
            ("C: x", None),
            ("Findings: none", None),
            ("CI: green", None),
            ("ACC: x", None),
            ("Review of Codx", None),
            ("", None),
        ] {
            check(heading, expected);
        }
    }
}
