//! Reaching a person: when an agent asks or meets its limit, when the loop is held, blocked, dead or passed, never on
//! a normal turn.
//!
//! A [`Tell`] is made of the user's settings and holds any number of [`Channel`]s. A [`Message`] goes to all of them
//! side by side, and each tries by itself until it has it out, so that none waits for another. Secrets stay sealed:
//! they are opened for the one request, and neither `Debug` nor an error says them.

mod channels;
mod error;
mod fields;
mod http;
mod message;
mod program;
mod sealed;
mod sign;
mod teller;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::Value;

pub use channels::{Channel, Opened, Row, TABLE};
pub use error::TellError;
pub use fields::{Around, SettingsError};
pub use message::{Kind, Message};
pub use teller::teller;

/// The pauses after failed tries.
const PAUSES: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(10)];

/// How a person is reached; by default, in no way.
#[derive(Debug, Clone)]
pub struct Tell {
    configured: Vec<Configured>,
    pauses: Vec<Duration>,
}

/// One channel that is configured.
#[derive(Debug, Clone)]
pub struct Configured {
    /// Its key below `tell:`.
    pub name: &'static str,
    channel: Arc<dyn Channel>,
    files: Vec<PathBuf>,
    holds_secrets: bool,
}

/// What became of one try.
#[derive(Debug)]
pub struct Tried {
    /// The channel's key below `tell:`.
    pub channel: &'static str,
    /// Where it leads, without anything secret.
    pub place: String,
    /// How long it took.
    pub took: Duration,
    /// Whether the message was taken.
    pub outcome: Result<(), TellError>,
}

impl Default for Tell {
    fn default() -> Self {
        Self { configured: Vec::new(), pauses: PAUSES.to_vec() }
    }
}

impl Tell {
    /// Reads `tell:` of the user's settings: channels by name. `null` and `false` switch one off.
    ///
    /// # Errors
    /// Fails on what can be seen without looking anywhere: an unknown channel or key, a missing one, an address that
    /// is not https. Whether a variable or file is there is looked up for each message.
    pub fn read(settings: &Value, around: &Around) -> Result<Self, SettingsError> {
        let channels = match settings {
            Value::Null => return Ok(Self::default()),
            Value::Object(channels) => channels,
            _ => {
                let shape = format!("must have one key per channel: {}", channels::names());
                return Err(SettingsError::new("tell", shape));
            }
        };
        let mut tell = Self::default();
        for row in &TABLE {
            let Some(value) = channels.get(row.name).filter(|value| !is_off(value)) else { continue };
            let opened = (row.open)(value, around)?;
            tell.configured.push(Configured {
                name: row.name,
                channel: opened.channel,
                files: opened.sealed.iter().filter_map(|sealed| sealed.file()).map(PathBuf::from).collect(),
                holds_secrets: opened.sealed.iter().any(sealed::Sealed::is_given),
            });
        }
        match channels.keys().find(|name| TABLE.iter().all(|row| row.name != *name)) {
            None => Ok(tell),
            Some(name) => Err(SettingsError::new(
                format!("tell.{}", loop_core::plain::line(name, 40)),
                format!("is no channel; known: {}", channels::names()),
            )),
        }
    }

    /// A program of the user's own: `{title}`, `{text}` and `{repo}` are filled in.
    pub fn command(words: Vec<String>, env: BTreeMap<String, String>) -> Self {
        let mut tell = Self::default();
        tell.add("command", Arc::new(channels::Command::new(words, env)));
        tell
    }

    /// Adds a channel of one's own, for programs that embed a router.
    pub fn add(&mut self, name: &'static str, channel: Arc<dyn Channel>) {
        self.configured.push(Configured { name, channel, files: Vec::new(), holds_secrets: false });
    }

    /// Sets the pauses after failed tries; there is one try more than pauses.
    #[must_use]
    pub fn with_pauses(mut self, pauses: Vec<Duration>) -> Self {
        self.pauses = pauses;
        self
    }

    /// Whether nobody can be told.
    pub fn is_empty(&self) -> bool {
        self.configured.is_empty()
    }

    /// The channels, in the order of the table.
    pub fn configured(&self) -> &[Configured] {
        &self.configured
    }

    pub(crate) fn pauses(&self) -> &[Duration] {
        &self.pauses
    }

    /// Sends one message to every channel, once and side by side.
    pub async fn send(&self, message: &Message) -> Vec<Tried> {
        join_all(self.configured.iter().map(|configured| configured.try_once(message))).await
    }
}

impl Configured {
    /// The channel itself, to be added to another [`Tell`].
    pub fn channel(&self) -> Arc<dyn Channel> {
        Arc::clone(&self.channel)
    }

    /// Where it leads, without anything secret.
    pub fn place(&self) -> String {
        self.channel.place()
    }

    /// Whether it could be tried; sends nothing.
    ///
    /// # Errors
    /// Fails with what is missing.
    pub async fn ready(&self) -> Result<(), TellError> {
        self.channel.ready().await
    }

    /// Whether the settings themselves hold a secret of this channel.
    pub fn holds_secrets(&self) -> bool {
        self.holds_secrets
    }

    /// The files that hold its secrets.
    pub fn secret_files(&self) -> &[PathBuf] {
        &self.files
    }

    async fn try_once(&self, message: &Message) -> Tried {
        let started = Instant::now();
        let outcome = self.channel.send(message).await;
        Tried { channel: self.name, place: self.place(), took: started.elapsed(), outcome }
    }
}

/// Sends by one channel until the message is out, it is clear that it will not be, or `pauses` are used up.
pub(crate) async fn patiently(
    configured: &Configured,
    message: &Message,
    pauses: &[Duration],
) -> Result<(), TellError> {
    let mut pauses = pauses.iter();
    loop {
        let Err(error) = configured.channel.send(message).await else { return Ok(()) };
        tracing::warn!(channel = configured.name, %error, title = message.title, "a person could not be told");
        match pauses.next() {
            Some(pause) if error.may_pass() => tokio::time::sleep(*pause).await,
            _ => return Err(error),
        }
    }
}

fn is_off(value: &Value) -> bool {
    matches!(value, Value::Null | Value::Bool(false))
}

#[cfg(test)]
mod tests;
