//! An incoming question, before its run exists.

use std::fmt;

use djinn_core::error_code::Failure;
use djinn_core::file::ProductFile;
use djinn_core::human::HumanResponse;
use djinn_core::id::{
    FileName, RequestId, RunId, SessionId, SessionName, TenantId, UserId, sha256_hex,
};
use djinn_core::session::SharedSession;
use djinn_core::settings::{OutputStyle, RunSettings};
use serde_json::{Value, json};

use crate::port::file::NewFile;
use crate::port::{RunKey, SessionKey};
use crate::text_response::trim_end_marks;

/// The words that continue a run instead of asking a question. These never start a run.
const CONTINUE_WORDS: [&str; 2] = ["continue", "继续"];

/// A question of a verified caller.
#[derive(Debug, Clone, PartialEq)]
pub struct UserQuestion {
    /// The tenant of the run.
    pub tenant: TenantId,
    /// The user who asks, verified by the front door.
    pub user: UserId,
    /// The session of the question, by its owner's label.
    pub session: SessionId,
    /// The share of the session, if another user owns it; the caller has checked the asker's permission.
    pub shared: Option<SharedSession>,
    /// The client's label of the request.
    pub request: RequestId,
    /// The question; not empty.
    pub text: String,
    /// The attached files, with unique names.
    pub attachments: Vec<QuestionAttachment>,
    /// The text parsed as a response to a human request, by the protocol's own rules. `None` applies the
    /// rules of [`crate::text_response::parse_response`].
    pub parsed_response: Option<Result<HumanResponse, Failure>>,
    /// The requested form of the answer.
    pub output_style: Option<OutputStyle>,
    /// The names of ignored fields of the request: letters, digits, `_`, `-` and `.`.
    pub ignored: Vec<String>,
    /// The deployment's instructions, part of the run's system prompt.
    pub deployment_prompt: String,
    /// The client's own instructions, after the deployment's.
    pub base_prompt: String,
    /// The settings of the run until its end.
    pub settings: RunSettings,
}

/// A file attached to a question.
#[derive(Clone, PartialEq)]
pub enum QuestionAttachment {
    /// A new file of the session, with its bytes.
    New(NewFile, Vec<u8>),
    /// An existing file of the session.
    Known(ProductFile),
}

impl QuestionAttachment {
    /// Returns the name of the file within the session.
    #[must_use]
    pub fn name(&self) -> &FileName {
        match self {
            Self::New(file, _) => &file.name,
            Self::Known(file) => &file.name,
        }
    }

    /// Returns the part that a repeated request must share: the name, and the content of a new file.
    fn identity(&self) -> Value {
        match self {
            Self::New(file, bytes) => json!([file.name, sha256_hex(bytes)]),
            Self::Known(file) => json!([file.name]),
        }
    }
}

impl fmt::Debug for QuestionAttachment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::New(file, bytes) => write!(f, "{file:?} ({} bytes)", bytes.len()),
            Self::Known(file) => write!(f, "{file:?}"),
        }
    }
}

/// Returns true if the words ask to continue a run.
pub(crate) fn is_continue(words: &str) -> bool {
    CONTINUE_WORDS.iter().any(|word| trim_end_marks(words).eq_ignore_ascii_case(word))
}

impl UserQuestion {
    /// Returns the key of the question's run.
    #[must_use]
    pub fn run_key(&self) -> RunKey {
        let Self { tenant, user, request, .. } = self;
        let run = RunId::of(tenant, user, &self.session_name(), request);
        RunKey::new(self.tenant.clone(), run)
    }

    /// Returns the session's name for the asker.
    #[must_use]
    pub fn session_name(&self) -> SessionName {
        SharedSession::name_of(self.shared.as_ref(), &self.session)
    }

    /// Returns the key of the question's session.
    #[must_use]
    pub fn session_key(&self) -> SessionKey {
        let owner = SharedSession::owner_of(self.shared.as_ref(), &self.user);
        let tenant = self.tenant.clone();
        let session = self.session.clone();
        SessionKey { tenant, owner: owner.clone(), session }
    }

    /// Returns true if the question continues a run of the session instead of asking something new.
    #[must_use]
    pub fn is_continue(&self) -> bool {
        is_continue(&self.text)
    }

    /// Returns the hash that a repeated request must share.
    pub(crate) fn body_hash(&self) -> String {
        let style = self.output_style.map(OutputStyle::as_str);
        let fields = json!([self.text, style, self.instructions(), self.settings.mode]);
        // Without attachments, the hash is the same as before attachments existed.
        let body = if self.attachments.is_empty() {
            fields
        } else {
            let identities: Vec<_> =
                self.attachments.iter().map(QuestionAttachment::identity).collect();
            json!([fields, identities])
        };
        sha256_hex(body.to_string().as_bytes())
    }

    /// Returns all instructions of the run.
    pub(crate) fn instructions(&self) -> String {
        let both = [&self.deployment_prompt, &self.base_prompt].into_iter();
        both.filter(|text| !text.is_empty()).map(String::as_str).collect::<Vec<_>>().join("\n\n")
    }
}
