//! The first thing a run is told.

use serde::{Deserialize, Serialize};

use super::ChildSpec;
use crate::conversation::{CompactedContext, Exchange};
use crate::file::ProductFile;
use crate::id::{RequestId, SessionId, SessionName, TenantId, UserId};
use crate::session::SharedSession;
use crate::settings::{OutputStyle, RunSettings};

/// The question and everything that decides how it is worked on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunSpec {
    /// Whose run it is.
    pub tenant: TenantId,
    /// The user who asked; not the owner of a session that is shared with them.
    pub user: UserId,
    /// The conversation it belongs to, by its owner's label.
    pub session: SessionId,
    /// How that is shared with who asked, if it is somebody else's (default none, as in old records).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared: Option<SharedSession>,
    /// The client's label for it.
    pub request: RequestId,
    /// SHA-256 of what was asked, to tell a repeat from a reused request id.
    pub body_hash: String,
    /// The question as the user asked it; a task is given its run's.
    pub question: String,
    /// The form the answer should take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_style: Option<OutputStyle>,
    /// Members of the request that have no effect, by their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<String>,
    /// Instructions of the deployment or the client, put into the system prompt.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub base_prompt: String,
    /// The session's newest questions and answers, oldest first; at most 20 messages.
    #[serde(default)]
    pub history: Vec<Exchange>,
    /// Tokens of that history; 0 in old records.
    #[serde(default)]
    pub history_tokens: u64,
    /// What came before the history, summed up by the run that this is a task of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<CompactedContext>,
    /// The session's files, oldest first.
    #[serde(default)]
    pub files: Vec<ProductFile>,
    /// What holds until the run ends.
    pub settings: RunSettings,
    /// The step that this is about, when it is a task and no run of a user's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<ChildSpec>,
}

impl RunSpec {
    /// Whose session it is asked in.
    #[must_use]
    pub fn owner(&self) -> &UserId {
        SharedSession::owner_of(self.shared.as_ref(), &self.user)
    }

    /// The session as who asked names it.
    #[must_use]
    pub fn session_name(&self) -> SessionName {
        SharedSession::name_of(self.shared.as_ref(), &self.session)
    }
}
