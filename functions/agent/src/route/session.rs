//! Sessions: `/sessions`. One is its owner's; for everybody else it is not there.

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::request::Parts;
use axum::http::{Request, StatusCode};
use axum::response::{IntoResponse, Response};
use djinn_core::code::{ErrorCode, Failure};
use djinn_core::id::UserId;
use djinn_core::wire::native;
use djinn_runtime::port::catalog::{Catalog, Forgotten, SessionSummary, Turn};
use djinn_runtime::port::checker::Whose;
use djinn_runtime::port::file::Files;
use djinn_runtime::port::share::Shares;
use djinn_runtime::port::{Ports, StoreError};
use djinn_runtime::serve::{Access, Right, forget, unavailable};
use djinn_runtime::texts::{MAX_TITLE, Title, bounded};
use serde_json::{Value, json};

use super::share;
use crate::access::may;
use crate::fields::{Fields, id_of};
use crate::identity::Caller;
use crate::link::links_to_session;
use crate::query::{Parameters, cursor, wrong};
use crate::refusal::Refusal;
use crate::{Agent, Shared};

/// `GET /sessions`: the caller's own, the one with the newest question first.
pub(crate) async fn list_sessions<P: Ports>(
    State(agent): State<Shared<P>>,
    request: Request<Body>,
) -> Response {
    let answer = async {
        let parts = request.into_parts().0;
        let user = Caller::of(&parts.extensions)?.key();
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
    let caller = Caller::of(&parts.extensions)?;
    let access = may(agent, &caller, id_of("session", session)?, Right::Read).await?;
    let parameters = Parameters::of(&parts.uri)?;
    let (limit, after) = (parameters.limit()?, parameters.run_place()?);
    let store = agent.ports.store();
    let key = &access.session;
    let found = store.find_session(&key.owner_key(), &key.session).await.map_err(stored)?;
    let found = found.ok_or(ErrorCode::SessionNotFound)?;
    let turns = store.list_turns(key, after.as_ref(), limit);
    let (page, files) = tokio::try_join!(turns, store.list_files(key)).map_err(stored)?;
    let links = links_to_session(agent, parts, key, access.name(), None).await;
    let offered = files.iter().rev().filter(|file| !file.internal);
    let SessionSummary { title, started_at_ms, newest_at_ms, .. } = found;
    // Only the owner is told who else asked.
    let owner = (access.right == Right::Own).then_some(&key.owner);
    let mut body = json!({
        "session": access.name(),
        "title": title,
        "started_at_ms": started_at_ms,
        "last_active_at_ms": newest_at_ms,
        "turns": page.items.iter().map(|item| turn(item, owner)).collect::<Vec<_>>(),
        "next": page.next.map(|place| cursor(place.started_at_ms, &place.run)),
        "files": offered.map(|file| native::file(&links, file)).collect::<Vec<_>>(),
    });
    let (member, value) = match access.right {
        Right::Own => {
            let shares = store.list_shares(key).await.map_err(stored)?;
            ("shares", shares.iter().map(share::shown).collect())
        }
        right @ (Right::Read | Right::Write) => ("write", json!(right == Right::Write)),
    };
    if let Some(members) = body.as_object_mut() {
        members.insert(member.to_owned(), value);
    }
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
        let caller = Caller::of(&parts.extensions)?;
        let Access { session, .. } =
            may(&agent, &caller, id_of("session", &session)?, Right::Own).await?;
        match forget(&agent.ports, &session.owner_key(), &session.session).await? {
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
        let caller = Caller::of(&parts.extensions)?;
        let name = id_of("session", &session)?;
        let mut titled = title(&Fields::read(&parts.headers, body).await?)?;
        let access = may(&agent, &caller, name, Right::Own).await?;
        let (named, key) = (access.name(), &access.session);
        let Caller { tenant, user, .. } = &caller;
        let whose = Whose { tenant, user, session: &named, run: None };
        agent.ports.content().let_in(&mut titled, whose).await?;
        let (user, session, title) = (key.owner_key(), &key.session, titled.title);
        match agent.ports.store().name_session(&user, session, &title).await.map_err(stored)? {
            true => Ok(axum::Json(json!({"session": session, "title": title})).into_response()),
            false => Err(ErrorCode::SessionNotFound.into()),
        }
    };
    answered(&agent, answer.await)
}

fn title(fields: &Fields) -> Result<Title, Refusal> {
    let text = fields.text("title")?.unwrap_or_default();
    let mut title = Title { title: text.split_whitespace().collect::<Vec<_>>().join(" ") };
    bounded(&mut title)?;
    match title.title.is_empty() {
        true => Err(wrong("title", &format!("must have 1 to {MAX_TITLE} characters"))),
        false => Ok(title),
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

/// A turn; to the owner of its session also who asked, if that is somebody else.
fn turn(turn: &Turn, owner: Option<&UserId>) -> Value {
    let Turn { run, request, user, started_at_ms, status, exchange } = turn;
    let answer = exchange.as_ref().filter(|_| status.has_ended()).map(|said| &said.answer);
    let mut turn = json!({
        "run": run,
        "request": request,
        "status": status,
        "started_at_ms": started_at_ms,
        "question": exchange.as_ref().map(|said| &said.question),
        "answer": answer,
    });
    let guest = user.as_ref().filter(|user| owner.is_some_and(|owner| owner != *user));
    if let (Some(guest), Some(members)) = (guest, turn.as_object_mut()) {
        members.insert("user".to_owned(), json!(guest));
    }
    turn
}

#[allow(clippy::needless_pass_by_value, reason = "it stands in `map_err`")]
pub(super) fn stored(error: StoreError) -> Refusal {
    unavailable(&error).into()
}

pub(super) fn answered<P>(agent: &Agent<P>, answer: Result<Response, Refusal>) -> Response {
    answer.unwrap_or_else(|refusal| refusal.json(agent.settings.run.language))
}
