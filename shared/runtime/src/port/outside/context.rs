//! The context of jobs.

use djinn_core::id::UserId;

use crate::port::tool::ToolContext;
use crate::port::{SessionKey, UserKey};

/// The context of a job for the gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutsideContext {
    /// The session of the job. A gateway that works for one tenant works for no other.
    pub session: SessionKey,
    /// The user who asked, in the session's tenant: a guest in a shared session.
    pub user: UserId,
}

impl OutsideContext {
    /// Returns the context of a tool's call.
    #[must_use]
    pub fn of(context: &ToolContext) -> Self {
        Self { session: context.session.clone(), user: context.user.clone() }
    }

    /// Returns the owner of the keys for this job: the user who asked, never the session's owner.
    #[must_use]
    pub fn key_owner(&self) -> UserKey {
        UserKey { tenant: self.session.tenant.clone(), user: self.user.clone() }
    }
}
