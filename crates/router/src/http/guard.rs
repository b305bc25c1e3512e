//! Who may ask: the key, and against DNS rebinding `Host` and `Origin`.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::problem::Problem;
use crate::desk::Desk;

/// Lets a request through when its `Host` and `Origin` are this machine's and it carries the key. `GET /health`
/// needs no key.
pub(crate) async fn guard(State(desk): State<Arc<Desk>>, request: Request, next: Next) -> Response {
    if !desk.options.anywhere
        && let Err(problem) = is_local(request.headers(), request.uri())
    {
        return problem.into_response();
    }
    let open = request.uri().path() == "/health" && request.method() == axum::http::Method::GET;
    if !open && !offered(request.headers()).is_some_and(|key| desk.options.key.is(key)) {
        desk.counters.refused.inc();
        return Problem::new(StatusCode::UNAUTHORIZED, "no-key", "this request needs the router's key")
            .hint("`loop key` prints the name of a file for `curl -K`; or send `Authorization: Bearer KEY`")
            .wanting_a_key();
    }
    next.run(request).await
}

fn offered(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, key) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
}

fn is_local(headers: &HeaderMap, uri: &Uri) -> Result<(), Problem> {
    let refuse = |what: &str, value: &str| {
        Problem::new(StatusCode::FORBIDDEN, "foreign-host", format!("{what} {value:?} is not this machine"))
            .hint("ask 127.0.0.1, [::1] or localhost directly")
    };
    let host = match headers.get(header::HOST) {
        Some(host) => host.to_str().unwrap_or("?").to_owned(),
        None => uri.authority().map(ToString::to_string).unwrap_or_default(),
    };
    if !host.is_empty() && !is_loopback_name(&host) {
        return Err(refuse("host", &host));
    }
    if let Some(origin) = headers.get(header::ORIGIN) {
        let origin = origin.to_str().unwrap_or("?");
        let authority = origin.strip_prefix("http://").unwrap_or("?");
        if authority != host || !is_loopback_name(authority) {
            return Err(refuse("origin", origin));
        }
    }
    Ok(())
}

fn is_loopback_name(authority: &str) -> bool {
    let name = match authority.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => authority,
    };
    matches!(name, "127.0.0.1" | "localhost" | "[::1]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_local() {
        for good in ["127.0.0.1", "127.0.0.1:5679", "localhost:1", "[::1]:5679", "[::1]"] {
            assert!(is_loopback_name(good), "{good}");
        }
        for bad in
            ["evil.example", "127.0.0.1.evil.example:5679", "localhost.evil:1", "", "::1", "127.0.0.1:x"]
        {
            assert!(!is_loopback_name(bad), "{bad}");
        }
    }
}
