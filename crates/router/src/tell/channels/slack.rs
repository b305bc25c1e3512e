//! A channel of Slack, by an incoming webhook: <https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks>.

use async_trait::async_trait;
use serde_json::{Value, json};

use super::{Channel, Opened, Row};
use crate::tell::error::TellError;
use crate::tell::fields::{Address, Around, Fields, SettingsError};
use crate::tell::http;
use crate::tell::message::Message;

pub(super) const ROW: Row = Row {
    name: "slack",
    about: "a channel of Slack, by an incoming webhook",
    example: "{url: https://hooks.slack.com/services/…}",
    open,
};

#[derive(Debug)]
struct Slack {
    url: Address,
}

fn open(value: &Value, around: &Around) -> Result<Opened, SettingsError> {
    let mut fields = Fields::new(ROW.name, value, ROW.example, around)?;
    let slack = Slack { url: fields.address("url")? };
    Ok(Opened { channel: std::sync::Arc::new(slack), sealed: fields.end()? })
}

#[async_trait]
impl Channel for Slack {
    fn place(&self) -> String {
        self.url.host()
    }

    async fn ready(&self) -> Result<(), TellError> {
        self.url.open().await.map(drop)
    }

    async fn send(&self, message: &Message) -> Result<(), TellError> {
        let url = self.url.open().await?;
        let body = json!({"text": format!("*{}*\n{}", escape(&message.title), escape(&message.text))});
        let answer = http::post(&url, &[], body.to_string(), &[]).await?;
        if answer.text() == "ok" {
            return Ok(());
        }
        Err(answer.refused(None, true, "Slack answers `ok`; this is no incoming webhook of Slack's"))
    }
}

/// The three characters that would make a link, or call everybody (`<!channel>`).
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
