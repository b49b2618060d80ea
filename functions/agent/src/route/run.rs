//! Runs that exist: following, showing, listing and stopping them.

mod command;
mod step_request;
mod view;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderValue, Request, StatusCode};
use axum::response::{IntoResponse, Response};
use djinn_aws::AwsStore;
use djinn_core::error_code::ErrorCode;
use djinn_core::id::{RequestId, RunId, TenantId};
use djinn_core::status::RunStatus;
use djinn_protocol::body::{RunListBody, StopBody};
use djinn_protocol::cursor::Cursor;
use djinn_runtime::port::catalog::Catalog;
use djinn_runtime::port::{RunKey, UserKey};
use djinn_runtime::serve::{
    AccessLevel, LoadedRun, RunAccess, authorize_run, describe_run, invalid_cursor_failure,
    load_audit, request_stop, store_failure,
};
use djinn_runtime::world::Ports;

use super::response::response_or_error;
use crate::agent::{Agent, SharedAgent};
use crate::api_error::{ApiError, add_id_headers};
use crate::identity::Caller;
use crate::query::{Parameters, format_cursor, invalid_field};
use crate::route::feedback::require_own_run;
use crate::run_stream::{RunSubscription, StreamProtocol, last_event_id, stream_run};
use crate::session_links::{session_links, unsigned_links};
pub(crate) use command::{patch_plan, post_message};

/// Every status, in the words of the API.
const STATUSES: [RunStatus; 6] = [
    RunStatus::Queued,
    RunStatus::Running,
    RunStatus::Paused,
    RunStatus::Finished,
    RunStatus::Failed,
    RunStatus::Stopped,
];

/// `GET /runs/{run}/events`: the run's stream, from behind the client's cursor on. A browser that
/// reconnects repeats the URL it began with and says in `Last-Event-ID` where it is by now, so that
/// the header counts, and `after` without one.
pub(crate) async fn follow_run<P: Ports<Store = AwsStore>>(
    State(agent): State<SharedAgent<P>>,
    Path(run): Path<String>,
    request: Request<Body>,
) -> Response {
    let answer = async {
        let parts = request.into_parts().0;
        let RunAccess { run, session, level: viewer, share_ended } =
            find_visible_run(&agent, &parts.extensions, &run).await?;
        if share_ended {
            return Err(ErrorCode::ShareEnded.into());
        }
        let cursor = read_cursor(&agent, &parts, &run).await?;
        let shown = RunSubscription {
            session: run.meta().session_key(&run.key().tenant),
            session_name: session,
            key: run.key().clone(),
            request: run.meta().request.clone(),
            protocol: StreamProtocol::Native,
            previews: true,
            viewer,
        };
        stream_run(&agent, &parts, shown, run, cursor).await
    };
    response_or_error(&agent, answer.await)
}

async fn read_cursor<P: Ports>(
    agent: &Agent<P>,
    parts: &Parts,
    run: &LoadedRun,
) -> Result<Option<Cursor>, ApiError> {
    let parameters = Parameters::of(&parts.uri)?;
    let after = parameters.text("after").map(str::to_owned);
    let Some(text) = last_event_id(&parts.headers).or(after) else { return Ok(None) };
    match Cursor::parse(&text) {
        Some(cursor) => Ok(Some(cursor)),
        None => Err(invalid_cursor_failure(&agent.ports, run).await.into()),
    }
}

/// `GET /runs/{run}`: where it stands and what it has used up; once it has ended, what came of it.
pub(crate) async fn show_run<P: Ports>(
    State(agent): State<SharedAgent<P>>,
    Path(run): Path<String>,
    request: Request<Body>,
) -> Response {
    let answer = async {
        let parts = request.into_parts().0;
        let RunAccess { run, session: named, share_ended, .. } =
            find_visible_run(&agent, &parts.extensions, &run).await?;
        let key = run.key().clone();
        let view = describe_run(&agent.ports, run).await?;
        let request = view.meta.request.clone();
        let session = view.meta.session_key(&key.tenant);
        let links = match share_ended {
            true => unsigned_links(&agent, &parts, named.clone()),
            false => session_links(&agent, &parts, &session, named.clone(), None).await,
        };
        let language = agent.settings.run.language;
        let body = view::run_body(&key.run, &view, &named, &links, language);
        let mut response = axum::Json(body).into_response();
        add_id_headers(response.headers_mut(), Some(&key.run), Some(&request));
        Ok(response)
    };
    response_or_error(&agent, answer.await)
}

/// `GET /runs`: the caller's own, newest first.
pub(crate) async fn list_runs<P: Ports>(
    State(agent): State<SharedAgent<P>>,
    request: Request<Body>,
) -> Response {
    let answer = async {
        let parts = request.into_parts().0;
        let caller = Caller::of(&parts.extensions)?;
        let parameters = Parameters::of(&parts.uri)?;
        let (limit, after) = (parameters.limit()?, parameters.run_cursor()?);
        let statuses: Vec<_> = parse_status(&parameters)?.into_iter().collect();
        let user = UserKey { tenant: caller.tenant, user: caller.user };
        let page = agent.ports.store().list_runs(&user, &statuses, after.as_ref(), limit).await;
        let page = page.map_err(|error| store_failure(&error))?;
        let runs = page.items.iter().map(view::run_summary_body).collect();
        let next = page.next.map(|place| format_cursor(place.started_at_ms, &place.run));
        Ok(axum::Json(RunListBody { runs, next }).into_response())
    };
    response_or_error(&agent, answer.await)
}

fn parse_status(parameters: &Parameters) -> Result<Option<RunStatus>, ApiError> {
    let Some(word) = parameters.text("status") else { return Ok(None) };
    RunStatus::parse(word).map(Some).ok_or_else(|| {
        let words = STATUSES.map(RunStatus::as_str).join(", ");
        invalid_field("status", &format!("must be one of {words}"))
    })
}

/// `GET /runs/{run}/audit`: what people were asked and decided, a line each, each with the hash of
/// the one before.
pub(crate) async fn audit_run<P: Ports>(
    State(agent): State<SharedAgent<P>>,
    Path(run): Path<String>,
    request: Request<Body>,
) -> Response {
    let answer = async {
        let run = find_own_run(&agent, &request.into_parts().0.extensions, &run).await?;
        let lines = load_audit(&agent.ports, &run).await?;
        let to_line = |line| serde_json::to_string(line).unwrap_or_default() + "\n";
        let lines: Vec<String> = lines.iter().map(to_line).collect();
        let kind = HeaderValue::from_static("application/x-ndjson");
        let mut response = ([(CONTENT_TYPE, kind)], lines.concat()).into_response();
        add_id_headers(response.headers_mut(), Some(&run.key().run), None);
        Ok(response)
    };
    response_or_error(&agent, answer.await)
}

/// The caller's own run of that id: another user's does not exist for this one.
async fn find_own_run<P: Ports>(
    agent: &Agent<P>,
    extensions: &Extensions,
    run: &str,
) -> Result<LoadedRun, ApiError> {
    let caller = Caller::of(extensions)?;
    let key = parse_run_key(caller.tenant.clone(), run)?;
    require_own_run(agent, &caller, LoadedRun::load(&agent.ports, &key).await?).await
}

/// The run of that id, if the caller may see it.
async fn find_visible_run<P: Ports>(
    agent: &Agent<P>,
    extensions: &Extensions,
    run: &str,
) -> Result<RunAccess, ApiError> {
    let caller = Caller::of(extensions)?;
    let key = parse_run_key(caller.tenant.clone(), run)?;
    let run = LoadedRun::load(&agent.ports, &key).await?;
    Ok(authorize_run(&agent.ports, &caller.user_key(), run).await?)
}

/// `POST /runs/{run}/stop`: 202 with the status seen, 200 if the run had ended.
pub(crate) async fn post_stop<P: Ports>(
    State(agent): State<SharedAgent<P>>,
    Path(run): Path<String>,
    request: Request<Body>,
) -> Response {
    let answer = async {
        let parts = request.into_parts().0;
        let caller = Caller::of(&parts.extensions)?;
        let RunAccess { mut run, level: viewer, .. } =
            find_visible_run(&agent, &parts.extensions, &run).await?;
        if viewer < AccessLevel::SessionOwner {
            return Err(ErrorCode::AskerOnly.into());
        }
        let status = request_stop(&agent.ports, &mut run, caller.user).await?;
        let code = if status.has_ended() { StatusCode::OK } else { StatusCode::ACCEPTED };
        let (id, request) = (&run.key().run, &run.meta().request);
        let body = StopBody { run: id.to_string(), status };
        let mut response = (code, axum::Json(body)).into_response();
        add_id_headers(response.headers_mut(), Some(id), Some(request));
        Ok(response)
    };
    response_or_error(&agent, answer.await)
}

/// The run of a path. Every label could be a run's id; ours have a form of their own.
fn parse_run_key(tenant: TenantId, run: &str) -> Result<RunKey, ApiError> {
    let label: RequestId = crate::fields::parse_id("run", run)?;
    let run = RunId::new(label.as_str()).map_err(|_| ApiError::from(ErrorCode::RunNotFound))?;
    Ok(RunKey::new(tenant, run))
}
