//! `GET /api/events`: what happens, as server-sent events.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::{Stream, StreamExt};
use tokio_stream::wrappers::BroadcastStream;

use crate::desk::Desk;

/// One event per line of news. A listener that falls behind is told how many it missed and goes on.
pub(crate) async fn events(
    State(desk): State<Arc<Desk>>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let stop = desk.stop.clone();
    let news = BroadcastStream::new(desk.news.subscribe())
        .map(|news| {
            let event = match news {
                Ok(news) => Event::default().event(news.kind.clone()).json_data(&news),
                Err(missed) => Ok(Event::default().event("missed").data(missed.to_string())),
            };
            // News are plain texts and times: they always make JSON.
            Ok(event.unwrap_or_default())
        })
        .take_until(async move { stop.cancelled().await });
    Sse::new(news).keep_alive(KeepAlive::new().interval(Duration::from_secs(15)))
}
