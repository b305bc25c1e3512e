//! Errors on the wire: RFC 9457 problem documents that name the mend.

use axum::body::{Body, to_bytes};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// One problem document.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Problem {
    #[serde(skip)]
    pub(crate) code: StatusCode,
    /// A stable word: `unknown-author`.
    #[serde(rename = "type")]
    kind: String,
    /// What happened.
    title: String,
    /// The HTTP status again, as the format wants it.
    status: u16,
    /// The particulars.
    #[serde(skip_serializing_if = "String::is_empty")]
    detail: String,
    /// What to do next.
    #[serde(skip_serializing_if = "String::is_empty")]
    hint: String,
}

impl Problem {
    pub(crate) fn new(code: StatusCode, kind: &str, title: impl Into<String>) -> Self {
        Self {
            code,
            kind: format!("urn:loop:problem:{kind}"),
            title: title.into(),
            status: code.as_u16(),
            detail: String::new(),
            hint: String::new(),
        }
    }

    pub(crate) fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = detail.into();
        self
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    /// The answer to a request without the key.
    pub(crate) fn wanting_a_key(self) -> Response {
        let mut response = self.into_response();
        response
            .headers_mut()
            .insert(header::WWW_AUTHENTICATE, axum::http::HeaderValue::from_static("Bearer"));
        response
    }

    /// Something of ours broke: the cause goes to the log, not to the client.
    pub(crate) fn ours(error: &dyn std::error::Error) -> Self {
        let mut chain = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            chain.push_str(": ");
            chain.push_str(&cause.to_string());
            source = cause.source();
        }
        tracing::error!(error = chain, "a request failed");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the router could not do this")
            .hint("the router's log has the cause; `loop doctor` looks for it")
    }
}

/// The most of another's error text that is passed on.
const DETAIL: usize = 1000;

/// Makes a problem document of what the layers and extractors around a handler answer when they refuse.
pub(crate) async fn of_any_error(response: Response) -> Response {
    let code = response.status();
    let is_document = response
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(KIND.as_bytes()));
    if is_document || !(code.is_client_error() || code.is_server_error()) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let words = to_bytes(body, 64 * 1024).await.unwrap_or_default();
    let words =
        loop_core::plain::plain(&String::from_utf8_lossy(&words)).chars().take(DETAIL).collect::<String>();
    let (kind, title, hint) = match code {
        StatusCode::PAYLOAD_TOO_LARGE => (
            "too-large",
            "the body is too large",
            "256 KB are accepted; send the text's path instead of the text",
        ),
        StatusCode::REQUEST_TIMEOUT => {
            ("timeout", "the request took too long", "send the whole body at once, and try again")
        }
        StatusCode::UNSUPPORTED_MEDIA_TYPE => {
            ("not-json", "the body is not said to be JSON", "send `Content-Type: application/json`")
        }
        StatusCode::BAD_REQUEST => {
            ("bad-request", "the request cannot be read", "the detail says what is wrong")
        }
        StatusCode::UNPROCESSABLE_ENTITY => {
            ("bad-body", "the body does not have the right fields", "the detail says which one")
        }
        code if code.is_client_error() => ("refused", "the request is refused", "the detail says why"),
        _ => (
            "internal",
            "the router could not do this",
            "the router's log has the cause; `loop doctor` looks for it",
        ),
    };
    let detail = if code.is_server_error() { String::new() } else { words };
    let problem = Problem::new(code, kind, title).detail(detail).hint(hint);
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.insert(header::CONTENT_TYPE, axum::http::HeaderValue::from_static(KIND));
    Response::from_parts(parts, Body::from(serde_json::to_string(&problem).unwrap_or_default()))
}

/// The media type of a problem document.
const KIND: &str = "application/problem+json";

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = serde_json::to_string(&self).unwrap_or_default();
        (self.code, [(header::CONTENT_TYPE, KIND)], body).into_response()
    }
}
