//! Sessions as users name them: a label for their own, a handle for one that is shared with them.

use serde::{Deserialize, Serialize};

use crate::id::{SessionId, SessionName, ShareHandle, UserId};

/// What a run knows of its session when that is not the asker's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedSession {
    /// Whose session it is.
    pub owner: UserId,
    /// The handle that the asker named it by.
    pub handle: ShareHandle,
}

impl SharedSession {
    /// Whose session it is: without a share the asker's own.
    #[must_use]
    pub fn owner_of<'a>(shared: Option<&'a Self>, asker: &'a UserId) -> &'a UserId {
        shared.map_or(asker, |shared| &shared.owner)
    }

    /// What the asker calls the session of this label.
    #[must_use]
    pub fn name_of(shared: Option<&Self>, session: &SessionId) -> SessionName {
        match shared {
            Some(shared) => SessionName::Shared(shared.handle.clone()),
            None => SessionName::Own(session.clone()),
        }
    }
}
