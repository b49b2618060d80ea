//! Existing runs: follow, show, list and stop.

mod command;
mod step_request;
mod view;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use djinn_core::error_code::ErrorCode;
use djinn_protocol::body::{RunListBody, StopBody};
use djinn_protocol::cursor::Cursor;
use djinn_protocol::request::{FollowQuery, NoParameters, RunListQuery};
use djinn_runtime::port::RunKey;
use djinn_runtime::port::catalog::{Catalog, RunPosition};
use djinn_runtime::serve::{
    AccessLevel, LoadedRun, RunAccess, authorize_run, describe_run, invalid_cursor_failure,
    load_audit, request_stop,
};
use djinn_runtime::world::Ports;

use crate::access::require_own_run;
use crate::agent::{Agent, AgentPorts, SharedAgent};
use crate::api_error::{ApiError, add_id_headers};
use crate::identity::Caller;
use crate::path::RunPath;
use crate::query::UrlQuery;
use crate::reply::{JsonReply, ReplyResult};
use crate::run_stream::{ReplayStart, RunSubscription, StreamProtocol, last_event_id, stream_run};
use crate::session_links::{session_links, unsigned_links};
pub(crate) use command::{patch_plan, post_message};

/// `GET /runs/{run}/events`: streams the run's events after the client's cursor. A reconnecting browser
/// repeats the original URL and sends the current position in `Last-Event-ID`. So the header takes precedence
/// over `after`.
pub(crate) async fn follow_run<P: AgentPorts>(
    State(agent): State<SharedAgent<P>>,
    caller: Caller,
    RunPath(run): RunPath,
    UrlQuery(FollowQuery { after }): UrlQuery<FollowQuery>,
    parts: Parts,
) -> Result<Response, ApiError> {
    // A stream counts against the current limits.
    let agent = agent.refresh().await;
    let RunAccess { run, session, level: viewer, share_ended } =
        find_visible_run(&agent, &caller, &run).await?;
    if share_ended {
        return Err(ErrorCode::ShareEnded.into());
    }
    let from = match last_event_id(&parts.headers).or(after) {
        Some(text) => ReplayStart::After(parse_cursor(&agent, &text, &run).await?),
        None => ReplayStart::Start,
    };
    let subscription = RunSubscription {
        session: run.meta().session_key(&run.key().tenant),
        session_name: session,
        key: run.key().clone(),
        request: run.meta().request.clone(),
        protocol: StreamProtocol::Native,
        previews: true,
        viewer,
    };
    stream_run(&agent, &parts, subscription, run, from).await
}

async fn parse_cursor<P: Ports>(
    agent: &Agent<P>,
    text: &str,
    run: &LoadedRun,
) -> Result<Cursor, ApiError> {
    match Cursor::parse(text) {
        Some(cursor) => Ok(cursor),
        None => Err(invalid_cursor_failure(&agent.ports, run).await.into()),
    }
}

/// `GET /runs/{run}`: returns the run's status and usage, and the result once the run has ended.
pub(crate) async fn show_run<P: Ports>(
    State(agent): State<SharedAgent<P>>,
    caller: Caller,
    RunPath(run): RunPath,
    _: UrlQuery<NoParameters>,
    parts: Parts,
) -> ReplyResult {
    let RunAccess { run, session: session_name, share_ended, .. } =
        find_visible_run(&agent, &caller, &run).await?;
    let key = run.key().clone();
    let view = describe_run(&agent.ports, run).await?;
    let session = view.meta.session_key(&key.tenant);
    let links = if share_ended {
        unsigned_links(&agent, &parts, session_name.clone())
    } else {
        session_links(&agent, &parts, &session, session_name.clone(), None).await
    };
    let body = view::run_body(&key.run, &view, &session_name, &links, agent.settings.run.language);
    Ok(JsonReply::json(&body)?.about_run(&key.run).about_request(&view.meta.request))
}

/// `GET /runs`: lists the caller's runs, newest first.
pub(crate) async fn list_runs<P: Ports>(
    State(agent): State<SharedAgent<P>>,
    caller: Caller,
    UrlQuery(RunListQuery { limit, after, status }): UrlQuery<RunListQuery<RunPosition>>,
) -> ReplyResult {
    let store = agent.ports.store();
    let statuses = Vec::from_iter(status);
    let page = store.list_runs(&caller.user_key(), &statuses, after.as_ref(), limit).await?;
    let runs = page.items.iter().map(view::run_summary_body).collect();
    let next = page.next.map(|position| position.to_string());
    JsonReply::json(&RunListBody { runs, next })
}

/// `GET /runs/{run}/audit`: returns the human requests and their resolutions, one per line, each with the
/// hash of its journal record.
pub(crate) async fn audit_run<P: Ports>(
    State(agent): State<SharedAgent<P>>,
    caller: Caller,
    RunPath(run): RunPath,
    _: UrlQuery<NoParameters>,
) -> Result<Response, ApiError> {
    let run = find_own_run(&agent, &caller, &run).await?;
    let lines = load_audit(&agent.ports, &run).await?;
    let kind = HeaderValue::from_static("application/x-ndjson");
    let mut response = ([(CONTENT_TYPE, kind)], lines).into_response();
    add_id_headers(response.headers_mut(), Some(&run.key().run), None);
    Ok(response)
}

/// Returns the caller's own run with this id. Another user's run does not exist for the caller.
pub(super) async fn find_own_run<P: Ports>(
    agent: &Agent<P>,
    caller: &Caller,
    run: &RunKey,
) -> Result<LoadedRun, ApiError> {
    require_own_run(agent, caller, LoadedRun::load(&agent.ports, run).await?).await
}

/// Returns the run with this id, if the caller may see the run.
async fn find_visible_run<P: Ports>(
    agent: &Agent<P>,
    caller: &Caller,
    run: &RunKey,
) -> Result<RunAccess, ApiError> {
    let run = LoadedRun::load(&agent.ports, run).await?;
    Ok(authorize_run(&agent.ports, &caller.user_key(), run).await?)
}

/// `POST /runs/{run}/stop`: returns 202 with the current status, or 200 if the run had already ended.
pub(crate) async fn post_stop<P: Ports>(
    State(agent): State<SharedAgent<P>>,
    caller: Caller,
    RunPath(run): RunPath,
    _: UrlQuery<NoParameters>,
) -> ReplyResult {
    let RunAccess { mut run, level: viewer, .. } = find_visible_run(&agent, &caller, &run).await?;
    if viewer < AccessLevel::SessionOwner {
        return Err(ErrorCode::AskerOnly.into());
    }
    let status = request_stop(&agent.ports, &mut run, caller.user).await?;
    let code = if status.has_ended() { StatusCode::OK } else { StatusCode::ACCEPTED };
    let id = &run.key().run;
    let request = &run.meta().request;
    let reply = JsonReply::json(&StopBody { run: id.to_string(), status })?;
    Ok(reply.with_status(code).about_run(id).about_request(request))
}
