//! A question as it comes in, before there is a run.

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

/// The words that go on with a run instead of asking something. They never begin one.
const CONTINUE_WORDS: [&str; 2] = ["continue", "继续"];

/// A question, as a verified caller asked it.
#[derive(Debug, Clone, PartialEq)]
pub struct UserQuestion {
    /// Whose run it is.
    pub tenant: TenantId,
    /// The user who asks, as the front door verified.
    pub user: UserId,
    /// The conversation it belongs to, by its owner's label.
    pub session: SessionId,
    /// How that is shared with who asks, if it is somebody else's; the caller has checked that who asks
    /// may.
    pub shared: Option<SharedSession>,
    /// The client's label for it.
    pub request: RequestId,
    /// What is asked; not empty.
    pub text: String,
    /// The files that it brings, no two of one name.
    pub attachments: Vec<QuestionAttachment>,
    /// What the text says as an answer to what a run asks, in the words of whoever reads it for us.
    /// `None`: in those of [`crate::text_response::parse_response`].
    pub parsed_response: Option<Result<HumanResponse, Failure>>,
    /// The form the answer should take.
    pub output_style: Option<OutputStyle>,
    /// Members of the request that have no effect, by their names: of letters, digits, `_`, `-` and `.`.
    pub ignored: Vec<String>,
    /// The deployment's instructions, put into its run's system prompt.
    pub deployment_prompt: String,
    /// The client's own instructions, put behind those.
    pub base_prompt: String,
    /// What holds until the run ends.
    pub settings: RunSettings,
}

/// A file that a question brings.
#[derive(Clone, PartialEq)]
pub enum QuestionAttachment {
    /// One that becomes a file of the session, with its bytes.
    New(NewFile, Vec<u8>),
    /// One that the session has.
    Known(ProductFile),
}

impl QuestionAttachment {
    /// The name of the file within the session.
    #[must_use]
    pub fn name(&self) -> &FileName {
        match self {
            Self::New(file, _) => &file.name,
            Self::Known(file) => &file.name,
        }
    }

    /// What a repeat must agree in: the name, and the content of one that the request brings.
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

/// Whether these words follow what is at work.
pub(crate) fn is_continue(words: &str) -> bool {
    CONTINUE_WORDS.iter().any(|word| trim_end_marks(words).eq_ignore_ascii_case(word))
}

impl UserQuestion {
    /// The run that answers it.
    #[must_use]
    pub fn run_key(&self) -> RunKey {
        let Self { tenant, user, request, .. } = self;
        let run = RunId::of(tenant, user, &self.session_name(), request);
        RunKey::new(self.tenant.clone(), run)
    }

    /// The session as who asks names it.
    #[must_use]
    pub fn session_name(&self) -> SessionName {
        SharedSession::name_of(self.shared.as_ref(), &self.session)
    }

    /// The session it is asked in.
    #[must_use]
    pub fn session_key(&self) -> SessionKey {
        let owner = SharedSession::owner_of(self.shared.as_ref(), &self.user);
        let (tenant, session) = (self.tenant.clone(), self.session.clone());
        SessionKey { tenant, owner: owner.clone(), session }
    }

    /// Whether it goes on with a run of the session instead of asking something.
    #[must_use]
    pub fn is_continue(&self) -> bool {
        is_continue(&self.text)
    }

    /// What a repeat of the request must agree in.
    pub(crate) fn body_hash(&self) -> String {
        let style = self.output_style.map(OutputStyle::as_str);
        let asked = json!([self.text, style, self.instructions(), self.settings.mode]);
        // Without attachments it is what it was before there were any.
        let body = match self.attachments.is_empty() {
            true => asked,
            false => {
                let attached: Vec<_> =
                    self.attachments.iter().map(QuestionAttachment::identity).collect();
                json!([asked, attached])
            }
        };
        sha256_hex(body.to_string().as_bytes())
    }

    /// All instructions of the run.
    pub(crate) fn instructions(&self) -> String {
        let both = [&self.deployment_prompt, &self.base_prompt].into_iter();
        both.filter(|text| !text.is_empty()).map(String::as_str).collect::<Vec<_>>().join("\n\n")
    }
}
