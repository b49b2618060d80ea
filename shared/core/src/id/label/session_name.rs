//! Names of sessions: a label for the user's own sessions, a handle for shared sessions.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{SHARE_PREFIX, SessionId, ShareHandle};
use crate::id::bad_id::BadId;

/// A session's name for one user. A label always means this user's own session. No label begins like a
/// handle, so the two forms cannot be confused.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum SessionName {
    /// The label of a session that the user owns.
    Own(SessionId),
    /// The handle of a session that its owner shares with this user.
    Shared(ShareHandle),
}

impl SessionName {
    /// Parses a label or a handle.
    ///
    /// # Errors
    /// Returns [`BadId`] with the rule that the text breaks.
    pub fn new(text: impl Into<String>) -> Result<Self, BadId> {
        let text = text.into();
        if text.starts_with(SHARE_PREFIX) {
            ShareHandle::new(text).map(Self::Shared)
        } else {
            SessionId::new(text).map(Self::Own)
        }
    }

    /// Returns the label or handle as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Own(session) => session.as_str(),
            Self::Shared(handle) => handle.as_str(),
        }
    }
}

impl From<SessionId> for SessionName {
    fn from(session: SessionId) -> Self {
        Self::Own(session)
    }
}

impl TryFrom<String> for SessionName {
    type Error = BadId;

    fn try_from(text: String) -> Result<Self, BadId> {
        Self::new(text)
    }
}

impl From<SessionName> for String {
    fn from(name: SessionName) -> Self {
        match name {
            SessionName::Own(session) => session.into(),
            SessionName::Shared(handle) => handle.into(),
        }
    }
}

impl fmt::Display for SessionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_label_or_a_handle_and_never_both() {
        let handle = format!("shr_{}", "0a".repeat(16));
        assert!(matches!(SessionName::new("s1"), Ok(SessionName::Own(_))));
        assert!(matches!(SessionName::new(handle.as_str()), Ok(SessionName::Shared(_))));
        let upper = format!("shr_{}", "0A".repeat(16));
        for bad in ["", "shr_", "shr_x", "a b", upper.as_str(), &handle[..35]] {
            assert!(SessionName::new(bad).is_err(), "{bad}");
        }
        let json = serde_json::to_string(&SessionName::new(handle.as_str()).unwrap()).unwrap();
        assert_eq!(json, format!("\"{handle}\""));
    }
}
