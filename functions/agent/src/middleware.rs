//! Middleware of all routes: passes a request on, or returns a response.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::Request;
use axum::middleware::Next;
use axum::response::Response;
use djinn_core::error_code::{ErrorCode, Failure};
use djinn_runtime::port::clock::Clock;
use djinn_runtime::port::secret::Secrets;
use djinn_runtime::world::Ports;
use percent_encoding::percent_decode_str;

use crate::agent::SharedAgent;
use crate::api_error::ApiError;
use crate::identity::{Authenticator, Credentials, is_signed};
use crate::link::{SignedLinks, is_file_link};
use crate::local::check_origin;

/// Adds the [`Caller`](crate::identity::Caller) and the known users to a request and removes the key or token,
/// or rejects the request.
pub(crate) async fn require_caller<P: Ports, S: Secrets + 'static>(
    State((agent, gate)): State<(SharedAgent<P>, Arc<Authenticator<S>>)>,
    request: Request<Body>,
    next: Next,
) -> Result<Response, ApiError> {
    let (mut parts, body) = request.into_parts();
    let credentials = Credentials::take_from(&mut parts.headers);
    if SignedLinks::of(&parts).is_some() && is_file_link(parts.uri.path()) {
        return Ok(next.run(Request::from_parts(parts, body)).await);
    }
    let now_ms = agent.ports.clock().now_ms();
    let caller = gate.authenticate(credentials, &parts.extensions, now_ms).await?;
    parts.extensions.insert(caller);
    if let Some(users) = gate.known_users(now_ms).await {
        parts.extensions.insert(users);
    }
    Ok(next.run(Request::from_parts(parts, body)).await)
}

/// Rejects requests from another site's page or with another host name.
pub(crate) async fn refuse_others<P: Ports>(
    State(agent): State<SharedAgent<P>>,
    request: Request<Body>,
    next: Next,
) -> Result<Response, ApiError> {
    let (parts, body) = request.into_parts();
    // A signed event did not come from a browser, and has the host name of an AWS service.
    if !is_signed(&parts.extensions) {
        check_origin(&parts, &agent.settings.origins)?;
    }
    Ok(next.run(Request::from_parts(parts, body)).await)
}

/// Rejects requests with a path that is not UTF-8 after decoding.
pub(crate) async fn require_utf8_path(
    request: Request<Body>,
    next: Next,
) -> Result<Response, ApiError> {
    if percent_decode_str(request.uri().path()).decode_utf8().is_ok() {
        return Ok(next.run(request).await);
    }
    let failure = Failure::new(ErrorCode::InvalidField, "the path of the URL is no text in UTF-8");
    Err(failure.into())
}
