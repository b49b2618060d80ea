//! A deployment's own checker for incoming and outgoing texts.

use djinn_core::id::{RunId, SessionName, TenantId, UserId};

use super::RunKey;
use super::tool::BoxFuture;

/// The direction of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// A user's text, before it is stored.
    In,
    /// A model's text, before it is recorded.
    Out,
}

impl Direction {
    /// Returns the direction's name: `in` or `out`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::In => "in",
            Self::Out => "out",
        }
    }
}

/// Texts to be checked together, and their owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContentCheck<'a> {
    /// The direction of the texts.
    pub direction: Direction,
    /// The texts; at least one.
    pub texts: &'a [CheckedText<'a>],
    /// The user and the session of the texts.
    pub owner: ContentOwner<'a>,
}

/// A text and its field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckedText<'a> {
    /// The field of the request or the reply.
    pub field: &'static str,
    /// The text to be checked.
    pub text: &'a str,
}

/// The owner of checked texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContentOwner<'a> {
    /// The tenant who owns the texts.
    pub tenant: &'a TenantId,
    /// The user of the run, who may not own the session.
    pub user: &'a UserId,
    /// The session, by this user's name.
    pub session: &'a SessionName,
    /// The run; `None` for texts to the session itself.
    pub run: Option<&'a RunId>,
}

impl<'a> ContentOwner<'a> {
    /// Returns the owner of the texts of this user's run.
    #[must_use]
    pub fn of(key: &'a RunKey, user: &'a UserId, session: &'a SessionName) -> Self {
        Self { tenant: &key.tenant, user, session, run: Some(&key.run) }
    }
}

/// The verdict of a checker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Every text passes unchanged.
    Allow,
    /// All texts are rejected.
    Refuse {
        /// The reason for the user; may be empty.
        reason: String,
    },
    /// Replacements pass: the same number, in the same order.
    Replace {
        /// The replacements for the checked texts.
        texts: Vec<String>,
    },
}

/// The reason for a missing verdict. The text is for users and names no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CheckError(pub String);

/// A checker. The implementation limits its own time; texts may be checked again after a crash.
pub trait Checker: Send + Sync {
    /// Returns the verdict on the texts.
    fn check<'a>(&'a self, check: ContentCheck<'a>) -> BoxFuture<'a, Result<Verdict, CheckError>>;
}
