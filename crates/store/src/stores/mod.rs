//! The kinds of stores, by the scheme of their URL.
//!
//! One more kind is one file here, with its migrations, and one row in [`TABLE`].

pub(crate) mod sqlite;

use std::pin::Pin;

use crate::error::StoreError;
use crate::store::Store;

/// A store being opened.
pub(crate) type Opening = Pin<Box<dyn Future<Output = Result<Store, StoreError>> + Send>>;

/// One kind of store.
#[derive(Debug)]
pub struct Kind {
    /// The scheme of its URLs, without the colon.
    pub scheme: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// How a URL of it looks.
    pub example: &'static str,
    pub(crate) open: fn(String) -> Opening,
}

/// Every kind of store.
pub const TABLE: &[Kind] = &[Kind {
    scheme: "sqlite",
    about: "one SQLite file, for the loops of one user on one machine",
    example: "sqlite:///home/me/.local/state/agent-loop/loop.db",
    open: |url| Box::pin(sqlite::open(url)),
}];

/// Finds the kind of store that `url` names.
///
/// # Errors
/// Fails when the text is no URL, or its scheme is unknown. The message never shows more of the URL than its
/// scheme: the rest may hold a password.
pub(crate) fn kind_of(url: &str) -> Result<&'static Kind, StoreError> {
    let known = || TABLE.iter().map(|kind| kind.scheme).collect::<Vec<_>>().join(", ");
    let is_scheme = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_alphabetic())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    };
    let scheme = url.split_once(':').map(|(scheme, _)| scheme).filter(|scheme| is_scheme(scheme));
    let Some(scheme) = scheme else {
        return Err(StoreError::BadUrl {
            why: format!("it has no scheme; known: {}; for example {}", known(), TABLE[0].example),
        });
    };
    TABLE
        .iter()
        .find(|kind| kind.scheme.eq_ignore_ascii_case(scheme))
        .ok_or_else(|| StoreError::UnknownScheme { scheme: scheme.to_owned(), known: known() })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_file_of_the_folder_has_its_row() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/stores");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
            .filter(|name| name != "mod")
            .collect();
        files.sort();
        let mut rows: Vec<&str> = TABLE.iter().map(|kind| kind.scheme).collect();
        rows.sort_unstable();
        assert_eq!(files, rows);
    }

    #[test]
    fn a_url_is_known_by_its_scheme() {
        let message = |url: &str| kind_of(url).map(|kind| kind.scheme).map_err(|error| error.to_string());
        assert_eq!(message("sqlite:///tmp/loop.db").unwrap(), "sqlite");
        assert_eq!(message("SQLite:///tmp/loop.db").unwrap(), "sqlite");
        assert_eq!(
            message("postgres://me:secret@host/loop").unwrap_err(),
            "no store is known for `postgres:` URLs; known: sqlite"
        );
        for bad in ["", "/tmp/loop.db", "se cret:word", ":x"] {
            let said = message(bad).unwrap_err();
            assert!(said.starts_with("the store's URL cannot be used: it has no scheme"), "{bad}: {said}");
        }
    }
}
