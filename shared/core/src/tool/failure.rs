//! Failures of tool calls.

use serde::{Deserialize, Serialize};

/// The reason for a call without a result of the tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ToolFailure {
    /// No tool of this name was offered, or the tool no longer exists.
    UnknownTool,
    /// The tool's schema, effect class or policy has changed since the offer. The call was not run.
    Changed,
    /// The arguments cannot be read or break the tool's schema.
    BadArguments,
    /// The tool ran and reported an error.
    Error,
    /// The call exceeded the tool's timeout.
    TimedOut,
    /// The process died or stood still three times during the call.
    Crashed,
    /// The call was started, must not be repeated, and has an unknown outcome.
    Uncertain,
    /// The turn has more calls than the limit or the remaining budget. The call was not run.
    TooMany,
    /// The run was stopped before the call ended.
    Stopped,
    /// The call was to an agent, and the tree of runs is already at the maximum depth.
    TooDeep,
    /// The call would have sent data out after the run read untrusted text, and the settings ask no user.
    Untrusted,
    /// A user declined the call.
    Skipped,
    /// No user responded in time. The call was not run.
    Unanswered,
    /// A user responded with a text instead; the detail contains the text.
    Answered,
}

impl ToolFailure {
    /// Returns the word for logs and the API.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UnknownTool => "unknown_tool",
            Self::Changed => "changed",
            Self::BadArguments => "bad_arguments",
            Self::Error => "error",
            Self::TimedOut => "timed_out",
            Self::Crashed => "crashed",
            Self::Uncertain => "uncertain",
            Self::TooMany => "too_many",
            Self::Stopped => "stopped",
            Self::TooDeep => "too_deep",
            Self::Untrusted => "untrusted",
            Self::Skipped => "skipped",
            Self::Unanswered => "unanswered",
            Self::Answered => "answered",
        }
    }
}
