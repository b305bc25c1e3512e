//! The HTTP service. Sources of notices are one file each and one row in the router below.

mod api;
mod events;
mod guard;
mod problem;
mod serve;
mod turn_hook;
mod webhook;

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::{delete, get, post};
use serde_json::{Value, json};
use tower::ServiceBuilder;
use tower::limit::GlobalConcurrencyLimitLayer;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::limit::RequestBodyLimitLayer;
use tower_http::set_header::SetResponseHeaderLayer;
use tower_http::timeout::TimeoutLayer;

use crate::desk::Desk;
use problem::Problem;
pub(crate) use serve::{CONNECTIONS, serve};

/// The most that a body may have, in bytes: a `loop.yaml` fits in, a STATUS.md need not.
const BODY_LIMIT: usize = 256 * 1024;
/// The most requests at once.
const AT_ONCE: usize = 256;

pub(crate) fn service(desk: Arc<Desk>) -> axum::Router {
    let bounded = axum::Router::new()
        .route("/webhook/agent-loop", post(webhook::agent_loop))
        .route("/health", get(health))
        .route("/metrics", get(metrics))
        .route("/api/loops", get(api::loops).post(api::add_loop))
        .route("/api/loops/{id}", get(api::one_loop).delete(api::end_loop))
        .route("/api/loops/{id}/status", get(api::status))
        .route("/api/loops/{id}/turns", get(api::turns))
        .route("/api/loops/{id}/deliveries", get(api::deliveries))
        .route("/api/loops/{id}/ledger", get(api::ledger))
        .route("/api/loops/{id}/log", get(api::log))
        .route("/api/loops/{id}/screen/{agent}", get(api::capture))
        .route("/api/loops/{id}/{command}", post(api::steering))
        .route("/api/sessions", get(api::sessions).post(api::put_session))
        .route("/api/sessions/{id}/{agent}", delete(api::forget_session))
        .route("/api/turn-hook", post(turn_hook::turn_hook))
        .route("/api/router/stop", post(api::stop))
        .layer(TimeoutLayer::with_status_code(StatusCode::REQUEST_TIMEOUT, Duration::from_secs(30)));
    let unbounded = axum::Router::new()
        .route("/api/events", get(events::events))
        .route("/api/loops/{id}/wait", get(api::wait));
    bounded
        .merge(unbounded)
        .fallback(nowhere)
        .method_not_allowed_fallback(wrong_method)
        .layer(
            ServiceBuilder::new()
                .layer(CatchPanicLayer::new())
                // Before anything is waited for: who has no key must not keep others waiting.
                .layer(axum::middleware::from_fn_with_state(Arc::clone(&desk), guard::guard))
                .layer(GlobalConcurrencyLimitLayer::new(AT_ONCE))
                .layer(RequestBodyLimitLayer::new(BODY_LIMIT)),
        )
        .layer(axum::middleware::map_response(problem::of_any_error))
        .layer(
            ServiceBuilder::new()
                .layer(always(header::CACHE_CONTROL, "no-store"))
                .layer(always(header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
                .layer(always(header::CONTENT_SECURITY_POLICY, "default-src 'none'")),
        )
        .with_state(desk)
}

fn always(name: HeaderName, value: &'static str) -> SetResponseHeaderLayer<HeaderValue> {
    SetResponseHeaderLayer::overriding(name, HeaderValue::from_static(value))
}

async fn health(State(desk): State<Arc<Desk>>) -> Json<Value> {
    Json(json!({"status": "ok", "version": desk.options.version, "pid": std::process::id()}))
}

async fn metrics(State(desk): State<Arc<Desk>>) -> impl IntoResponse {
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], desk.counters.text())
}

async fn nowhere() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, "no-such-path", "there is nothing at this path")
        .hint("POST /webhook/agent-loop rings, GET /api/loops lists the loops, GET /health answers")
}

async fn wrong_method() -> Problem {
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "wrong-method", "this path does not answer this method")
        .hint("the `Allow` header has the methods that it answers")
}
