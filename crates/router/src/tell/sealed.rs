//! A value of the settings that nobody is shown: a token, or an address that is one.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use reqwest::Url;

/// The most bytes of a file that holds a secret.
const FILE: u64 = 8 * 1024;

/// A secret: the value itself, or where it is. `Debug` shows only where.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Sealed {
    /// It stands in the settings.
    Given(String),
    /// It stands in a variable of the environment.
    Env {
        /// The variable.
        name: String,
        /// Its value.
        value: Option<String>,
    },
    /// It is the content of a file.
    File(PathBuf),
}

impl Sealed {
    /// A variable of this environment.
    pub(super) fn env(name: &str, env: &BTreeMap<String, String>) -> Self {
        Self::Env { name: name.to_owned(), value: env.get(name).cloned() }
    }

    /// Returns the value. A file is read anew each time, so that a new secret needs no restart.
    pub(super) async fn open(&self) -> Result<String, String> {
        let value = match self {
            Self::Given(value) => value.clone(),
            Self::Env { name, value } => value
                .clone()
                .ok_or_else(|| format!("the environment that loop was started in has no variable {name}"))?,
            Self::File(path) => read(path).await.map_err(|why| format!("{}: {why}", path.display()))?,
        };
        let value = value.trim();
        if value.is_empty() {
            return Err(format!("{} is empty", self.place()));
        }
        if value.chars().any(char::is_control) {
            return Err(format!("{} holds more than one line, or a control character", self.place()));
        }
        Ok(value.to_owned())
    }

    /// Where the value is, in words.
    fn place(&self) -> String {
        match self {
            Self::Given(_) => "the value".to_owned(),
            Self::Env { name, .. } => format!("${name}"),
            Self::File(path) => path.display().to_string(),
        }
    }

    /// Where an address leads: its host, or where the address is.
    pub(super) fn host(&self) -> String {
        match self {
            Self::Given(value) => Url::parse(value).map_or_else(|_| self.place(), |url| host(&url)),
            _ => format!("the address in {}", self.place()),
        }
    }

    /// Whether it stands in the settings themselves.
    pub(super) fn is_given(&self) -> bool {
        matches!(self, Self::Given(_))
    }

    /// The file that holds it, if one does.
    pub(super) fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            _ => None,
        }
    }
}

/// The host of an address, with its port where it has one of its own.
pub(super) fn host(url: &Url) -> String {
    let name = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| name.to_owned(), |port| format!("{name}:{port}"))
}

async fn read(path: &Path) -> Result<String, String> {
    let met = tokio::fs::metadata(path).await.map_err(|error| error.to_string())?;
    if !met.is_file() || met.len() > FILE {
        return Err(format!("it is no file of at most {FILE} bytes"));
    }
    tokio::fs::read_to_string(path).await.map_err(|error| error.to_string())
}

impl fmt::Debug for Sealed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Given(_) => formatter.write_str("…"),
            _ => formatter.write_str(&self.place()),
        }
    }
}
