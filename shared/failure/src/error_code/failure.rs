//! An error as a client gets it.

use djinn_messages::write_error_sentence;
use serde::{Deserialize, Serialize};

use super::ErrorCode;
use djinn_ids::RunId;
use djinn_messages::language::Language;

/// An error as a client gets it: a code and what it is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{}: {detail}", code.as_str())]
pub struct Failure {
    /// The code that clients branch on.
    pub code: ErrorCode,
    /// The fact that completes its sentence: a number, a name, a provider's words. May be empty.
    /// Never holds a key.
    #[serde(default)]
    pub detail: String,
    /// The member of a request that it is about: for who sent that, and kept nowhere.
    #[serde(skip)]
    pub field: Option<&'static str>,
    /// The run that stands in the way of a request: for who sent that, and kept nowhere.
    #[serde(skip)]
    pub run: Option<RunId>,
    /// Seconds after which a request that comes too early may be sent again.
    #[serde(skip)]
    pub again_in_s: Option<u32>,
}

impl Failure {
    /// A failure with the fact that completes its sentence.
    #[must_use]
    pub fn new(code: ErrorCode, detail: impl Into<String>) -> Self {
        Self { code, detail: detail.into(), field: None, run: None, again_in_s: None }
    }

    /// The session is still answering, in this run.
    #[must_use]
    pub fn session_busy(run: &RunId) -> Self {
        Self { run: Some(run.clone()), ..Self::new(ErrorCode::SessionBusy, run.to_string()) }
    }

    /// A question comes too early; in so many seconds it does not.
    #[must_use]
    pub fn rate_limited(again_in_s: u32) -> Self {
        let failure = Self::new(ErrorCode::RateLimited, again_in_s.to_string());
        Self { again_in_s: Some(again_in_s), ..failure }
    }

    /// The same about this member of a request.
    #[must_use]
    pub fn with_field(self, field: &'static str) -> Self {
        Self { field: Some(field), ..self }
    }

    /// The whole sentence for a user.
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
