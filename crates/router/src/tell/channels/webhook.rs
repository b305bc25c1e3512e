//! A server of the user's own, which can tell that the message is loop's: it is signed.

use async_trait::async_trait;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Channel, Opened, Row};
use crate::tell::error::TellError;
use crate::tell::fields::{Address, Around, Fields, SettingsError, open as unseal};
use crate::tell::http;
use crate::tell::message::Message;
use crate::tell::sealed::Sealed;
use crate::tell::sign::hmac_sha256;

pub(super) const ROW: Row = Row {
    name: "webhook",
    about: "a server of your own, with a signature",
    example: "{url: https://…, secret: SECRET}",
    open,
};

#[derive(Debug)]
struct Webhook {
    url: Address,
    secret: Sealed,
}

fn open(value: &Value, around: &Around) -> Result<Opened, SettingsError> {
    let mut fields = Fields::new(ROW.name, value, ROW.example, around)?;
    let webhook = Webhook { url: fields.address("url")?, secret: fields.required("secret")? };
    Ok(Opened { channel: std::sync::Arc::new(webhook), sealed: fields.end()? })
}

#[async_trait]
impl Channel for Webhook {
    fn place(&self) -> String {
        self.url.host()
    }

    async fn ready(&self) -> Result<(), TellError> {
        self.url.open().await?;
        unseal(ROW.name, "secret", &self.secret).await.map(drop)
    }

    async fn send(&self, message: &Message) -> Result<(), TellError> {
        let url = self.url.open().await?;
        let secret = unseal(ROW.name, "secret", &self.secret).await?;
        let body = json!({
            "title": message.title,
            "text": message.text,
            "repo": message.repo,
            "loop": message.loop_id,
            "kind": message.kind,
            "at": message.at,
        })
        .to_string();
        let timestamp = Timestamp::now().as_second().to_string();
        let headers =
            [("X-Loop-Signature", sign(&timestamp, &body, &secret)), ("X-Loop-Timestamp", timestamp)];
        http::post(&url, &headers, body, &[&secret]).await.map(drop)
    }
}

/// The time is signed with the body, so that an old message cannot be sent again as a new one.
fn sign(timestamp: &str, body: &str, secret: &str) -> String {
    let signed = hmac_sha256(secret.as_bytes(), format!("{timestamp}.{body}").as_bytes());
    format!("sha256={}", hex::encode(signed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signature_covers_time_and_body() {
        // Computed with Python's hmac and with openssl.
        let body = r#"{"title":"loop held: 店","text":"x"}"#;
        assert_eq!(
            sign("1796083200", body, "s3cret"),
            "sha256=eaf7d4638d0aa2d5ce27838635285734f12d63c182df32bd714815861850f5dd"
        );
        assert_ne!(sign("1796083201", body, "s3cret"), sign("1796083200", body, "s3cret"));
    }
}
