//! Sessions: `/sessions`. For all users but the owner and guests, a session does not exist.

use axum::extract::State;
use axum::http::request::Parts;
use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::id::{FileName, SessionName, UserId};
use djinn_protocol::body::{
    SessionBody, SessionListBody, SessionSummaryBody, SharedSessionBody, TitleBody, TurnBody,
};
use djinn_protocol::event::{PublicCitation, PublicFile};
use djinn_protocol::request::{NoParameters, PageQuery, TitleRequest};
use djinn_runtime::port::catalog::{
    Catalog, RunPosition, SessionDeletion, SessionPosition, SessionSummary, SessionTurn,
};
use djinn_runtime::port::checker::ContentOwner;
use djinn_runtime::port::file::Files;
use djinn_runtime::port::share::{SessionShare, Shares};
use djinn_runtime::serve::{Permission, SessionAccess, delete_session, list_shared_sessions};
use djinn_runtime::texts::{MAX_TITLE, SessionTitle, check_bounds};
use djinn_runtime::world::Ports;

use super::share;
use crate::access::require_access;
use crate::agent::SharedAgent;
use crate::api_error::ApiError;
use crate::body::OwnBody;
use crate::identity::Caller;
use crate::path::PathId;
use crate::query::UrlQuery;
use crate::reply::{JsonReply, ReplyResult};
use crate::session_links::session_links;

/// `GET /sessions`: lists the caller's sessions, newest question first.
pub(crate) async fn list_sessions<P: Ports>(
    State(agent): State<SharedAgent<P>>,
    caller: Caller,
    UrlQuery(PageQuery { limit, after }): UrlQuery<PageQuery<SessionPosition>>,
) -> ReplyResult {
    let store = agent.ports.store();
    let page = store.list_sessions(&caller.user_key(), after.as_ref(), limit).await?;
    let shared = match after {
        None => Some(list_shared_sessions(&agent.ports, &caller.user_key()).await?),
        Some(_) => None,
    };
    let sessions = page.items.into_iter().map(|session| {
        let name = session.session.to_string();
        session_summary_body(name, session)
    });
    JsonReply::json(&SessionListBody {
        user: caller.user.as_str().to_owned(),
        sessions: sessions.collect(),
        shared: shared.map(|shared| shared.into_iter().map(shared_session_body).collect()),
        next: page.next.map(|position| position.to_string()),
    })
}

/// `GET /sessions/{session}`: returns the questions and answers, newest first, and the files.
pub(crate) async fn show_session<P: Ports>(
    State(agent): State<SharedAgent<P>>,
    caller: Caller,
    PathId(name): PathId<SessionName>,
    UrlQuery(PageQuery { limit, after }): UrlQuery<PageQuery<RunPosition>>,
    parts: Parts,
) -> ReplyResult {
    let access = require_access(&agent, &caller, name, Permission::Read).await?;
    let store = agent.ports.store();
    let key = &access.session;
    let summary = store.find_session(&key.owner_key(), &key.session).await?;
    let summary = summary.ok_or(ErrorCode::SessionNotFound)?;
    let turns = store.list_turns(key, after.as_ref(), limit);
    let (page, files) = tokio::try_join!(turns, store.list_files(key))?;
    let links = session_links(&agent, &parts, key, access.session_name(), None).await;
    let visible_files = files.iter().rev().filter(|file| !file.internal);
    let SessionSummary { title, started_at_ms, newest_at_ms, .. } = summary;
    // Only the owner sees the guests who asked.
    let owner = (access.permission == Permission::Own).then_some(&key.owner);
    let shares = match access.permission {
        Permission::Own => Some(store.list_shares(key).await?),
        Permission::Read | Permission::Write => None,
    };
    let can_write = access.permission == Permission::Write;
    let is_owner = shares.is_some();
    JsonReply::json(&SessionBody {
        session: access.session_name().to_string(),
        title,
        started_at_ms,
        last_active_at_ms: newest_at_ms,
        turns: page.items.iter().map(|turn| turn_body(turn, &caller.user, owner)).collect(),
        next: page.next.map(|position| position.to_string()),
        files: PublicFile::list(visible_files, &links),
        write: (!is_owner).then_some(can_write),
        owner: (!is_owner).then_some(key.owner.as_str()),
        shares: shares.map(|shares| shares.iter().map(share::share_body).collect()),
    })
}

/// `DELETE /sessions/{session}`: returns 204 once all data of the session is deleted.
pub(crate) async fn forget_session<P: Ports>(
    State(agent): State<SharedAgent<P>>,
    caller: Caller,
    PathId(name): PathId<SessionName>,
    _: UrlQuery<NoParameters>,
) -> ReplyResult {
    let SessionAccess { session, .. } =
        require_access(&agent, &caller, name, Permission::Own).await?;
    match delete_session(&agent.ports, &session.owner_key(), &session.session).await? {
        SessionDeletion::Done => Ok(JsonReply::no_content()),
        SessionDeletion::Unknown => Err(ErrorCode::SessionNotFound.into()),
        SessionDeletion::Busy(run) => Err(Failure::session_busy(&run).into()),
    }
}

/// `POST /sessions/{session}/title`: `{"title"}`, joined to one line.
pub(crate) async fn name_session<P: Ports>(
    State(agent): State<SharedAgent<P>>,
    caller: Caller,
    PathId(name): PathId<SessionName>,
    _: UrlQuery<NoParameters>,
    OwnBody(request): OwnBody<TitleRequest>,
) -> ReplyResult {
    let mut input = parse_title(&request)?;
    let access = require_access(&agent, &caller, name, Permission::Own).await?;
    let session_name = access.session_name();
    let key = &access.session;
    let Caller { tenant, user, .. } = &caller;
    let whose = ContentOwner { tenant, user, session: &session_name, run: None };
    let ports = agent.ports.refresh().await;
    ports.content().screen_input(&mut input, whose).await?;
    let store = agent.ports.store();
    let session = &key.session;
    let title = input.title;
    if store.rename_session(&key.owner_key(), session, &title).await? {
        JsonReply::json(&TitleBody { session: session.to_string(), title })
    } else {
        Err(ErrorCode::SessionNotFound.into())
    }
}

fn parse_title(request: &TitleRequest) -> Result<SessionTitle, ApiError> {
    let words: Vec<_> = request.title.split_whitespace().collect();
    let mut title = SessionTitle { title: words.join(" ") };
    check_bounds(&mut title)?;
    if title.title.is_empty() {
        let problem = format!("must have 1 to {MAX_TITLE} characters");
        Err(ApiError::invalid_field("title", &problem))
    } else {
        Ok(title)
    }
}

/// Returns a session in a list, by the caller's name for the session.
fn session_summary_body(session: String, summary: SessionSummary) -> SessionSummaryBody {
    let SessionSummary { session: _, title, newest_question, started_at_ms, newest_at_ms } =
        summary;
    SessionSummaryBody {
        session,
        title,
        newest_question,
        started_at_ms,
        last_active_at_ms: newest_at_ms,
    }
}

fn shared_session_body((share, summary): (SessionShare, SessionSummary)) -> SharedSessionBody {
    SharedSessionBody {
        summary: session_summary_body(share.handle.to_string(), summary),
        owner: share.session.owner.to_string(),
        write: share.can_write,
    }
}

/// Returns a turn. The session's owner, who asked if nobody else did, also sees the guest who asked.
fn turn_body<'a>(turn: &'a SessionTurn, caller: &UserId, owner: Option<&UserId>) -> TurnBody<'a> {
    let SessionTurn { run, request, user, started_at_ms, status, exchange } = turn;
    let own = user.as_ref().map_or(owner.is_some(), |user| user == caller);
    let guest = user.as_ref().filter(|user| owner.is_some_and(|owner| owner != *user));
    let ended_exchange = exchange.as_ref().filter(|_| status.has_ended());
    let answer = ended_exchange.map(|exchange| exchange.answer.as_str());
    let files = ended_exchange.map(|exchange| exchange.files.as_slice()).unwrap_or_default();
    TurnBody {
        run: run.to_string(),
        request: request.as_ref().map(ToString::to_string),
        status: *status,
        started_at_ms: *started_at_ms,
        question: exchange.as_ref().map(|exchange| exchange.question.as_str()),
        answer,
        citations: answer.map(PublicCitation::list).unwrap_or_default(),
        files: files.iter().map(FileName::as_str).collect(),
        own,
        user: guest.map(UserId::as_str),
    }
}
