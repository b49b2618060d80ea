//! What stands before the routes: it answers a request, or lets it through.

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

/// Lets a request through with its [`Caller`](crate::identity::Caller) and without its key or token, or answers it.
pub(crate) async fn require_caller<P: Ports, S: Secrets + 'static>(
    State((agent, gate)): State<(SharedAgent<P>, Arc<Authenticator<S>>)>,
    request: Request<Body>,
    next: Next,
) -> Response {
    let (mut parts, body) = request.into_parts();
    let credentials = Credentials::take_from(&mut parts.headers);
    if SignedLinks::of(&parts).is_some() && is_file_link(parts.uri.path()) {
        return next.run(Request::from_parts(parts, body)).await;
    }
    let now_ms = agent.ports.clock().now_ms();
    match gate.authenticate(credentials, &parts.extensions, now_ms).await {
        Ok(caller) => {
            parts.extensions.insert(caller);
            next.run(Request::from_parts(parts, body)).await
        }
        Err(refusal) => refusal.to_json_response(agent.settings.run.language),
    }
}

/// Answers requests that another site's page made, or that came here under another's name.
pub(crate) async fn refuse_others<P: Ports>(
    State(agent): State<SharedAgent<P>>,
    request: Request<Body>,
    next: Next,
) -> Response {
    let (parts, body) = request.into_parts();
    // Who signed an event came through no browser, under the name of the service that took it.
    let checked = match is_signed(&parts.extensions) {
        true => Ok(()),
        false => check_origin(&parts, &agent.settings.origins),
    };
    match checked {
        Ok(()) => next.run(Request::from_parts(parts, body)).await,
        Err(failure) => ApiError::from(failure).to_json_response(agent.settings.run.language),
    }
}

/// Lets a request through whose path is text once it is decoded, or answers it.
pub(crate) async fn require_utf8_path<P: Ports>(
    State(agent): State<SharedAgent<P>>,
    request: Request<Body>,
    next: Next,
) -> Response {
    if percent_decode_str(request.uri().path()).decode_utf8().is_ok() {
        return next.run(request).await;
    }
    let failure = Failure::new(ErrorCode::InvalidField, "the path of the URL is no text in UTF-8");
    ApiError::from(failure).to_json_response(agent.settings.run.language)
}
