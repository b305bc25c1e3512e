//! Reading one channel's settings. No message repeats a value: it may be a secret.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;

use reqwest::Url;
use serde_json::{Map, Value};

use super::error::TellError;
use super::sealed::Sealed;

/// What the settings may refer to: the library reads neither environment nor home by itself.
#[derive(Clone, Default)]
pub struct Around {
    /// The environment, for `{env: NAME}` and for programs that are called.
    pub env: BTreeMap<String, String>,
    /// The home folder, for `{file: ~/…}`.
    pub home: PathBuf,
}

/// What is wrong with `tell:`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{key}` {why}")]
pub struct SettingsError {
    /// The key, `tell.slack.url`.
    pub key: String,
    /// What is wrong.
    pub why: String,
}

impl SettingsError {
    pub(super) fn new(key: impl Into<String>, why: impl Into<String>) -> Self {
        Self { key: key.into(), why: why.into() }
    }
}

/// The fields of one channel, taken one by one; what is left over at the end is an error.
pub(super) struct Fields<'a> {
    channel: &'static str,
    fields: Map<String, Value>,
    around: &'a Around,
    known: Vec<&'static str>,
    /// Every secret that was taken.
    pub(super) sealed: Vec<Sealed>,
}

impl<'a> Fields<'a> {
    pub(super) fn new(
        channel: &'static str,
        value: &Value,
        example: &str,
        around: &'a Around,
    ) -> Result<Self, SettingsError> {
        let Value::Object(fields) = value else {
            return Err(SettingsError::new(
                format!("tell.{channel}"),
                format!("must have keys of its own: {channel}: {example}"),
            ));
        };
        Ok(Self { channel, fields: fields.clone(), around, known: Vec::new(), sealed: Vec::new() })
    }

    fn key(&self, name: &str) -> String {
        format!("tell.{}.{name}", self.channel)
    }

    /// A secret that may be missing.
    pub(super) fn optional(&mut self, name: &'static str) -> Result<Option<Sealed>, SettingsError> {
        self.known.push(name);
        let key = self.key(name);
        let bad = |why: &str| Err(SettingsError::new(&key, why));
        let sealed = match self.fields.remove(name) {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::String(text)) if text.trim().is_empty() => return bad("is empty"),
            Some(Value::String(text)) => Sealed::Given(text),
            Some(Value::Object(reference)) => match (reference.get("env"), reference.get("file")) {
                (Some(Value::String(env)), None) if reference.len() == 1 => {
                    Sealed::env(env, &self.around.env)
                }
                (None, Some(Value::String(file))) if reference.len() == 1 => {
                    Sealed::File(self.path(name, file)?)
                }
                _ => return bad("must be a text, {env: NAME} or {file: PATH}"),
            },
            Some(Value::Number(_) | Value::Bool(_)) => {
                return bad("is read as a number or as true or false; put quotes around it");
            }
            Some(Value::Array(_)) => return bad("must be a text, {env: NAME} or {file: PATH}"),
        };
        self.sealed.push(sealed.clone());
        Ok(Some(sealed))
    }

    /// A secret that must be there.
    pub(super) fn required(&mut self, name: &'static str) -> Result<Sealed, SettingsError> {
        self.optional(name)?.ok_or_else(|| SettingsError::new(self.key(name), "is missing"))
    }

    /// An address that must be there and, as far as it can be seen, right.
    pub(super) fn address(&mut self, name: &'static str) -> Result<Address, SettingsError> {
        let address = Address { key: self.key(name), sealed: self.required(name)? };
        if let Sealed::Given(text) = &address.sealed {
            parse(text).map_err(|why| SettingsError::new(&address.key, why))?;
        }
        Ok(address)
    }

    /// Whether nothing is left over.
    pub(super) fn end(self) -> Result<Vec<Sealed>, SettingsError> {
        match self.fields.keys().next() {
            None => Ok(self.sealed),
            Some(other) => Err(SettingsError::new(
                self.key(&loop_core::plain::line(other, 40)),
                format!("is unknown; known: {}", self.known.join(", ")),
            )),
        }
    }

    fn path(&self, name: &str, text: &str) -> Result<PathBuf, SettingsError> {
        let path = match text.strip_prefix("~/") {
            Some(rest) => self.around.home.join(rest),
            None => PathBuf::from(text),
        };
        if path.is_absolute() {
            return Ok(path);
        }
        Err(SettingsError::new(self.key(name), "names a file by a relative path; begin it with / or ~/"))
    }
}

/// Where a channel posts to. The address may be a secret by itself.
#[derive(Debug, Clone)]
pub(super) struct Address {
    key: String,
    sealed: Sealed,
}

impl Address {
    /// Where it leads, for a person.
    pub(super) fn host(&self) -> String {
        self.sealed.host()
    }

    /// Returns the address.
    pub(super) async fn open(&self) -> Result<Url, TellError> {
        let wrong = |why: String| TellError::Settings { key: self.key.clone(), why };
        parse(&self.sealed.open().await.map_err(wrong)?).map_err(|why| wrong(why.to_owned()))
    }
}

/// Reads an address: https, or http to this very machine.
fn parse(text: &str) -> Result<Url, &'static str> {
    let Ok(url) = Url::parse(text.trim()) else {
        return Err("is no address; it begins with https://");
    };
    match url.scheme() {
        "https" if url.has_host() => Ok(url),
        "http" if is_loopback(&url) => Ok(url),
        "http" => Err("must begin with https://: over http anybody on the way reads it \
                       (http is for this machine itself: 127.0.0.1, [::1], localhost)"),
        _ => Err("must begin with https://"),
    }
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Opens a secret of a channel.
pub(super) async fn open(channel: &str, name: &str, sealed: &Sealed) -> Result<String, TellError> {
    let wrong = |why| TellError::Settings { key: format!("tell.{channel}.{name}"), why };
    sealed.open().await.map_err(wrong)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn an_address_is_https_or_this_machine() {
        for good in [
            "https://ntfy.sh",
            " https://h.example:8443/x?y=z ",
            "http://127.0.0.1:80/",
            "http://127.8.0.1",
            "http://[::1]:9/x",
            "http://localhost:2586",
            "HTTP://LOCALHOST",
        ] {
            assert!(parse(good).is_ok(), "{good}");
        }
        for bad in [
            "http://ntfy.sh",
            "http://127.0.0.1.evil.example/",
            "http://localhost.evil.example/",
            "http://localhost@evil.example/",
            "http://0.0.0.0/",
            "http://192.168.1.1/",
            "ftp://x/",
            "file:///etc/passwd",
            "ntfy.sh",
            "https://",
            "",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
