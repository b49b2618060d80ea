//! Error responses.

use std::borrow::Cow;

use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::language::Language;
use serde::Serialize;

use crate::event::PublicPlan;
use crate::refusal::{is_retryable, retry_after_s};

/// The reason that a request was rejected or failed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ErrorBody {
    /// The code to branch on. `docs/errors.md` lists all codes.
    pub code: ErrorCode,
    /// The error and the remedy, in the deployment's language.
    pub message: String,
    /// The invalid field of the request; null if no field is involved.
    pub field: Option<Cow<'static, str>>,
    /// The detail of the message: a number, a name, or the provider's text. May be empty.
    pub detail: String,
    /// True if the same request may succeed later.
    pub retryable: bool,
    /// The value of the `Retry-After` header in seconds; null without the header.
    pub retry_after: Option<u32>,
    /// The run that blocks the request; null if no run does.
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

/// The plan has changed since the version in the request.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlanConflictBody<'a> {
    /// The reason that nothing was changed.
    #[serde(flatten)]
    pub error: ErrorBody,
    /// The current version of the plan.
    pub version: u32,
    /// The current plan.
    pub plan: PublicPlan<'a>,
}
