//! Names of agents, planners and people.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use unicode_normalization::UnicodeNormalization;

/// The most characters that a name may have.
pub const MAX_CHARS: usize = 32;

/// A checked name: a letter of any script, then letters, digits, `_`, `-` or `.`, at most [`MAX_CHARS`] characters.
///
/// Two names are the same when they differ only by case or by Unicode form; [`fmt::Display`] shows the name as it
/// was written (in NFC).
#[derive(Clone)]
pub struct Name {
    shown: String,
    key: String,
}

/// Why a text is no name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} cannot be a name: {why}")]
pub struct NameError {
    /// The refused text.
    pub text: String,
    /// What is wrong with it.
    pub why: &'static str,
}

impl Name {
    /// Checks `text` and makes it a name.
    ///
    /// # Errors
    /// Fails when the text is empty, too long, starts with something other than a letter, or holds a character
    /// that no name may have.
    pub fn new(text: &str) -> Result<Self, NameError> {
        let shown: String = text.nfc().collect();
        let refuse = |why| NameError { text: text.to_owned(), why };
        let Some(first) = shown.chars().next() else { return Err(refuse("it is empty")) };
        if shown.chars().count() > MAX_CHARS {
            return Err(refuse("it has more than 32 characters"));
        }
        if !first.is_alphabetic() {
            return Err(refuse("it must start with a letter"));
        }
        let allowed = |c: char| c.is_alphanumeric() || is_mark(c) || matches!(c, '_' | '-' | '.');
        if !shown.chars().all(allowed) {
            return Err(refuse("only letters, digits, `_`, `-` and `.` may follow the first letter"));
        }
        let key = fold(&shown);
        Ok(Self { shown, key })
    }

    /// The name as it was written.
    pub fn as_str(&self) -> &str {
        &self.shown
    }

    /// The form that is the same for every spelling of this name.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Whether `text` is a spelling of this name.
    pub fn matches(&self, text: &str) -> bool {
        fold(text) == self.key
    }
}

/// Combining marks belong to letters in many scripts (Devanagari vowel signs, accents without a composed form).
fn is_mark(c: char) -> bool {
    unicode_normalization::char::is_combining_mark(c)
}

/// Returns the form of `text` in which spellings that differ only by case or Unicode form are equal.
pub fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let folded: String = text.nfc().flat_map(fold_char).collect();
    folded.nfc().collect()
}

/// Lower case alone keeps apart what upper case makes equal: the two small sigmas, `ß` and `ss`. Only the dotless
/// `ı` must not become an `i` on the way.
fn fold_char(c: char) -> impl Iterator<Item = char> {
    let raise = |c: char| (c != 'ı').then(|| c.to_uppercase()).into_iter().flatten();
    let keep = (c == 'ı').then_some(c);
    c.to_lowercase().flat_map(raise).flat_map(char::to_lowercase).chain(keep)
}

impl fmt::Display for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.shown)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.shown, formatter)
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Name {}

impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key.hash(state);
    }
}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Name {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.cmp(&other.key)
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.shown)
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::new(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked() {
        for good in ["CC", "Codex", "小明", "é-1_2.x", "a", "नमस्ते"] {
            assert!(Name::new(good).is_ok(), "{good}");
        }
        let long = "a".repeat(33);
        for bad in ["", "1a", "-a", "a b", "a:b", "CC\"; touch pwned", "a\u{200b}b", "a\nb", long.as_str()] {
            assert!(Name::new(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn case_and_unicode_form_do_not_matter() {
        let composed = Name::new("Zo\u{e9}").expect("a name");
        assert_eq!(composed, Name::new("ZOE\u{301}").expect("a name"));
        assert!(composed.matches("zoe\u{301}"));
        assert_eq!(composed.to_string(), "Zo\u{e9}");
        for (one, other) in [("Σας", "ΣΑΣ"), ("Straße", "STRASSE"), ("Агент", "АГЕНТ"), ("ẞ", "ß")]
        {
            assert_eq!(Name::new(one).expect("a name"), Name::new(other).expect("a name"));
        }
        assert_ne!(Name::new("ılk").expect("a name"), Name::new("ilk").expect("a name"));
    }
}
