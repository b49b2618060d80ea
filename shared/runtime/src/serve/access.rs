//! Who may do what in a session.

use djinn_core::code::{ErrorCode, Failure};
use djinn_core::session::{SessionName, SharedSession};

use crate::port::Ports;
use crate::port::catalog::UserKey;
use crate::port::journal::SessionKey;

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

/// The session that a user names. A label is always the user's own, whether anything was asked in it
/// yet or not.
///
/// # Errors
/// `session_not_found` for a handle that is none of this user's, or `store_unavailable`.
#[allow(clippy::unused_async, reason = "a handle will be looked up")]
pub async fn access<P: Ports>(
    _ports: &P,
    user: &UserKey,
    name: SessionName,
) -> Result<Access, Failure> {
    match name {
        SessionName::Own(session) => {
            Ok(Access { session: user.session(&session), shared: None, right: Right::Own })
        }
        SessionName::Shared(_) => Err(ErrorCode::SessionNotFound.into()),
    }
}
