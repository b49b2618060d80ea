//! Faults of model calls, mapped to the port's error kinds.

mod classify;
mod detail;
mod output_limit;
mod rejected_tool;
mod retry_after;
mod unpaid;

use std::error::Error as _;
use std::time::Duration;

use djinn_core::budget::Usage;
use djinn_runtime::port::model::{ModelError, ModelErrorKind};
use genai::{BoxError, Error as GenaiError};
use reqwest::header::HeaderMap;
use serde_json::Value;

pub(crate) use detail::Mask;

/// A failure with a message not yet sanitized.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ModelFault {
    pub(crate) kind: ModelErrorKind,
    message: String,
    retry_after: Option<Duration>,
    is_final: bool,
}

impl ModelFault {
    pub(crate) fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), retry_after: None, is_final: false }
    }

    /// Creates the fault for an error response of `host`.
    pub(crate) fn from_http(status: u16, headers: &HeaderMap, body: &str, host: &str) -> Self {
        let json: Value = serde_json::from_str(body).unwrap_or(Value::Null);
        let failure = detail::ProviderFailure::from_body(&json, body);
        let message = if failure.message.is_empty() {
            format!("HTTP {status}")
        } else {
            format!("HTTP {status}: {}", failure.message)
        };
        Self {
            kind: classify::classify_status(status, &failure, host),
            message,
            retry_after: retry_after::find_wait(headers, &json, &failure.message),
            is_final: false,
        }
    }

    /// Creates the fault for an error reported in the stream.
    pub(crate) fn from_stream(error: &Value) -> Self {
        let failure = detail::ProviderFailure::from_error(error);
        let kind = classify::classify_in_stream(&failure);
        let retry_after = retry_after::find_in_message(&failure.message);
        let message = if failure.message.is_empty() {
            "the provider reported an error without words".to_owned()
        } else {
            failure.message
        };
        Self { retry_after, ..Self::new(kind, message) }
    }

    /// Creates the fault for an error of genai; `has_reply` is true if a part of the reply had arrived.
    pub(crate) fn from_genai(error: &GenaiError, host: &str, has_reply: bool) -> Self {
        match error {
            GenaiError::WebStream { error, .. } => Self::from_transport(error, host, has_reply),
            GenaiError::HttpError { status, body, headers, .. } => {
                Self::from_http(status.as_u16(), headers, body, host)
            }
            GenaiError::ChatResponse { body, .. } => {
                Self::from_stream(body.get("error").unwrap_or(body))
            }
            GenaiError::StreamParse { serde_error, .. } => Self::new(
                ModelErrorKind::Unreadable,
                format!("a piece of the reply is not JSON: {serde_error}"),
            ),
            GenaiError::AdapterNotSupported { feature, .. } => {
                let kind = if feature.contains("credential") {
                    ModelErrorKind::KeyRefused
                } else {
                    ModelErrorKind::Refused
                };
                Self::new(kind, feature.as_str())
            }
            other => Self::new(ModelErrorKind::Refused, format!("genai: {other}")),
        }
    }

    fn from_transport(error: &BoxError, host: &str, has_reply: bool) -> Self {
        if let Some(error) = error.downcast_ref::<GenaiError>() {
            return Self::from_genai(error, host, has_reply);
        }
        if error.downcast_ref::<std::string::FromUtf8Error>().is_some() {
            return Self::new(ModelErrorKind::Unreadable, "the reply is not UTF-8");
        }
        let mut innermost: &dyn std::error::Error = error.as_ref();
        while let Some(source) = innermost.source() {
            innermost = source;
        }
        // The message of the outermost error has the URL.
        let cause = match error.downcast_ref::<reqwest::Error>() {
            Some(error) if error.source().is_none() => "the connection failed".to_owned(),
            _ => innermost.to_string(),
        };
        if has_reply {
            return Self::new(ModelErrorKind::BrokenOff, format!("{host} broke off: {cause}"));
        }
        Self::new(ModelErrorKind::Unreachable, format!("{host} cannot be reached: {cause}"))
    }

    /// Returns the fault for a reply without an end.
    pub(crate) fn reply_too_long() -> Self {
        Self {
            is_final: true,
            ..Self::new(ModelErrorKind::Unreadable, "the reply is longer than 8 MB")
        }
    }

    /// Returns the output limit to send instead of `sent_limit`, if the provider rejected that limit.
    pub(crate) fn output_limit(&self, sent_limit: u32) -> Option<u32> {
        let can_be_about_it =
            matches!(self.kind, ModelErrorKind::Refused | ModelErrorKind::ContextTooLong);
        can_be_about_it
            .then(|| output_limit::find_output_limit(&self.message, sent_limit))
            .flatten()
    }

    /// Returns the tool whose definition the provider rejected, among the sent names of the request's tools in order.
    pub(crate) fn rejected_tool<'a>(&self, tools: &[&'a str]) -> Option<&'a str> {
        (self.kind == ModelErrorKind::Refused)
            .then(|| rejected_tool::find_rejected_tool(&self.message, tools))
            .flatten()
    }

    /// Returns true if the fault invalidates an otherwise complete reply.
    pub(crate) fn is_final(&self) -> bool {
        self.is_final
    }

    /// Returns the error for callers, with a clean, masked and shortened message.
    pub(crate) fn into_error(self, mask: &Mask<'_>, usage: Usage) -> ModelError {
        ModelError {
            kind: self.kind,
            detail: mask.sanitize_message(&self.message),
            retry_after: self.retry_after,
            usage,
        }
    }
}

#[cfg(test)]
#[path = "fault_tests.rs"]
mod tests;
