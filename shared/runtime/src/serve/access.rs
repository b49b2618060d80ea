//! Users' permissions in sessions and for runs.

use std::cmp::Reverse;

use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::id::{SessionName, ShareHandle};
use djinn_core::session::SharedSession;
use futures::{StreamExt as _, stream};

use super::{LoadedRun, request_stop, store_failure};
use crate::port::catalog::{Catalog, SessionSummary};
use crate::port::journal::Journals;
use crate::port::share::{SessionShare, Shares};
use crate::port::{RunKey, SessionKey, StoreError, UserKey};
use crate::world::Ports;

/// The maximum number of sessions in a guest's list.
const MAX_LISTED_SESSIONS: usize = 50;

/// The maximum number of sessions that are read at the same time.
const READS_AT_ONCE: usize = 10;

/// A user's right in a session; each right includes the earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Permission {
    /// See questions, answers and files.
    Read,
    /// Ask questions and add files.
    Write,
    /// Rename, share and delete the session.
    Own,
}

/// A session named by a user, with the user's permission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionAccess {
    /// The key of the session, under its owner.
    pub session: SessionKey,
    /// The share, if the session belongs to another user.
    pub shared: Option<SharedSession>,
    /// The permission of this user in the session.
    pub permission: Permission,
}

impl SessionAccess {
    /// Returns the session's name for this user.
    #[must_use]
    pub fn session_name(&self) -> SessionName {
        SharedSession::name_of(self.shared.as_ref(), &self.session.session)
    }
}

/// A user's relation to a visible run; each level includes the rights of earlier levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AccessLevel {
    /// A guest of the session: may see the run.
    Guest,
    /// The owner of the session in which a guest asked: may also stop the run.
    SessionOwner,
    /// The user who asked: may also respond to and change the run.
    Asker,
}

/// A run visible to a user.
#[derive(Debug)]
pub struct RunAccess {
    /// The run with its metadata.
    pub run: LoadedRun,
    /// The session's name for this user.
    pub session: SessionName,
    /// The relation of this user to the run.
    pub level: AccessLevel,
    /// True if this user asked under a share that has ended. Of the session, the user then sees only
    /// this question and its answer.
    pub share_ended: bool,
}

/// Returns the session named by a user. A label always names the user's own session, even before the first
/// question.
///
/// # Errors
/// Returns `session_not_found` for an unknown handle, or a handle of other users, or `store_unavailable`.
pub async fn authorize_session<P: Ports>(
    ports: &P,
    user: &UserKey,
    name: SessionName,
) -> Result<SessionAccess, Failure> {
    let handle = match name {
        SessionName::Own(session) => return Ok(owner_access(user.session_key(&session))),
        SessionName::Shared(handle) => handle,
    };
    let share =
        find_valid_share(ports, user, &handle).await.map_err(|error| store_failure(&error))?;
    let share = share.ok_or(ErrorCode::SessionNotFound)?;
    let SessionShare { handle, session, can_write: write, .. } = share;
    if session.owner == user.user {
        return Ok(owner_access(session));
    }
    let guest_share = Some(SharedSession { owner: session.owner.clone(), handle });
    let right = if write { Permission::Write } else { Permission::Read };
    Ok(SessionAccess { session, shared: guest_share, permission: right })
}

fn owner_access(session: SessionKey) -> SessionAccess {
    SessionAccess { session, shared: None, permission: Permission::Own }
}

/// Returns the valid share of this handle, if the user is its owner or a guest.
async fn find_valid_share<P: Ports>(
    ports: &P,
    user: &UserKey,
    handle: &ShareHandle,
) -> Result<Option<SessionShare>, StoreError> {
    let share = ports.store().find_share(&user.tenant, handle).await?;
    let share = share.filter(|share| share.session.owner_key() == *user || share.is_for(user));
    let Some(share) = share else { return Ok(None) };
    Ok(is_share_current(ports, &share).await?.then_some(share))
}

/// Returns true if the shared session was not deleted or replaced since.
async fn is_share_current<P: Ports>(ports: &P, share: &SessionShare) -> Result<bool, StoreError> {
    Ok(find_shared_session(ports, share).await?.is_some())
}

/// Returns the shared session, unless deleted or replaced since.
async fn find_shared_session<P: Ports>(
    ports: &P,
    share: &SessionShare,
) -> Result<Option<SessionSummary>, StoreError> {
    let SessionKey { session, .. } = &share.session;
    let entry = ports.store().find_session(&share.session.owner_key(), session).await?;
    Ok(entry.filter(|entry| entry.started_at_ms == share.session_started_at_ms))
}

/// Returns the sessions that other users share with this user, newest question first. Leaves out sessions that
/// are shared with the whole tenant, and those that cannot be read.
///
/// # Errors
/// Returns [`StoreError`] if the shares cannot be read.
pub async fn list_shared_sessions<P: Ports>(
    ports: &P,
    user: &UserKey,
) -> Result<Vec<(SessionShare, SessionSummary)>, StoreError> {
    let shares = ports.store().list_shares_with(user, MAX_LISTED_SESSIONS).await?;
    let reads: Vec<_> = shares.iter().map(|share| find_shared_session(ports, share)).collect();
    let summaries: Vec<_> = stream::iter(reads).buffered(READS_AT_ONCE).collect().await;
    let mut sessions = Vec::new();
    for (share, summary) in shares.into_iter().zip(summaries) {
        match summary {
            Ok(Some(summary)) => sessions.push((share, summary)),
            Ok(None) => {}
            Err(error) => tracing::warn!(%error, "a shared session was not read for a list"),
        }
    }
    sessions.sort_by_key(|(_, summary)| Reverse(summary.newest_at_ms));
    Ok(sessions)
}

/// Returns the run if visible to the user: the user's own, a guest's in the user's session, or one in a
/// session shared with the user.
///
/// # Errors
/// Returns `run_not_found` for any other run, or `store_unavailable`.
pub async fn authorize_run<P: Ports>(
    ports: &P,
    user: &UserKey,
    run: LoadedRun,
) -> Result<RunAccess, Failure> {
    let meta = run.meta();
    if meta.user == user.user {
        let share_ended = has_share_ended(ports, user, meta.shared.as_ref()).await;
        let share_ended = share_ended.map_err(|error| store_failure(&error))?;
        let session = meta.session_name();
        let viewer = AccessLevel::Asker;
        return Ok(RunAccess { run, session, level: viewer, share_ended });
    }
    let session = meta.session_key(&run.key().tenant);
    if session.owner == user.user {
        let session = SessionName::Own(session.session);
        let viewer = AccessLevel::SessionOwner;
        return Ok(RunAccess { run, session, level: viewer, share_ended: false });
    }
    let shares =
        ports.store().list_shares(&session).await.map_err(|error| store_failure(&error))?;
    let share =
        shares.into_iter().find(|share| share.is_for(user)).ok_or(ErrorCode::RunNotFound)?;
    if is_share_current(ports, &share).await.map_err(|error| store_failure(&error))? {
        let session = SessionName::Shared(share.handle);
        let viewer = AccessLevel::Guest;
        Ok(RunAccess { run, session, level: viewer, share_ended: false })
    } else {
        Err(ErrorCode::RunNotFound.into())
    }
}

/// Returns true if a guest may no longer ask under the given share.
pub(super) async fn has_share_ended<P: Ports>(
    ports: &P,
    user: &UserKey,
    asked_under: Option<&SharedSession>,
) -> Result<bool, StoreError> {
    let Some(SharedSession { handle, .. }) = asked_under else { return Ok(false) };
    let share = find_valid_share(ports, user, handle).await?;
    Ok(!share.is_some_and(|share| share.can_write))
}

/// Ends a share, and stops a guest's active run under this share. Returns true if the share existed.
///
/// # Errors
/// Returns `store_unavailable`; a repeat completes the rest.
pub async fn end_share<P: Ports>(
    ports: &P,
    session: &SessionKey,
    handle: &ShareHandle,
) -> Result<bool, Failure> {
    let is_ended =
        ports.store().end_share(session, handle).await.map_err(|error| store_failure(&error))?;
    let view = ports.store().load_session(session).await.map_err(|error| store_failure(&error))?;
    let Some(active) = view.active else { return Ok(is_ended) };
    let key = RunKey::new(session.tenant.clone(), active);
    let Some(mut run) = LoadedRun::find(ports, &key).await? else { return Ok(is_ended) };
    if run.meta().shared.as_ref().is_some_and(|shared| shared.handle == *handle) {
        request_stop(ports, &mut run, session.owner.clone()).await?;
    }
    Ok(is_ended)
}
