//! Names of sessions: a label for the user's own sessions, a handle for shared sessions.

use serde::{Deserialize, Serialize};

use crate::id::{SessionId, SessionName, ShareHandle, UserId};

/// A session that is shared with the asker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedSession {
    /// The owner of the session.
    pub owner: UserId,
    /// The handle by which the asker named the session.
    pub handle: ShareHandle,
}

impl SharedSession {
    /// Returns the owner of the session; without a share, the asker.
    #[must_use]
    pub fn owner_of<'a>(shared: Option<&'a Self>, asker: &'a UserId) -> &'a UserId {
        shared.map_or(asker, |shared| &shared.owner)
    }

    /// Returns the asker's name for the session with this label.
    #[must_use]
    pub fn name_of(shared: Option<&Self>, session: &SessionId) -> SessionName {
        match shared {
            Some(shared) => SessionName::Shared(shared.handle.clone()),
            None => SessionName::Own(session.clone()),
        }
    }
}
