//! Error responses.

use std::borrow::Cow;

use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::language::Language;
use serde::Serialize;

use crate::event::PublicPlan;
use crate::refusal::{is_retryable, retry_after_s};

/// Why a request was refused or failed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ErrorBody {
    /// The code to branch on. `docs/errors.md` has them all.
    pub code: ErrorCode,
    /// What happened and what to do, in the deployment's language.
    pub message: String,
    /// The member of the request that it is about; null if it is about none.
    pub field: Option<Cow<'static, str>>,
    /// The fact in the sentence: a number, a name, a provider's words. May be empty.
    pub detail: String,
    /// Whether the same request may succeed later.
    pub retryable: bool,
    /// Seconds after which to try again, as `Retry-After` says; null if it does not.
    pub retry_after: Option<u32>,
    /// The run that stands in the way; null if none does.
    pub run: Option<String>,
}

impl ErrorBody {
    /// Creates the error response for a failed request.
    #[must_use]
    pub fn new(failure: &Failure, field: Option<Cow<'static, str>>, language: Language) -> Self {
        Self {
            code: failure.code,
            message: failure.sentence(language),
            field,
            detail: failure.detail.clone(),
            retryable: is_retryable(failure.code),
            retry_after: retry_after_s(failure),
            run: failure.run.as_ref().map(ToString::to_string),
        }
    }
}

/// The same for JoyAgent's page, which shows `msg`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageErrorBody {
    /// The code, the sentence and the member.
    #[serde(flatten)]
    pub error: ErrorBody,
    /// The sentence once more.
    pub msg: String,
}

/// The same for what answers for people, which looks at `success`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FeedbackErrorBody {
    /// The code, the sentence and the member.
    #[serde(flatten)]
    pub error: ErrorBody,
    /// Always false: nothing was done.
    pub success: bool,
}

/// The plan is another than the one that was changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlanConflictBody<'a> {
    /// Why nothing was changed.
    #[serde(flatten)]
    pub error: ErrorBody,
    /// The plan's version now.
    pub version: u32,
    /// The plan as it is now.
    pub plan: PublicPlan<'a>,
}
