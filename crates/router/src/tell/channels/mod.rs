//! The ways to a person: one file each, and one row in [`TABLE`].

mod command;
mod desktop;
mod feishu;
mod ntfy;
mod slack;
mod webhook;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

pub(super) use command::Command;

use super::error::TellError;
use super::fields::{Around, SettingsError};
use super::message::Message;
use super::sealed::Sealed;

/// One way to a person.
///
/// `Debug` and errors show nothing that is secret.
#[async_trait]
pub trait Channel: fmt::Debug + Send + Sync {
    /// Where it leads, for a person: a host, a program.
    fn place(&self) -> String;

    /// Whether it could be tried: its secrets and its program are there. Sends nothing.
    ///
    /// # Errors
    /// Fails with what is missing.
    async fn ready(&self) -> Result<(), TellError>;

    /// Sends one message, once, within some twenty seconds.
    ///
    /// # Errors
    /// Fails when it is not certain that the message was taken.
    async fn send(&self, message: &Message) -> Result<(), TellError>;
}

/// A channel as its settings describe it.
pub struct Opened {
    pub(super) channel: Arc<dyn Channel>,
    /// The secrets that its settings hold or name.
    pub(super) sealed: Vec<Sealed>,
}

impl Opened {
    fn new(channel: impl Channel + 'static) -> Self {
        Self { channel: Arc::new(channel), sealed: Vec::new() }
    }
}

/// A kind of channel.
pub struct Row {
    /// Its key below `tell:`.
    pub name: &'static str,
    /// What it reaches, in a few words.
    pub about: &'static str,
    /// What may stand behind its key.
    pub example: &'static str,
    /// Reads its settings.
    pub open: fn(&Value, &Around) -> Result<Opened, SettingsError>,
}

/// Every kind of channel.
pub const TABLE: [Row; 6] = [command::ROW, desktop::ROW, ntfy::ROW, slack::ROW, feishu::ROW, webhook::ROW];

/// The names of all, for a message.
pub(super) fn names() -> String {
    TABLE.map(|row| row.name).join(", ")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    #[test]
    fn every_file_has_its_row() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tell/channels");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
            .filter(|name| name != "mod")
            .collect();
        files.sort();
        let mut rows = super::TABLE.map(|row| row.name);
        rows.sort_unstable();
        assert_eq!(files, rows);
    }
}
