//! Runs that exist: `POST /runs/{run}/stop`.

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{Extensions, Request, StatusCode};
use axum::response::{IntoResponse, Response};
use djinn_core::code::ErrorCode;
use djinn_core::id::{RequestId, RunId};
use djinn_runtime::port::{Ports, RunKey};
use djinn_runtime::serve::{known, stop};
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
    // Every label could be a run's id; ours have a form of their own.
    let label: RequestId = crate::fields::id_of("run", run)?;
    let run = RunId::new(label.as_str()).map_err(|_| Refusal::from(ErrorCode::RunNotFound))?;
    let key = RunKey::new(caller.tenant, run);
    let request = known(&agent.ports, &key).await?.request;
    let status = stop(&agent.ports, &key, caller.user).await?;
    let code = if status.has_ended() { StatusCode::OK } else { StatusCode::ACCEPTED };
    let body = json!({"run": key.run, "status": status});
    let mut response = (code, axum::Json(body)).into_response();
    name(response.headers_mut(), Some(&key.run), Some(&request));
    Ok(response)
}
