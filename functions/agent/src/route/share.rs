//! Shares of a session: `/sessions/{session}/share`. A handle is the session's name for guests, in every
//! request with a session name.

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::id::{SessionName, ShareHandle, UserId, encode_hex};
use djinn_protocol::body::{AudienceBody, ShareBody, TenantWord};
use djinn_protocol::request::{AudienceRequest, NamedUser, NoParameters, ShareRequest};
use djinn_runtime::port::catalog::Catalog;
use djinn_runtime::port::clock::Clock;
use djinn_runtime::port::share::{Audience, MAX_SHARES, SessionShare, ShareResult, Shares};
use djinn_runtime::serve::{self, Permission, SessionAccess};
use djinn_runtime::world::Ports;

use crate::access::require_access;
use crate::agent::SharedAgent;
use crate::api_error::ApiError;
use crate::body::OwnBody;
use crate::identity::{Caller, KnownUsers};
use crate::path::PathId;
use crate::query::UrlQuery;
use crate::reply::{JsonReply, ReplyResult};

/// The field with the audience of a share.
const WITH: &str = "with";

/// The word for every user of the tenant.
const TENANT: &str = "tenant";

/// `POST /sessions/{session}/share`: accepts `{"with", "write"?}` and returns a handle.
pub(crate) async fn share_session<P: Ports>(
    State(agent): State<SharedAgent<P>>,
    caller: Caller,
    PathId(name): PathId<SessionName>,
    _: UrlQuery<NoParameters>,
    users: Option<Extension<KnownUsers>>,
    OwnBody(ShareRequest { with, write }): OwnBody<ShareRequest>,
) -> ReplyResult {
    let audience = parse_audience(&with, &caller)?;
    let SessionAccess { session, .. } =
        require_access(&agent, &caller, name, Permission::Own).await?;
    let store = agent.ports.store();
    let summary = store.find_session(&caller.user_key(), &session.session).await?;
    let summary = summary.ok_or(ErrorCode::SessionNotFound)?;
    if let Some(Extension(users)) = users {
        require_known(&audience, &users, &caller)?;
    }
    let share = SessionShare {
        handle: new_handle()?,
        session,
        session_started_at_ms: summary.started_at_ms,
        audience,
        can_write: write.unwrap_or(false),
        created_at_ms: agent.ports.clock().now_ms(),
    };
    match store.add_share(&share).await? {
        ShareResult::Added => {
            let session = Some(share.session.session.to_string());
            let reply = JsonReply::json(&ShareBody { session, ..share_body(&share) })?;
            Ok(reply.with_status(StatusCode::CREATED))
        }
        ShareResult::UnknownSession => Err(ErrorCode::SessionNotFound.into()),
        ShareResult::TooMany => {
            Err(Failure::new(ErrorCode::TooManyShares, MAX_SHARES.to_string()).into())
        }
    }
}

/// `DELETE /sessions/{session}/share/{handle}`: ends the share, and stops a guest's run under the handle.
pub(crate) async fn end_share<P: Ports>(
    State(agent): State<SharedAgent<P>>,
    caller: Caller,
    PathId(handle): PathId<ShareHandle>,
    PathId(name): PathId<SessionName>,
    _: UrlQuery<NoParameters>,
) -> ReplyResult {
    let SessionAccess { session, .. } =
        require_access(&agent, &caller, name, Permission::Own).await?;
    if serve::end_share(&agent.ports, &session, &handle).await? {
        Ok(JsonReply::no_content())
    } else {
        Err(ErrorCode::ShareNotFound.into())
    }
}

/// Returns the audience of a share: a user, or `tenant` for all users. A user with the id `tenant` is
/// `{"user": "tenant"}`.
fn parse_audience(with: &AudienceRequest, caller: &Caller) -> Result<Audience, ApiError> {
    let user = match with {
        AudienceRequest::Word(word) if word == TENANT => return Ok(Audience::Tenant),
        AudienceRequest::Word(user) | AudienceRequest::User(NamedUser { user }) => user,
    };
    let user = UserId::new(user.as_str())
        .map_err(|error| ApiError::invalid_field(WITH, &format!("must name a user: a {error}")))?;
    if user == caller.user {
        Err(ApiError::invalid_field(WITH, "must be another user: the session is yours"))
    } else {
        Ok(Audience::User(user))
    }
}

/// Rejects a user whose name is in no key of the caller's tenant.
fn require_known(audience: &Audience, users: &KnownUsers, caller: &Caller) -> Result<(), ApiError> {
    let Audience::User(user) = audience else { return Ok(()) };
    if users.contains(&caller.tenant, user) {
        return Ok(());
    }
    let nearest = users.find_near_miss(caller, user);
    let hint = nearest.map_or_else(String::new, |name| format!(": did you mean `{name}`?"));
    Err(ApiError::invalid_field(WITH, &format!("must name a user who has a key{hint}")))
}

/// Creates a random handle of 128 bits.
fn new_handle() -> Result<ShareHandle, ApiError> {
    let mut chance = [0; 16];
    getrandom::fill(&mut chance).map_err(|error| {
        tracing::error!(%error, "the operating system provides no random bytes");
        ErrorCode::Internal
    })?;
    ShareHandle::new(format!("shr_{}", encode_hex(&chance))).map_err(|_| ErrorCode::Internal.into())
}

/// Returns a share's description for the owner.
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
