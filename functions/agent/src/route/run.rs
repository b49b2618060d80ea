//! Runs that exist: `POST /runs/{run}/stop`.

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{Extensions, Request, StatusCode};
use axum::response::{IntoResponse, Response};
use djinn_core::id::RunId;
use djinn_runtime::port::{Ports, RunKey};
use djinn_runtime::serve::stop;
use serde_json::json;

use crate::identity::Caller;
use crate::refusal::{Refusal, name};
use crate::{Agent, Shared};

/// `POST /runs/{run}/stop`: 202 with the status seen, 200 if the run had ended.
pub(crate) async fn stop_run<P: Ports>(
    State(agent): State<Shared<P>>,
    Path(run): Path<String>,
    request: Request<Body>,
) -> Response {
    stopped(&agent, &run, request.extensions().clone())
        .await
        .unwrap_or_else(|refusal| refusal.json(agent.settings.run.language))
}

async fn stopped<P: Ports>(
    agent: &Agent<P>,
    run: &str,
    extensions: Extensions,
) -> Result<Response, Refusal> {
    let caller = Caller::of(&extensions, agent.settings.local)?;
    let run: RunId = crate::fields::id_of("run", run)?;
    let key = RunKey { tenant: caller.tenant, run };
    let status = stop(&agent.ports, &key, caller.user).await?;
    let code = if status.has_ended() { StatusCode::OK } else { StatusCode::ACCEPTED };
    let body = json!({"run": key.run, "status": status});
    let mut response = (code, axum::Json(body)).into_response();
    name(response.headers_mut(), Some(&key.run), None);
    Ok(response)
}
