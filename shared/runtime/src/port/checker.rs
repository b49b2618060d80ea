//! A checker of the deployment's own, asked about what comes in and what goes out.

use djinn_core::id::{RunId, TenantId, UserId};
use djinn_core::session::SessionName;

use super::tool::BoxFuture;

/// Which way a text goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// A question, before its run is made.
    In,
    /// What may be the answer, before it is recorded.
    Out,
}

impl Direction {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::In => "in",
            Self::Out => "out",
        }
    }
}

/// A text to be checked, and whose it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Check<'a> {
    /// Which way it goes.
    pub direction: Direction,
    /// The text.
    pub text: &'a str,
    /// Whose run it is.
    pub tenant: &'a TenantId,
    /// Who asked.
    pub user: &'a UserId,
    /// The conversation, as who asked names it.
    pub session: &'a SessionName,
    /// The run.
    pub run: &'a RunId,
}

/// What a checker says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It passes.
    Allow,
    /// It does not.
    Refuse {
        /// Why, for the user; may be empty.
        reason: String,
    },
    /// This passes in its place.
    Replace {
        /// The text.
        text: String,
    },
}

/// Why there is no verdict. Its text is for users and names no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoVerdict(pub String);

/// A checker. It bounds its own time; a text may be asked about again after a crash.
pub trait Checker: Send + Sync {
    /// What it says of a text.
    fn check<'a>(&'a self, check: Check<'a>) -> BoxFuture<'a, Result<Verdict, NoVerdict>>;
}
