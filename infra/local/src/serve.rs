//! HTTP servers with timeouts.

use std::time::Duration;

use axum::Router;
use http::{Request, Response};
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tower::{BoxError, Layer, Service};
use tower_http::timeout::{RequestBodyTimeout, RequestBodyTimeoutLayer};

/// Timeouts of a server for slow clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServeTimeouts {
    /// Time until a connection has sent the headers of the first or next request. Longer than the 90 s for
    /// which most clients keep idle connections, to avoid closing a connection during a request.
    pub headers: Duration,
    /// Time between two pieces of a request's body.
    pub body: Duration,
}

impl Default for ServeTimeouts {
    fn default() -> Self {
        Self { headers: Duration::from_secs(100), body: Duration::from_secs(30) }
    }
}

/// Maximum bytes of a response that a connection buffers before it asks the body for more, and maximum bytes of a
/// request's headers. hyper's default of 400 KB for each client that does not read is more than all else of a viewer.
const MAX_BUFFER: usize = 64 * 1024;

/// Pause after an error in accepting a connection.
const PAUSE: Duration = Duration::from_millis(50);

/// Serves all connections until dropped; open connections then continue. The service limits the wait for
/// bodies; see `with_body_timeout`.
pub async fn serve<S, B>(listener: TcpListener, service: S, patience: ServeTimeouts)
where
    S: Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Into<BoxError>,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<BoxError>,
{
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "a connection was not accepted");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        // With Nagle's algorithm, each small frame would wait for the acknowledgment of the previous frame.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY not set");
        }
        let service = TowerToHyperService::new(service.clone());
        let mut server = http1::Builder::new();
        server.timer(TokioTimer::new()).header_read_timeout(patience.headers);
        server.max_buf_size(MAX_BUFFER);
        let connection = server.serve_connection(TokioIo::new(stream), service);
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection broke off");
            }
        });
    }
}

/// Adds a timeout for request bodies to routes.
pub(crate) fn with_body_timeout(
    routes: Router,
    patience: ServeTimeouts,
) -> RequestBodyTimeout<Router> {
    RequestBodyTimeoutLayer::new(patience.body).layer(routes)
}
