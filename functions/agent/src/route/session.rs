//! Sessions: `/sessions`. One is in the list of whoever asked in it; for everybody else it is not
//! there.

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::request::Parts;
use axum::http::{Extensions, Request, StatusCode};
use axum::response::{IntoResponse, Response};
use djinn_core::code::{ErrorCode, Failure};
use djinn_core::id::SessionId;
use djinn_core::wire::native;
use djinn_runtime::port::catalog::{Catalog, Forgotten, SessionSummary, Turn, UserKey};
use djinn_runtime::port::file::Files;
use djinn_runtime::port::{Ports, StoreError};
use djinn_runtime::serve::{forget, unavailable};
use serde_json::{Value, json};

use crate::fields::{Fields, id_of};
use crate::identity::Caller;
use crate::link::links_to_session;
use crate::query::{Parameters, cursor, wrong};
use crate::refusal::Refusal;
use crate::{Agent, Shared};

/// Characters of a title.
const MAX_TITLE: usize = 200;

/// `GET /sessions`: the caller's own, the one with the newest question first.
pub(crate) async fn list_sessions<P: Ports>(
    State(agent): State<Shared<P>>,
    request: Request<Body>,
) -> Response {
    let answer = async {
        let parts = request.into_parts().0;
        let user = user_of(&parts.extensions)?;
        let parameters = Parameters::of(&parts.uri)?;
        let (limit, after) = (parameters.limit()?, parameters.session_place()?);
        let page = agent.ports.store().list_sessions(&user, after.as_ref(), limit).await;
        let page = page.map_err(stored)?;
        let sessions: Vec<_> = page.items.iter().map(summary).collect();
        let next = page.next.map(|place| cursor(place.newest_at_ms, &place.session));
        Ok(axum::Json(json!({"sessions": sessions, "next": next})).into_response())
    };
    answered(&agent, answer.await)
}

/// `GET /sessions/{session}`: what was asked and answered, newest first, and the files.
pub(crate) async fn show_session<P: Ports>(
    State(agent): State<Shared<P>>,
    Path(session): Path<String>,
    request: Request<Body>,
) -> Response {
    let parts = request.into_parts().0;
    answered(&agent, shown(&agent, &session, &parts).await)
}

async fn shown<P: Ports>(
    agent: &Agent<P>,
    session: &str,
    parts: &Parts,
) -> Result<Response, Refusal> {
    let user = user_of(&parts.extensions)?;
    let session: SessionId = id_of("session", session)?;
    let parameters = Parameters::of(&parts.uri)?;
    let (limit, after) = (parameters.limit()?, parameters.run_place()?);
    let store = agent.ports.store();
    let found = store.find_session(&user, &session).await.map_err(stored)?;
    let found = found.ok_or(ErrorCode::SessionNotFound)?;
    let key = user.session(&session);
    let turns = store.list_turns(&key, after.as_ref(), limit);
    let (page, files) = tokio::try_join!(turns, store.list_files(&key)).map_err(stored)?;
    let links = links_to_session(agent, parts, &key, None, false).await;
    let offered = files.iter().rev().filter(|file| !file.internal);
    let SessionSummary { session, title, started_at_ms, newest_at_ms } = found;
    let body = json!({
        "session": session,
        "title": title,
        "started_at_ms": started_at_ms,
        "last_active_at_ms": newest_at_ms,
        "turns": page.items.iter().map(turn).collect::<Vec<_>>(),
        "next": page.next.map(|place| cursor(place.started_at_ms, &place.run)),
        "files": offered.map(|file| native::file(&links, file)).collect::<Vec<_>>(),
    });
    Ok(axum::Json(body).into_response())
}

/// `DELETE /sessions/{session}`: 204 when nothing of it is left.
pub(crate) async fn forget_session<P: Ports>(
    State(agent): State<Shared<P>>,
    Path(session): Path<String>,
    request: Request<Body>,
) -> Response {
    let answer = async {
        let parts = request.into_parts().0;
        let user = user_of(&parts.extensions)?;
        let session = id_of("session", &session)?;
        match forget(&agent.ports, &user, &session).await? {
            Forgotten::Done => Ok(StatusCode::NO_CONTENT.into_response()),
            Forgotten::Unknown => Err(ErrorCode::SessionNotFound.into()),
            Forgotten::Busy(run) => {
                Err(Failure::new(ErrorCode::SessionBusy, run.to_string()).into())
            }
        }
    };
    answered(&agent, answer.await)
}

/// `POST /sessions/{session}/title`: `{"title"}`, which is put on one line.
pub(crate) async fn name_session<P: Ports>(
    State(agent): State<Shared<P>>,
    Path(session): Path<String>,
    request: Request<Body>,
) -> Response {
    let answer = async {
        let (parts, body) = request.into_parts();
        let user = user_of(&parts.extensions)?;
        let session: SessionId = id_of("session", &session)?;
        let title = title(&Fields::read(&parts.headers, body).await?)?;
        let store = agent.ports.store();
        match store.name_session(&user, &session, &title).await.map_err(stored)? {
            true => Ok(axum::Json(json!({"session": session, "title": title})).into_response()),
            false => Err(ErrorCode::SessionNotFound.into()),
        }
    };
    answered(&agent, answer.await)
}

fn title(fields: &Fields) -> Result<String, Refusal> {
    let text = fields.text("title")?.unwrap_or_default();
    let title = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match (1..=MAX_TITLE).contains(&title.chars().count()) {
        true => Ok(title),
        false => Err(wrong("title", &format!("must have 1 to {MAX_TITLE} characters"))),
    }
}

fn summary(session: &SessionSummary) -> Value {
    let SessionSummary { session, title, started_at_ms, newest_at_ms } = session;
    json!({
        "session": session,
        "title": title,
        "started_at_ms": started_at_ms,
        "last_active_at_ms": newest_at_ms,
    })
}

fn turn(turn: &Turn) -> Value {
    let Turn { run, request, started_at_ms, status, exchange } = turn;
    let answer = exchange.as_ref().filter(|_| status.has_ended()).map(|said| &said.answer);
    json!({
        "run": run,
        "request": request,
        "status": status,
        "started_at_ms": started_at_ms,
        "question": exchange.as_ref().map(|said| &said.question),
        "answer": answer,
    })
}

fn user_of(extensions: &Extensions) -> Result<UserKey, Refusal> {
    let Caller { tenant, user } = Caller::of(extensions)?;
    Ok(UserKey { tenant, user })
}

#[allow(clippy::needless_pass_by_value, reason = "it stands in `map_err`")]
fn stored(error: StoreError) -> Refusal {
    unavailable(&error).into()
}

fn answered<P>(agent: &Agent<P>, answer: Result<Response, Refusal>) -> Response {
    answer.unwrap_or_else(|refusal| refusal.json(agent.settings.run.language))
}
