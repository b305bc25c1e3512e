//! Posting a message to a server: TLS, no redirect, ten seconds, and no more of the answer than is needed.

use std::error::Error;
use std::time::Duration;

use reqwest::{Client, Url, redirect};
use serde_json::Value;

use super::error::TellError;
use super::sealed::host;
use crate::tls;

/// How long the whole exchange may take.
const DEADLINE: Duration = Duration::from_secs(10);
/// As much of an answer is read.
const ANSWER: usize = 8 * 1024;
/// As much of it is shown.
const WORDS: usize = 200;

/// What a server answered with a status of success.
pub(super) struct Answer {
    host: String,
    status: u16,
    text: String,
    secrets: Vec<String>,
}

/// Posts JSON.
///
/// `secrets` are kept out of what is said of the answer, besides the address itself.
///
/// # Errors
/// Fails when the server cannot be reached, takes over 10 s, redirects, or answers with another status than success.
pub(super) async fn post(
    url: &Url,
    headers: &[(&str, String)],
    body: String,
    secrets: &[&str],
) -> Result<Answer, TellError> {
    let host = host(url);
    let unreachable = |error: reqwest::Error| TellError::Unreachable {
        host: host.clone(),
        why: if error.is_timeout() {
            format!("no answer within {} s", DEADLINE.as_secs())
        } else {
            because(&error.without_url())
        },
    };
    let mut request = client(url)
        .map_err(unreachable)?
        .post(url.clone())
        .header("Content-Type", "application/json; charset=utf-8")
        .body(body);
    for (name, value) in headers {
        request = request.header(*name, value);
    }
    let mut answer = request.send().await.map_err(unreachable)?;
    let status = answer.status();
    let mut bytes = Vec::new();
    while bytes.len() < ANSWER {
        match answer.chunk().await {
            Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
            Ok(None) => break,
            // What came with a refusal is worth showing although its end is missing.
            Err(_) if !status.is_success() => break,
            Err(error) => return Err(unreachable(error)),
        }
    }
    bytes.truncate(ANSWER);
    let answer = Answer {
        host,
        status: status.as_u16(),
        text: String::from_utf8_lossy(&bytes).into_owned(),
        secrets: secrets_of(url).chain(secrets.iter().map(|secret| (*secret).to_owned())).collect(),
    };
    if status.is_success() {
        return Ok(answer);
    }
    let may_pass = status.is_server_error() || matches!(status.as_u16(), 408 | 425 | 429);
    let next = match status.as_u16() {
        300..=399 => "a redirect is not followed; give the address that it leads to",
        401 | 403 => "the token, the secret or the address is not accepted; make a new one",
        404 | 405 | 410 => "there is no such address any more; look at it in config.yaml",
        429 => "the server takes no more for now; it is tried again with the next message",
        500..=599 => "the trouble is the server's; try again later",
        _ => "the server's words say what it wants",
    };
    let words = answer.words();
    Err(TellError::Refused {
        host: answer.host,
        answer: status.to_string(),
        words,
        may_pass,
        next: next.to_owned(),
    })
}

impl Answer {
    /// The answer itself, to be compared.
    pub(super) fn text(&self) -> &str {
        self.text.trim()
    }

    /// The answer as JSON; null where it is none.
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_default()
    }

    /// A refusal in spite of the status.
    pub(super) fn refused(&self, code: Option<i64>, may_pass: bool, next: &str) -> TellError {
        let code = code.map(|code| format!(", but code {code}")).unwrap_or_default();
        TellError::Refused {
            host: self.host.clone(),
            answer: format!("{}{code}", self.status),
            words: self.words(),
            may_pass,
            next: next.to_owned(),
        }
    }

    /// The beginning of the answer, harmless and without what must not be shown: servers like to repeat it.
    fn words(&self) -> String {
        let mut text = self.text.clone();
        for secret in &self.secrets {
            text = text.replace(secret, "…");
        }
        loop_core::plain::line(&text, WORDS)
    }
}

/// The parts of an address that may be the secret.
fn secrets_of(url: &Url) -> impl Iterator<Item = String> {
    let path = url.path().trim_matches('/');
    let mut parts = vec![url.as_str().to_owned(), path.to_owned()];
    parts.extend(path.split('/').map(str::to_owned));
    parts.extend(url.query().map(str::to_owned));
    parts.extend(url.query_pairs().map(|(_, value)| value.into_owned()));
    parts.extend([url.username()].into_iter().chain(url.password()).map(str::to_owned));
    // A server repeats them as they came, or as it reads them.
    let read: Vec<String> = parts.iter().map(|part| decoded(part)).collect();
    parts.extend(read);
    // The longest first, so that none is broken by a part of it; a short one is a word like `v2`.
    parts.retain(|part| part.len() >= 6);
    parts.sort_by_key(|part| std::cmp::Reverse(part.len()));
    parts.into_iter()
}

/// A part of an address with its `%XX` read.
fn decoded(part: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = part.as_bytes();
    while let [first, after @ ..] = rest {
        let byte = after.get(..2).filter(|_| *first == b'%').and_then(|digits| hex::decode(digits).ok());
        bytes.push(byte.as_ref().map_or(*first, |byte| byte[0]));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// One client per message: messages are rare, and a certificate that was added is known at once.
fn client(url: &Url) -> Result<Client, reqwest::Error> {
    let builder = Client::builder()
        .no_proxy()
        .redirect(redirect::Policy::none())
        .timeout(DEADLINE)
        .user_agent(concat!("agent-loop/", env!("CARGO_PKG_VERSION")));
    if url.scheme() == "http" {
        return builder.tls_backend_preconfigured(tls::unused()).build();
    }
    tls::provide();
    builder.https_only(true).build()
}

/// The causes of an error, in one line.
fn because(error: &reqwest::Error) -> String {
    let mut cause: Option<&dyn Error> = error.source();
    let mut words: Vec<String> = Vec::new();
    while let Some(error) = cause {
        let text = error.to_string();
        if !words.iter().any(|said| said.contains(&text)) {
            words.push(text);
        }
        cause = error.source();
    }
    // The first ones only name the layers that the last one passed through.
    let last = words.split_off(words.len().saturating_sub(2));
    let text = if last.is_empty() { error.to_string() } else { last.join(": ") };
    loop_core::plain::line(&text, WORDS)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_a_server_repeats_of_its_address_is_not_shown() {
        let url = Url::parse("https://tk_4711:pass%20word@h.example/services/T%C3%BCr-4711?key=a%2Fb-4711")
            .unwrap();
        let said = |text: &str| {
            let secrets = secrets_of(&url).collect();
            Answer { host: host(&url), status: 404, text: text.to_owned(), secrets }.words()
        };
        for secret in
            ["tk_4711", "pass%20word", "pass word", "T%C3%BCr-4711", "Tür-4711", "key=a%2Fb-4711", "a/b-4711"]
        {
            assert_eq!(said(&format!("no {secret} here")), "no … here");
        }
        assert_eq!(said("the route is unknown"), "the route is unknown");
    }
}
