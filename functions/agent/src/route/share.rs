//! Shares of a session: `/sessions/{session}/share`. A handle is a session's name for those whom its owner
//! lets in, wherever a request names a session.

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{Request, StatusCode};
use axum::response::{IntoResponse, Response};
use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::id::{ShareHandle, UserId, encode_hex};
use djinn_protocol::body::{AudienceBody, ShareBody, TenantWord};
use djinn_runtime::port::catalog::Catalog;
use djinn_runtime::port::clock::Clock;
use djinn_runtime::port::share::{Audience, MAX_SHARES, SessionShare, ShareResult, Shares};
use djinn_runtime::serve::{self, Permission, SessionAccess};
use djinn_runtime::world::Ports;
use serde_json::Value;

use super::response::{response_or_error, store_error};
use crate::access::require_access;
use crate::agent::SharedAgent;
use crate::api_error::ApiError;
use crate::fields::{BodyFields, parse_id};
use crate::identity::Caller;
use crate::query::invalid_field;

/// The word that stands for every user of the tenant.
const TENANT: &str = "tenant";

/// `POST /sessions/{session}/share`: `{"with", "write"?}`, answered with a handle.
pub(crate) async fn share_session<P: Ports>(
    State(agent): State<SharedAgent<P>>,
    Path(session): Path<String>,
    request: Request<Body>,
) -> Response {
    let answer = async {
        let (parts, body) = request.into_parts();
        let caller = Caller::of(&parts.extensions)?;
        let name = parse_id("session", &session)?;
        let fields = BodyFields::read_body(&parts.headers, body).await?;
        let with = parse_audience(&fields, &caller)?;
        let write = fields.flag("write")?.unwrap_or(false);
        let SessionAccess { session, .. } =
            require_access(&agent, &caller, name, Permission::Own).await?;
        let store = agent.ports.store();
        let found =
            store.find_session(&caller.user_key(), &session.session).await.map_err(store_error)?;
        let found = found.ok_or(ErrorCode::SessionNotFound)?;
        let share = SessionShare {
            handle: new_handle()?,
            session,
            session_started_at_ms: found.started_at_ms,
            audience: with,
            can_write: write,
            created_at_ms: agent.ports.clock().now_ms(),
        };
        match store.add_share(&share).await.map_err(store_error)? {
            ShareResult::Added => {
                let session = Some(share.session.session.to_string());
                let body = ShareBody { session, ..share_body(&share) };
                Ok((StatusCode::CREATED, axum::Json(body)).into_response())
            }
            ShareResult::UnknownSession => Err(ErrorCode::SessionNotFound.into()),
            ShareResult::TooMany => {
                Err(Failure::new(ErrorCode::TooManyShares, MAX_SHARES.to_string()).into())
            }
        }
    };
    response_or_error(&agent, answer.await)
}

/// `DELETE /sessions/{session}/share/{handle}`: from now on the handle is nobody's, and a guest's run under
/// it is stopped.
pub(crate) async fn end_share<P: Ports>(
    State(agent): State<SharedAgent<P>>,
    Path((session, handle)): Path<(String, String)>,
    request: Request<Body>,
) -> Response {
    let answer = async {
        let caller = Caller::of(&request.into_parts().0.extensions)?;
        let handle: ShareHandle = parse_id("handle", &handle)?;
        let name = parse_id("session", &session)?;
        let SessionAccess { session, .. } =
            require_access(&agent, &caller, name, Permission::Own).await?;
        match serve::end_share(&agent.ports, &session, &handle).await? {
            true => Ok(StatusCode::NO_CONTENT.into_response()),
            false => Err(ErrorCode::ShareNotFound.into()),
        }
    };
    response_or_error(&agent, answer.await)
}

/// Whom a request names: a user, or `tenant` for all of them. One who is called so is `{"user": "tenant"}`.
fn parse_audience(fields: &BodyFields, caller: &Caller) -> Result<Audience, ApiError> {
    const FIELD: &str = "with";
    let named = match fields.value(FIELD) {
        Some(Value::String(word)) if word == TENANT => return Ok(Audience::Tenant),
        Some(Value::String(user)) => Some(user.as_str()),
        Some(Value::Object(members)) if members.len() == 1 => {
            members.get("user").and_then(Value::as_str)
        }
        Some(_) | None => None,
    };
    let user = named.and_then(|user| UserId::new(user).ok()).ok_or_else(|| {
        invalid_field(
            FIELD,
            "must be a user's id, {\"user\": …} with one, or `tenant` for every user of yours",
        )
    })?;
    match user == caller.user {
        true => Err(invalid_field(FIELD, "must be somebody else: the session is yours")),
        false => Ok(Audience::User(user)),
    }
}

/// A handle that nobody can guess.
fn new_handle() -> Result<ShareHandle, ApiError> {
    let mut chance = [0; 16];
    getrandom::fill(&mut chance).map_err(|error| {
        tracing::error!(%error, "the operating system gives no chance");
        ErrorCode::Internal
    })?;
    ShareHandle::new(format!("shr_{}", encode_hex(&chance))).map_err(|_| ErrorCode::Internal.into())
}

/// A share as its owner sees it.
pub(super) fn share_body(share: &SessionShare) -> ShareBody {
    let with = match &share.audience {
        Audience::Tenant => AudienceBody::Tenant(TenantWord::Tenant),
        Audience::User(user) => AudienceBody::User { user: user.to_string() },
    };
    ShareBody {
        handle: share.handle.to_string(),
        with,
        write: share.can_write,
        created_at_ms: share.created_at_ms,
        session: None,
    }
}
