//! Runs that exist: following, showing, listing and stopping them.

mod view;
mod word;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderValue, Request, StatusCode};
use axum::response::{IntoResponse, Response};
use djinn_aws::AwsStore;
use djinn_core::code::ErrorCode;
use djinn_core::id::{RequestId, RunId, TenantId};
use djinn_core::status::RunStatus;
use djinn_core::wire::cursor::Cursor;
use djinn_runtime::port::catalog::{Catalog, UserKey};
use djinn_runtime::port::{Ports, RunKey};
use djinn_runtime::serve::{
    RunAccess, Viewer, audited, look, no_cursor, run_access, stop, unavailable,
};
use serde_json::json;

use crate::answer::{Protocol, Shown, follow, last_event_id};
use crate::identity::Caller;
use crate::link::{links_to_session, unsigned_links};
use crate::query::{Parameters, cursor, wrong};
use crate::refusal::{Refusal, name};
use crate::route::feedback::own;
use crate::{Agent, Shared};
pub(crate) use word::{edit_plan, tell_run};

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
    State(agent): State<Shared<P>>,
    Path(run): Path<String>,
    request: Request<Body>,
) -> Response {
    let answer = async {
        let parts = request.into_parts().0;
        let (key, RunAccess { meta, session, viewer, share_ended }) =
            seen_run(&agent, &parts.extensions, &run).await?;
        if share_ended {
            return Err(ErrorCode::ShareEnded.into());
        }
        let cursor = cursor_of(&agent, &parts, &key).await?;
        let shown = Shown {
            session: meta.session_key(&key.tenant),
            session_name: session,
            key,
            request: meta.request,
            protocol: Protocol::Native,
            previews: true,
            viewer,
        };
        follow(&agent, &parts, shown, cursor).await
    };
    answered(&agent, answer.await)
}

async fn cursor_of<P: Ports>(
    agent: &Agent<P>,
    parts: &Parts,
    key: &RunKey,
) -> Result<Option<Cursor>, Refusal> {
    let parameters = Parameters::of(&parts.uri)?;
    let after = parameters.text("after").map(str::to_owned);
    let Some(text) = last_event_id(&parts.headers).or(after) else { return Ok(None) };
    match Cursor::parse(&text) {
        Some(cursor) => Ok(Some(cursor)),
        None => Err(no_cursor(&agent.ports, key).await.into()),
    }
}

/// `GET /runs/{run}`: where it stands and what it has used up; once it has ended, what came of it.
pub(crate) async fn show_run<P: Ports>(
    State(agent): State<Shared<P>>,
    Path(run): Path<String>,
    request: Request<Body>,
) -> Response {
    let answer = async {
        let parts = request.into_parts().0;
        let (key, seen) = seen_run(&agent, &parts.extensions, &run).await?;
        let RunAccess { meta, session: named, share_ended, .. } = seen;
        let view = look(&agent.ports, &key, meta).await?;
        let request = view.meta.request.clone();
        let session = view.meta.session_key(&key.tenant);
        let links = match share_ended {
            true => unsigned_links(&agent, &parts, named.clone()),
            false => links_to_session(&agent, &parts, &session, named.clone(), None).await,
        };
        let language = agent.settings.run.language;
        let body = view::json(&key.run, view, &named, &links, language);
        let mut response = axum::Json(body).into_response();
        name(response.headers_mut(), Some(&key.run), Some(&request));
        Ok(response)
    };
    answered(&agent, answer.await)
}

/// `GET /runs`: the caller's own, newest first.
pub(crate) async fn list_runs<P: Ports>(
    State(agent): State<Shared<P>>,
    request: Request<Body>,
) -> Response {
    let answer = async {
        let parts = request.into_parts().0;
        let caller = Caller::of(&parts.extensions)?;
        let parameters = Parameters::of(&parts.uri)?;
        let (limit, after) = (parameters.limit()?, parameters.run_place()?);
        let statuses: Vec<_> = status(&parameters)?.into_iter().collect();
        let user = UserKey { tenant: caller.tenant, user: caller.user };
        let page = agent.ports.store().list_runs(&user, &statuses, after.as_ref(), limit).await;
        let page = page.map_err(|error| unavailable(&error))?;
        let runs: Vec<_> = page.items.iter().map(view::summary).collect();
        let next = page.next.map(|place| cursor(place.started_at_ms, &place.run));
        Ok(axum::Json(json!({"runs": runs, "next": next})).into_response())
    };
    answered(&agent, answer.await)
}

fn status(parameters: &Parameters) -> Result<Option<RunStatus>, Refusal> {
    let Some(word) = parameters.text("status") else { return Ok(None) };
    RunStatus::parse(word).map(Some).ok_or_else(|| {
        let words = STATUSES.map(RunStatus::as_str).join(", ");
        wrong("status", &format!("must be one of {words}"))
    })
}

/// `GET /runs/{run}/audit`: what people were asked and decided, a line each, each with the hash of
/// the one before.
pub(crate) async fn audit_run<P: Ports>(
    State(agent): State<Shared<P>>,
    Path(run): Path<String>,
    request: Request<Body>,
) -> Response {
    let answer = async {
        let key = own_run(&agent, &request.into_parts().0.extensions, &run).await?;
        let lines = audited(&agent.ports, &key).await?;
        let lines: Vec<String> = lines.iter().map(|line| format!("{}\n", json!(line))).collect();
        let kind = HeaderValue::from_static("application/x-ndjson");
        let mut response = ([(CONTENT_TYPE, kind)], lines.concat()).into_response();
        name(response.headers_mut(), Some(&key.run), None);
        Ok(response)
    };
    answered(&agent, answer.await)
}

/// The caller's own run of that id: another user's does not exist for this one.
async fn own_run<P: Ports>(
    agent: &Agent<P>,
    extensions: &Extensions,
    run: &str,
) -> Result<RunKey, Refusal> {
    let caller = Caller::of(extensions)?;
    let key = key_of(caller.tenant.clone(), run)?;
    own(agent, &caller, &key).await?;
    Ok(key)
}

/// The run of that id, if the caller may see it.
async fn seen_run<P: Ports>(
    agent: &Agent<P>,
    extensions: &Extensions,
    run: &str,
) -> Result<(RunKey, RunAccess), Refusal> {
    let caller = Caller::of(extensions)?;
    let key = key_of(caller.tenant.clone(), run)?;
    let seen = run_access(&agent.ports, &caller.key(), &key).await?;
    Ok((key, seen))
}

/// `POST /runs/{run}/stop`: 202 with the status seen, 200 if the run had ended.
pub(crate) async fn stop_run<P: Ports>(
    State(agent): State<Shared<P>>,
    Path(run): Path<String>,
    request: Request<Body>,
) -> Response {
    let answer = async {
        let parts = request.into_parts().0;
        let caller = Caller::of(&parts.extensions)?;
        let (key, RunAccess { meta, viewer, .. }) =
            seen_run(&agent, &parts.extensions, &run).await?;
        if viewer < Viewer::SessionOwner {
            return Err(ErrorCode::AskerOnly.into());
        }
        let request = meta.request;
        let status = stop(&agent.ports, &key, caller.user).await?;
        let code = if status.has_ended() { StatusCode::OK } else { StatusCode::ACCEPTED };
        let body = json!({"run": key.run, "status": status});
        let mut response = (code, axum::Json(body)).into_response();
        name(response.headers_mut(), Some(&key.run), Some(&request));
        Ok(response)
    };
    answered(&agent, answer.await)
}

/// The run of a path. Every label could be a run's id; ours have a form of their own.
fn key_of(tenant: TenantId, run: &str) -> Result<RunKey, Refusal> {
    let label: RequestId = crate::fields::id_of("run", run)?;
    let run = RunId::new(label.as_str()).map_err(|_| Refusal::from(ErrorCode::RunNotFound))?;
    Ok(RunKey::new(tenant, run))
}

fn answered<P>(agent: &Agent<P>, answer: Result<Response, Refusal>) -> Response {
    answer.unwrap_or_else(|refusal| refusal.json(agent.settings.run.language))
}
