//! Properties of an error code in a response: status, retries and consequence.

use djinn_core::error_code::{ErrorCode as Code, Failure};

/// The codes by HTTP status, for a response before the start of a stream.
const STATUSES: [(u16, &[Code]); 14] = [
    (
        400,
        &[
            Code::InvalidJson,
            Code::InvalidField,
            Code::QueryMissing,
            Code::QueryTooLong,
            Code::TooLong,
            Code::UnknownAgent,
            Code::UnknownStyle,
            Code::BadId,
            Code::BadFileName,
            Code::BadCursor,
        ],
    ),
    (401, &[Code::CredentialsMissing, Code::CredentialsRefused]),
    (
        403,
        &[
            Code::OriginRefused,
            Code::HostRefused,
            Code::SessionReadOnly,
            Code::OwnerOnly,
            Code::AskerOnly,
            Code::ShareEnded,
        ],
    ),
    (
        404,
        &[
            Code::RunNotFound,
            Code::SessionNotFound,
            Code::ShareNotFound,
            Code::KeyNotFound,
            Code::FileNotFound,
            Code::TableNotFound,
            Code::RouteNotFound,
            Code::RequestNotFound,
            Code::LinkNotFound,
        ],
    ),
    (405, &[Code::MethodNotAllowed]),
    (
        409,
        &[
            Code::TooManyShares,
            Code::TooManyKeys,
            Code::RequestIdReused,
            Code::SessionBusy,
            Code::NothingToContinue,
            Code::RequestResolved,
            Code::RequestStale,
            Code::RequestClosed,
            Code::RunEnded,
            Code::NoPlan,
            Code::PlanChanged,
        ],
    ),
    (410, &[Code::LinkExpired, Code::RunExpired]),
    (413, &[Code::BodyTooLarge, Code::TooLarge]),
    (415, &[Code::UnsupportedBody]),
    (422, &[Code::ContentRefused]),
    (
        429,
        &[
            Code::RateLimited,
            Code::TooManyRuns,
            Code::TooManyUploads,
            Code::TooManyStreams,
            Code::TooManyUserStreams,
            Code::BudgetUsedUp,
        ],
    ),
    (
        500,
        &[
            Code::Internal,
            Code::StoredDataUnreadable,
            Code::JournalAltered,
            Code::StepsUsedUp,
            Code::ToolCallsUsedUp,
            Code::RepeatedCalls,
            Code::CallsWrittenAsText,
            Code::TokensUsedUp,
            Code::MoneyUsedUp,
            Code::ParameterMissing,
            Code::BadList,
            Code::AgentUnusable,
            Code::StepFailed,
            Code::RoundsUsedUp,
            Code::TimeUsedUp,
            Code::HopLimit,
            Code::Crashed,
            Code::Interrupted,
            Code::Stopped,
        ],
    ),
    (
        502,
        &[
            Code::ModelKeyRefused,
            Code::ModelNoBalance,
            Code::ModelUnknown,
            Code::ContextTooLong,
            Code::ModelUnreachable,
            Code::ModelOverloaded,
            Code::ModelRefused,
            Code::ModelUnreadable,
            Code::EmptyAnswer,
            Code::BadAnswer,
        ],
    ),
    (
        503,
        &[
            Code::ContentUnchecked,
            Code::NoIdentity,
            Code::IdentityUnavailable,
            Code::KeysUnavailable,
            Code::StoreUnavailable,
            Code::NoModel,
            Code::ModelKeyMissing,
        ],
    ),
];

/// Returns the HTTP status for a code before the start of a stream.
#[must_use]
pub fn http_status(code: Code) -> u16 {
    let row = STATUSES.iter().find(|(_, codes)| codes.contains(&code));
    row.map_or(500, |(status, _)| *status)
}

/// Returns true if the same request may succeed later, unchanged.
#[must_use]
pub fn is_retryable(code: Code) -> bool {
    matches!(
        code,
        Code::IdentityUnavailable
            | Code::KeysUnavailable
            | Code::StoreUnavailable
            | Code::SessionBusy
            | Code::RateLimited
            | Code::TooManyRuns
            | Code::TooManyUploads
            | Code::TooManyStreams
            | Code::TooManyUserStreams
            | Code::ModelUnreachable
            | Code::ModelOverloaded
            | Code::ModelUnreadable
            | Code::ContentUnchecked
            | Code::Internal
    )
}

/// Returns the seconds until the next attempt, if known.
#[must_use]
pub fn retry_after_s(failure: &Failure) -> Option<u32> {
    const RUN_MAY_END_S: u32 = 10;
    const STREAM_MAY_END_S: u32 = 5;
    const UPLOAD_MAY_ARRIVE_S: u32 = 30;
    if failure.again_in_s.is_some() {
        failure.again_in_s
    } else if failure.code == Code::TooManyRuns {
        Some(RUN_MAY_END_S)
    } else if failure.code == Code::TooManyUploads {
        Some(UPLOAD_MAY_ARRIVE_S)
    } else {
        let streams = [Code::TooManyStreams, Code::TooManyUserStreams];
        streams.contains(&failure.code).then_some(STREAM_MAY_END_S)
    }
}

/// The consequence of an error at the time the code is visible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consequence {
    /// The request changed nothing.
    Nothing,
    /// The request may have been executed. A request id is executed at most once, so a repeat is safe.
    Unknown,
    /// The run has ended; its text and findings are kept.
    RunEnded,
    /// The run keeps its state and continues later.
    RunWaits,
}

/// Codes of runs that users can let continue.
const RUN_WAITS: [Code; 5] = [
    Code::BudgetUsedUp,
    Code::ModelNoBalance,
    Code::ModelUnreachable,
    Code::ModelOverloaded,
    Code::ModelUnreadable,
];

impl Consequence {
    /// Returns the consequence of an error code.
    #[must_use]
    pub fn of(code: Code) -> Self {
        if RUN_WAITS.contains(&code) {
            Self::RunWaits
        } else if matches!(code, Code::StoreUnavailable | Code::Internal) {
            Self::Unknown
        } else if code >= Code::NoModel {
            Self::RunEnded
        } else {
            Self::Nothing
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_one_status() {
        for code in Code::ALL {
            let statuses = STATUSES.iter().filter(|(_, codes)| codes.contains(code));
            assert_eq!(statuses.count(), 1, "{code:?}");
        }
    }

    #[test]
    fn what_is_refused_changed_nothing_and_what_ends_a_run_ended_it() {
        for code in Code::ALL {
            let refused = http_status(*code) < 500 && *code != Code::BudgetUsedUp;
            assert!(!refused || Consequence::of(*code) == Consequence::Nothing, "{code:?}");
        }
        assert_eq!(Consequence::of(Code::Stopped), Consequence::RunEnded);
        assert_eq!(Consequence::of(Code::NoIdentity), Consequence::Nothing);
    }
}
