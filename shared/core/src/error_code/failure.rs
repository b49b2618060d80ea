//! An error as a client gets it.

use serde::{Deserialize, Serialize};

use super::ErrorCode;
use crate::id::RunId;
use crate::language::Language;

/// An error as a client gets it: a code and what it is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{}: {}", code.as_str(), self.sentence(Language::En))]
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
    again_in_s: Option<u32>,
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

    /// Seconds after which to try again, if it is known that it is too early now.
    #[must_use]
    pub fn retry_after_s(&self) -> Option<u32> {
        const RUN_MAY_END_S: u32 = 10;
        const STREAM_MAY_END_S: u32 = 5;
        const UPLOAD_MAY_ARRIVE_S: u32 = 30;
        if self.again_in_s.is_some() {
            self.again_in_s
        } else if self.code == ErrorCode::TooManyRuns {
            Some(RUN_MAY_END_S)
        } else if self.code == ErrorCode::TooManyUploads {
            Some(UPLOAD_MAY_ARRIVE_S)
        } else {
            let streams = [ErrorCode::TooManyStreams, ErrorCode::TooManyUserStreams];
            streams.contains(&self.code).then_some(STREAM_MAY_END_S)
        }
    }

    /// The whole sentence for a user.
    #[must_use]
    pub fn sentence(&self, language: Language) -> String {
        match self.code.sentence(language).split_once("{}") {
            None => self.code.sentence(language).to_owned(),
            // A fact that is a sentence of its own brings no second full stop.
            Some((before, after)) if after.starts_with(['.', '。']) => {
                format!("{before}{}{after}", self.detail.trim_end_matches(['.', '。']))
            }
            Some((before, after)) => format!("{before}{}{after}", self.detail),
        }
    }
}

impl From<ErrorCode> for Failure {
    fn from(code: ErrorCode) -> Self {
        Self::new(code, "")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_reads_as_one_sentence_with_its_fact() {
        let failure = Failure::new(ErrorCode::StepsUsedUp, "40");
        assert!(failure.sentence(Language::En).starts_with("The step budget of 40 is used up."));
        let failure = Failure::new(ErrorCode::InvalidJson, "expected `:`.");
        assert_eq!(failure.sentence(Language::En), "The body is not valid JSON: expected `:`.");
    }
}
