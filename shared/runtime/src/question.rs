//! An incoming question, before its run exists.

use std::fmt;

pub use djinn_agents::{fill_arguments, find_parameter_violation, find_reviewer_problem};
use djinn_core::conversation::Exchange;
use djinn_core::error_code::Failure;
use djinn_core::file::ProductFile;
use djinn_core::human::HumanResponse;
use djinn_core::id::{FileName, RunId, sha256_hex};
use djinn_core::input::RunSpec;
use djinn_core::settings::OutputStyle;
use serde_json::{Value, json};

use crate::port::file::NewFile;
use crate::port::{RunKey, SessionKey};
use crate::response_capability::ResponseCapability;
use crate::text_response::trim_end_marks;

/// The words that continue a run instead of asking a question. These never start a run.
const CONTINUE_WORDS: [&str; 2] = ["continue", "继续"];

/// A question of a verified caller.
#[derive(Debug, Clone, PartialEq)]
pub struct UserQuestion {
    /// The spec of the question's run. The question is not empty. The instructions are the deployment's, and
    /// the start of the run adds the client's, and what is known of the session.
    pub spec: RunSpec,
    /// The client's own instructions.
    pub client_prompt: String,
    /// The questions and answers before this question, if the client keeps them itself. `None` for the session's.
    pub history: Option<Vec<Exchange>>,
    /// The client's choice of mode and arguments, which a repeated request must share. The spec has what the
    /// deployment's files make of the choice.
    pub choice: Value,
    /// The attached files, with unique names.
    pub attachments: Vec<QuestionAttachment>,
    /// The text parsed as a response to a human request, by the protocol's own rules. `None` applies the
    /// rules of [`crate::text_response::parse_response`].
    pub parsed_response: Option<Result<HumanResponse, Failure>>,
    /// The human requests that the text may respond to, as the route grants.
    pub capability: ResponseCapability,
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
        let RunSpec { tenant, user, request, .. } = &self.spec;
        let run = RunId::of(tenant, user, &self.spec.session_name(), request);
        RunKey::new(tenant.clone(), run)
    }

    /// Returns the key of the question's session.
    #[must_use]
    pub fn session_key(&self) -> SessionKey {
        SessionKey::of(&self.spec)
    }

    /// Returns true if the question continues a run of the session instead of asking something new.
    #[must_use]
    pub fn is_continue(&self) -> bool {
        is_continue(&self.spec.question)
    }

    /// Returns the hash that a repeated request must share. The hash covers what the client sent, so that a
    /// repeat finds its run after the deployment has changed.
    pub(crate) fn body_hash(&self) -> String {
        let Self { spec, client_prompt, choice, attachments, history, .. } = self;
        let style = spec.output_style.map(OutputStyle::as_str);
        let files: Vec<_> = attachments.iter().map(QuestionAttachment::identity).collect();
        let body = match history {
            None => json!([spec.question, style, client_prompt, choice, files]),
            Some(history) => json!([spec.question, style, client_prompt, choice, files, history]),
        };
        sha256_hex(body.to_string().as_bytes())
    }

    /// Returns all instructions of the run.
    pub(crate) fn instructions(&self) -> String {
        let both = [&self.spec.base_prompt, &self.client_prompt].into_iter();
        both.filter(|text| !text.is_empty()).map(String::as_str).collect::<Vec<_>>().join("\n\n")
    }
}
