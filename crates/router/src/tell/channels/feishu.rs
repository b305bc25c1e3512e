//! A group of Feishu or Lark, by a custom bot: <https://open.feishu.cn/document/client-docs/bot-v3/add-custom-bot>.

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{Channel, Opened, Row};
use crate::tell::error::TellError;
use crate::tell::fields::{Address, Around, Fields, SettingsError, open as unseal};
use crate::tell::http;
use crate::tell::message::Message;
use crate::tell::sealed::Sealed;
use crate::tell::sign::hmac_sha256;

pub(super) const ROW: Row = Row {
    name: "feishu",
    about: "a group of Feishu or Lark, by a custom bot",
    example: "{url: https://open.feishu.cn/open-apis/bot/v2/hook/…, secret: SECRET}",
    open,
};

#[derive(Debug)]
struct Feishu {
    url: Address,
    /// Missing where the bot is guarded by a keyword or by addresses instead.
    secret: Option<Sealed>,
}

fn open(value: &Value, around: &Around) -> Result<Opened, SettingsError> {
    let mut fields = Fields::new(ROW.name, value, ROW.example, around)?;
    let feishu = Feishu { url: fields.address("url")?, secret: fields.optional("secret")? };
    Ok(Opened { channel: std::sync::Arc::new(feishu), sealed: fields.end()? })
}

impl Feishu {
    async fn secret(&self) -> Result<Option<String>, TellError> {
        match &self.secret {
            Some(secret) => unseal(ROW.name, "secret", secret).await.map(Some),
            None => Ok(None),
        }
    }
}

#[async_trait]
impl Channel for Feishu {
    fn place(&self) -> String {
        self.url.host()
    }

    async fn ready(&self) -> Result<(), TellError> {
        self.url.open().await?;
        self.secret().await.map(drop)
    }

    async fn send(&self, message: &Message) -> Result<(), TellError> {
        let url = self.url.open().await?;
        let secret = self.secret().await?;
        let text = format!("{}\n{}", message.title, message.text);
        // `<at user_id="all">` would call everybody.
        let text = text.replace('<', "＜");
        let mut body = json!({"msg_type": "text", "content": {"text": text}});
        if let Some(secret) = &secret {
            // The time of sending, not that of the event: Feishu refuses what is over an hour old.
            let timestamp = jiff::Timestamp::now().as_second().to_string();
            body["sign"] = sign(&timestamp, secret).into();
            body["timestamp"] = timestamp.into();
        }
        let secrets: Vec<&str> = secret.iter().map(String::as_str).collect();
        let answer = http::post(&url, &[], body.to_string(), &secrets).await?;
        let said = answer.json();
        // Older bots answer in another case.
        match said.get("code").or_else(|| said.get("StatusCode")).and_then(Value::as_i64) {
            Some(0) => Ok(()),
            Some(code) => Err(answer.refused(Some(code), matches!(code, 9499 | 11232), next(code))),
            None => Err(answer.refused(
                None,
                true,
                "this is no custom bot of Feishu's; look at `tell.feishu.url`",
            )),
        }
    }
}

/// The key is what is signed, and the message is empty: that is how Feishu wants it.
fn sign(timestamp: &str, secret: &str) -> String {
    STANDARD.encode(hmac_sha256(format!("{timestamp}\n{secret}").as_bytes(), b""))
}

fn next(code: i64) -> &'static str {
    match code {
        19021 => "`tell.feishu.secret` is not the bot's, or this machine's clock is over an hour wrong",
        19022 => "the bot takes messages from certain addresses only; add this machine's",
        19024 => "the bot wants a keyword in each message; `loop` is in all of them",
        19001 | 9499 => "look at `tell.feishu.url`: it is the bot's whole address",
        11232 => "the bot takes no more for now; it is tried again",
        _ => "Feishu's words say what it wants",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signature_is_feishus() {
        // Computed with Python's hmac and with openssl.
        for (timestamp, secret, expected) in VECTORS {
            assert_eq!(sign(timestamp, secret), *expected);
        }
    }

    const VECTORS: &[(&str, &str, &str)] = &[
        ("1599360473", "demo", "l1N0gAcBjdwBvGm1xMjOF0XSyaLRpR7tuO5dHfhAYc8="),
        ("1796083200", "Zh5oXyQW7Jm密", "lKoyw0DIQwbR+DkJM9JkXKIRfUXC8IxoKiu5kQ9R0aU="),
    ];
}
