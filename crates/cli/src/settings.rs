//! The user's own settings: `config.yaml` in the configuration folder.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use loop_core::Profile;
use serde::Deserialize;

use crate::failure::Failure;

/// What may stand in the user's `config.yaml`; everything is optional.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Settings {
    /// The store's URL (`sqlite:///path/to/loop.db`).
    pub(crate) store: Option<String>,
    /// How a person is reached.
    pub(crate) tell: TellSettings,
    /// The router's port.
    pub(crate) port: Option<u16>,
    /// The tmux socket, when not the default one.
    pub(crate) tmux_socket: Option<PathBuf>,
    /// Further kinds of agents, or overrides of built-in ones, by name.
    pub(crate) profiles: BTreeMap<String, serde_json::Value>,
    /// Owners of mailbox tasks.
    pub(crate) owners: BTreeMap<String, serde_json::Value>,
    /// Folders in which repositories may be.
    pub(crate) roots: Vec<PathBuf>,
    /// The kinds, read from `profiles`.
    #[serde(skip)]
    pub(crate) kinds: BTreeMap<String, Profile>,
}

/// `tell:`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct TellSettings {
    /// Program and arguments, as a list or as one string that is split as a shell would but never run by one.
    pub(crate) command: Option<Words>,
}

/// Program and arguments.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum Words {
    /// A list.
    List(Vec<String>),
    /// One string.
    Line(String),
}

impl Words {
    /// The words.
    pub(crate) fn split(&self) -> Result<Vec<String>, shell_words::ParseError> {
        match self {
            Self::List(words) => Ok(words.clone()),
            Self::Line(line) => shell_words::split(line),
        }
    }
}

impl Settings {
    /// Reads the file; none is as good as an empty one.
    pub(crate) fn read(file: &Path) -> Result<Self, Failure> {
        let text = match std::fs::read_to_string(file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => {
                return Err(Failure::users(anyhow::Error::new(error).context(format!("cannot read {}", file.display()))));
            }
        };
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let mut settings: Self = serde_yaml::from_str(&text)
            .map_err(|error| Failure::say(format!("{}: {error}", file.display())).next("mend the file, or remove it"))?;
        for (kind, fields) in &settings.profiles {
            // JSON is YAML: the one parser of profiles reads both.
            let profile = Profile::parse(&fields.to_string(), &format!("{} (profiles.{kind})", file.display()))
                .map_err(Failure::say)?;
            settings.kinds.insert(kind.clone(), profile);
        }
        Ok(settings)
    }
}
