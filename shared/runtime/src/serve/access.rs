//! Who may do what in a session, and with a run.

use djinn_core::code::{ErrorCode, Failure};
use djinn_core::session::{SessionName, SharedSession};

use super::{known, unavailable};
use crate::port::catalog::{Catalog, UserKey};
use crate::port::journal::{RunMeta, SessionKey};
use crate::port::share::{Share, Shares};
use crate::port::{Ports, RunKey, StoreError};

/// What a user may do in a session; each includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Right {
    /// See what was asked and answered, and the files.
    Read,
    /// Ask, and add files.
    Write,
    /// Rename, share and delete it.
    Own,
}

/// A session that a user named, and what this user may do in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// Which session.
    pub session: SessionKey,
    /// How it is shared with this user, if it is somebody else's.
    pub shared: Option<SharedSession>,
    /// What this user may do.
    pub right: Right,
}

impl Access {
    /// The session as this user names it.
    #[must_use]
    pub fn name(&self) -> SessionName {
        SharedSession::name_of(self.shared.as_ref(), &self.session.session)
    }
}

/// What somebody is to a run that they may see; each may do what those before it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Viewer {
    /// Somebody whom its session is shared with: sees it.
    Guest,
    /// The owner of the session that a guest asked it in: may stop it, too.
    SessionOwner,
    /// Who asked.
    Asker,
}

/// A run as one user may see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunAccess {
    /// What is known of it.
    pub meta: RunMeta,
    /// Its session, as this user names it.
    pub session: SessionName,
    /// What this user is to it.
    pub viewer: Viewer,
}

/// The session that a user names. A label is always the user's own, whether anything was asked in it
/// yet or not.
///
/// # Errors
/// `session_not_found` for a handle that is none of this user's, or `store_unavailable`.
pub async fn access<P: Ports>(
    ports: &P,
    user: &UserKey,
    name: SessionName,
) -> Result<Access, Failure> {
    let handle = match name {
        SessionName::Own(session) => return Ok(owned(user.session(&session))),
        SessionName::Shared(handle) => handle,
    };
    let share = ports.store().find_share(&user.tenant, &handle).await;
    let share = share.map_err(|error| unavailable(&error))?.filter(|share| {
        let is_owner = share.session.owner_key() == *user;
        is_owner || share.is_for(user)
    });
    let share = share.ok_or(ErrorCode::SessionNotFound)?;
    if !counts(ports, &share).await.map_err(|error| unavailable(&error))? {
        return Err(ErrorCode::SessionNotFound.into());
    }
    let Share { handle, session, write, .. } = share;
    if session.owner == user.user {
        return Ok(owned(session));
    }
    let shared = Some(SharedSession { owner: session.owner.clone(), handle });
    let right = if write { Right::Write } else { Right::Read };
    Ok(Access { session, shared, right })
}

fn owned(session: SessionKey) -> Access {
    Access { session, shared: None, right: Right::Own }
}

/// Whether the session of a share is still the one that was shared.
async fn counts<P: Ports>(ports: &P, share: &Share) -> Result<bool, StoreError> {
    let SessionKey { session, .. } = &share.session;
    let listed = ports.store().find_session(&share.session.owner_key(), session).await?;
    Ok(listed.is_some_and(|listed| listed.started_at_ms == share.session_started_at_ms))
}

/// A run that a user may see: their own, one that a guest asked in their session, or one of a session
/// that is shared with them.
///
/// # Errors
/// `run_not_found` for any other, or `store_unavailable`.
pub async fn run_access<P: Ports>(
    ports: &P,
    user: &UserKey,
    key: &RunKey,
) -> Result<RunAccess, Failure> {
    let meta = known(ports, key).await?;
    if meta.user == user.user {
        return Ok(RunAccess { session: meta.session_name(), meta, viewer: Viewer::Asker });
    }
    let session = meta.session_key(&key.tenant);
    if session.owner == user.user {
        let (session, viewer) = (SessionName::Own(session.session), Viewer::SessionOwner);
        return Ok(RunAccess { meta, session, viewer });
    }
    let shares = ports.store().list_shares(&session).await.map_err(|error| unavailable(&error))?;
    let share =
        shares.into_iter().find(|share| share.is_for(user)).ok_or(ErrorCode::RunNotFound)?;
    match counts(ports, &share).await.map_err(|error| unavailable(&error))? {
        true => {
            let (session, viewer) = (SessionName::Shared(share.handle), Viewer::Guest);
            Ok(RunAccess { meta, session, viewer })
        }
        false => Err(ErrorCode::RunNotFound.into()),
    }
}
