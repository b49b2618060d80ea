//! Failures of tool calls.

use serde::{Deserialize, Serialize};

/// Why a call has no result of its tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ToolFailure {
    /// No tool of that name was offered, or there is none any more.
    UnknownTool,
    /// The tool of that name is another than was offered: its schema, effect class or policy is. It was not run.
    Changed,
    /// The arguments cannot be read or break the tool's schema.
    BadArguments,
    /// The tool ran and reported an error.
    Error,
    /// It ran longer than it may.
    TimedOut,
    /// Its process died or stood still three times during the call.
    Crashed,
    /// It was started, must not be repeated, and nobody knows whether it happened.
    Uncertain,
    /// More calls in one turn than the cap, or than are left of the budget; this one was not run.
    TooMany,
    /// The run was stopped before it ended.
    Stopped,
    /// It was to an agent, and no run may be further down in its tree.
    TooDeep,
    /// It would have told others something after the run had read what anybody may have written, and nobody is
    /// asked.
    Untrusted,
    /// A person decided that it is not to be made, or nobody decided in time.
    Skipped,
    /// A person said something instead; the detail is that.
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
            Self::Answered => "answered",
        }
    }
}
