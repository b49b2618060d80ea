//! An error as a client receives it.

use djinn_messages::write_error_sentence;
use serde::{Deserialize, Serialize};

use super::ErrorCode;
use crate::id::RunId;
use djinn_messages::language::Language;

/// An error as a client receives it: a code with the facts of the case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{}: {detail}", code.as_str())]
pub struct Failure {
    /// The code that clients branch on.
    pub code: ErrorCode,
    /// The fact that completes the code's sentence: a number, a name, or a provider's text. May be empty, and
    /// never holds a key.
    #[serde(default)]
    pub detail: String,
    /// The invalid field of a request, for the response to the sender; never stored.
    #[serde(skip)]
    pub field: Option<&'static str>,
    /// The run that blocks a request, for the response to the sender; never stored.
    #[serde(skip)]
    pub run: Option<RunId>,
    /// Seconds after which a request that came too early may be sent again; never stored.
    #[serde(skip)]
    pub again_in_s: Option<u32>,
}

impl Failure {
    /// Creates a failure with the fact that completes the code's sentence.
    #[must_use]
    pub fn new(code: ErrorCode, detail: impl Into<String>) -> Self {
        Self { code, detail: detail.into(), field: None, run: None, again_in_s: None }
    }

    /// Returns the failure for a session that is still answering in `run`.
    #[must_use]
    pub fn session_busy(run: &RunId) -> Self {
        Self { run: Some(run.clone()), ..Self::new(ErrorCode::SessionBusy, run.to_string()) }
    }

    /// Returns the failure for a question that comes too early by `again_in_s` seconds.
    #[must_use]
    pub fn rate_limited(again_in_s: u32) -> Self {
        let failure = Self::new(ErrorCode::RateLimited, again_in_s.to_string());
        Self { again_in_s: Some(again_in_s), ..failure }
    }

    /// Sets the invalid field of the request.
    #[must_use]
    pub fn with_field(self, field: &'static str) -> Self {
        Self { field: Some(field), ..self }
    }

    /// Returns the complete sentence for a user.
    #[must_use]
    pub fn sentence(&self, language: Language) -> String {
        write_error_sentence(self.code.as_str(), &self.detail, language)
    }
}

impl From<ErrorCode> for Failure {
    fn from(code: ErrorCode) -> Self {
        Self::new(code, "")
    }
}
