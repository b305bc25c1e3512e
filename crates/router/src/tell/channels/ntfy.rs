//! ntfy: <https://docs.ntfy.sh/publish/>.

use async_trait::async_trait;
use serde_json::{Value, json};

use super::{Channel, Opened, Row};
use crate::tell::error::TellError;
use crate::tell::fields::{Address, Around, Fields, SettingsError, open as unseal};
use crate::tell::http;
use crate::tell::message::{Kind, Message};
use crate::tell::sealed::Sealed;

pub(super) const ROW: Row = Row {
    name: "ntfy",
    about: "a phone or a browser, by ntfy.sh or a server of your own",
    example: "{url: https://ntfy.sh, topic: TOPIC, token: TOKEN}",
    open,
};

#[derive(Debug)]
struct Ntfy {
    url: Address,
    /// On a public server whoever knows the topic reads it.
    topic: Sealed,
    token: Option<Sealed>,
}

fn open(value: &Value, around: &Around) -> Result<Opened, SettingsError> {
    let mut fields = Fields::new(ROW.name, value, ROW.example, around)?;
    let ntfy = Ntfy {
        url: fields.address("url")?,
        topic: fields.required("topic")?,
        token: fields.optional("token")?,
    };
    Ok(Opened { channel: std::sync::Arc::new(ntfy), sealed: fields.end()? })
}

impl Ntfy {
    async fn token(&self) -> Result<Option<String>, TellError> {
        match &self.token {
            Some(token) => unseal(ROW.name, "token", token).await.map(Some),
            None => Ok(None),
        }
    }
}

#[async_trait]
impl Channel for Ntfy {
    fn place(&self) -> String {
        self.url.host()
    }

    async fn ready(&self) -> Result<(), TellError> {
        self.url.open().await?;
        unseal(ROW.name, "topic", &self.topic).await?;
        self.token().await.map(drop)
    }

    async fn send(&self, message: &Message) -> Result<(), TellError> {
        let url = self.url.open().await?;
        let topic = unseal(ROW.name, "topic", &self.topic).await?;
        let token = self.token().await?;
        // As JSON and to the server's root, for a title in a header may be ASCII only.
        let body = json!({
            "topic": topic,
            "title": message.title,
            "message": message.text,
            "priority": if message.kind.is_urgent() { 4 } else { 3 },
            "tags": [tag(message.kind)],
        });
        let headers: Vec<_> =
            token.iter().map(|token| ("Authorization", format!("Bearer {token}"))).collect();
        let secrets: Vec<&str> = token.iter().chain([&topic]).map(String::as_str).collect();
        let answer = http::post(&url, &headers, body.to_string(), &secrets).await?;
        if answer.json().get("id").is_some() {
            return Ok(());
        }
        Err(answer.refused(
            None,
            true,
            "no ntfy server answers there; `url` is the server, without the topic",
        ))
    }
}

/// What ntfy shows as an emoji before the title.
fn tag(kind: Kind) -> &'static str {
    match kind {
        Kind::Asks | Kind::Blocked => "question",
        Kind::Limited | Kind::Waiting => "hourglass_flowing_sand",
        Kind::Held => "warning",
        Kind::Dead => "skull",
        Kind::Passed => "white_check_mark",
        Kind::Turn | Kind::Test => "bell",
    }
}
