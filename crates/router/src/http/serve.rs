//! Connections: how many at once, how long a client may take, and a graceful end.

use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// The most connections at once; who comes later waits until one ends.
pub(crate) const CONNECTIONS: usize = 512;
/// The most bytes in a request's head.
const HEAD_LIMIT: usize = 32 * 1024;
/// How long requests under way may take once the router stops.
const LAST_ANSWERS: Duration = Duration::from_secs(5);

/// Answers until the router stops; requests under way are answered then.
pub(crate) async fn serve(
    listener: TcpListener,
    service: axum::Router,
    header_limit: Duration,
    places: Arc<Semaphore>,
    stop: CancellationToken,
) {
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(header_limit).max_buf_size(HEAD_LIMIT);
    let graceful = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    loop {
        // The place is taken first: beyond them the system's own queue holds who comes.
        let accepted = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (place, listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
            accepted = accepted => accepted,
            Some(_) = connections.join_next() => continue,
            () = stop.cancelled() => break,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "a connection cannot be accepted");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        // Answers are small and waited for.
        let _ = stream.set_nodelay(true);
        let service = TowerToHyperService::new(service.clone());
        let connection = graceful.watch(builder.serve_connection(TokioIo::new(stream), service));
        connections.spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection ended early");
            }
            drop(place);
        });
    }
    drop(listener);
    if tokio::time::timeout(LAST_ANSWERS, graceful.shutdown()).await.is_err() {
        tracing::warn!("some requests were not answered before the router stopped");
    }
}
