//! What a handler came to, as a response.

use axum::response::Response;
use djinn_runtime::port::StoreError;
use djinn_runtime::serve::store_failure;

use crate::agent::Agent;
use crate::api_error::ApiError;

/// The handler's response, or its refusal in the deployment's language.
pub(super) fn response_or_error<P>(
    agent: &Agent<P>,
    answer: Result<Response, ApiError>,
) -> Response {
    answer.unwrap_or_else(|refusal| refusal.to_json_response(agent.settings.run.language))
}

#[allow(clippy::needless_pass_by_value, reason = "it stands in `map_err`")]
pub(super) fn store_error(error: StoreError) -> ApiError {
    store_failure(&error).into()
}
