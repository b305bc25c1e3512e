//! Errors on the wire: RFC 9457 problem documents that name the mend.

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

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = serde_json::to_string(&self).unwrap_or_default();
        (self.code, [(header::CONTENT_TYPE, "application/problem+json")], body).into_response()
    }
}
