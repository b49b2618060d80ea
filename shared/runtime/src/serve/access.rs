//! Who may do what in a session, and with a run.

use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::id::{SessionName, ShareHandle};
use djinn_core::session::SharedSession;

use super::{LoadedRun, request_stop, store_failure};
use crate::port::catalog::Catalog;
use crate::port::journal::Journals;
use crate::port::share::{SessionShare, Shares};
use crate::port::{RunKey, SessionKey, StoreError, UserKey};
use crate::world::Ports;

/// What a user may do in a session; each includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Permission {
    /// See what was asked and answered, and the files.
    Read,
    /// Ask, and add files.
    Write,
    /// Rename, share and delete it.
    Own,
}

/// A session that a user named, and what this user may do in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionAccess {
    /// The session as its owner stores it.
    pub session: SessionKey,
    /// How it is shared with this user, if it is somebody else's.
    pub shared: Option<SharedSession>,
    /// What this user may do.
    pub permission: Permission,
}

impl SessionAccess {
    /// The session as this user names it.
    #[must_use]
    pub fn session_name(&self) -> SessionName {
        SharedSession::name_of(self.shared.as_ref(), &self.session.session)
    }
}

/// What somebody is to a run that they may see; each may do what those before it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AccessLevel {
    /// Somebody whom its session is shared with: sees it.
    Guest,
    /// The owner of the session that a guest asked it in: may stop it, too.
    SessionOwner,
    /// The user who asked it: may answer and change it, too.
    Asker,
}

/// A run as one user may see it.
#[derive(Debug)]
pub struct RunAccess {
    /// The run, with what is known of it.
    pub run: LoadedRun,
    /// Its session, as this user names it.
    pub session: SessionName,
    /// What this user is to it.
    pub level: AccessLevel,
    /// Whether the share has ended under which this user asked it: of the session they see no more than
    /// that they asked and what they were told.
    pub share_ended: bool,
}

/// The session that a user names. A label is always the user's own, whether anything was asked in it
/// yet or not.
///
/// # Errors
/// `session_not_found` for a handle that is none of this user's, or `store_unavailable`.
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
    let shared = Some(SharedSession { owner: session.owner.clone(), handle });
    let right = if write { Permission::Write } else { Permission::Read };
    Ok(SessionAccess { session, shared, permission: right })
}

fn owner_access(session: SessionKey) -> SessionAccess {
    SessionAccess { session, shared: None, permission: Permission::Own }
}

/// The share of this handle, if it is this user's or for them, and counts.
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

/// Whether the session of a share is still the one that was shared.
async fn is_share_current<P: Ports>(ports: &P, share: &SessionShare) -> Result<bool, StoreError> {
    let SessionKey { session, .. } = &share.session;
    let listed = ports.store().find_session(&share.session.owner_key(), session).await?;
    Ok(listed.is_some_and(|listed| listed.started_at_ms == share.session_started_at_ms))
}

/// A run that a user may see: their own, one that a guest asked in their session, or one of a session
/// that is shared with them.
///
/// # Errors
/// `run_not_found` for any other, or `store_unavailable`.
pub async fn authorize_run<P: Ports>(
    ports: &P,
    user: &UserKey,
    run: LoadedRun,
) -> Result<RunAccess, Failure> {
    let meta = run.meta();
    if meta.user == user.user {
        let share_ended = has_share_ended(ports, user, meta.shared.as_ref()).await;
        let share_ended = share_ended.map_err(|error| store_failure(&error))?;
        let (session, viewer) = (meta.session_name(), AccessLevel::Asker);
        return Ok(RunAccess { run, session, level: viewer, share_ended });
    }
    let session = meta.session_key(&run.key().tenant);
    if session.owner == user.user {
        let (session, viewer) = (SessionName::Own(session.session), AccessLevel::SessionOwner);
        return Ok(RunAccess { run, session, level: viewer, share_ended: false });
    }
    let shares =
        ports.store().list_shares(&session).await.map_err(|error| store_failure(&error))?;
    let share =
        shares.into_iter().find(|share| share.is_for(user)).ok_or(ErrorCode::RunNotFound)?;
    match is_share_current(ports, &share).await.map_err(|error| store_failure(&error))? {
        true => {
            let (session, viewer) = (SessionName::Shared(share.handle), AccessLevel::Guest);
            Ok(RunAccess { run, session, level: viewer, share_ended: false })
        }
        false => Err(ErrorCode::RunNotFound.into()),
    }
}

/// Whether somebody may ask no more where they asked as a guest.
pub(super) async fn has_share_ended<P: Ports>(
    ports: &P,
    user: &UserKey,
    asked_under: Option<&SharedSession>,
) -> Result<bool, StoreError> {
    let Some(SharedSession { handle, .. }) = asked_under else { return Ok(false) };
    let share = find_valid_share(ports, user, handle).await?;
    Ok(!share.is_some_and(|share| share.can_write))
}

/// Ends a share, and with it what is at work under it: a guest's run in that session is stopped. Returns
/// whether there was one.
///
/// # Errors
/// `store_unavailable`; the same again does what is left.
pub async fn end_share<P: Ports>(
    ports: &P,
    session: &SessionKey,
    handle: &ShareHandle,
) -> Result<bool, Failure> {
    let ended =
        ports.store().end_share(session, handle).await.map_err(|error| store_failure(&error))?;
    let view = ports.store().load_session(session).await.map_err(|error| store_failure(&error))?;
    let Some(active) = view.active else { return Ok(ended) };
    let key = RunKey::new(session.tenant.clone(), active);
    let Some(mut run) = LoadedRun::find(ports, &key).await? else { return Ok(ended) };
    if run.meta().shared.as_ref().is_some_and(|shared| shared.handle == *handle) {
        request_stop(ports, &mut run, session.owner.clone()).await?;
    }
    Ok(ended)
}
