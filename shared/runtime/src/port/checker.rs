//! A checker of the deployment's own, asked about what comes in and what goes out.

use djinn_core::id::{RunId, SessionName, TenantId, UserId};

use super::RunKey;
use super::tool::BoxFuture;

/// Which way a text goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// What a person tells, before it is kept.
    In,
    /// What a model writes, before it is recorded.
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

/// Texts to be checked together, and whose they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContentCheck<'a> {
    /// Which way they go.
    pub direction: Direction,
    /// The texts; at least one.
    pub texts: &'a [CheckedText<'a>],
    /// The user and the session whose texts they are.
    pub owner: ContentOwner<'a>,
}

/// A text, and the member that holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckedText<'a> {
    /// The member of the request or the reply that holds it.
    pub field: &'static str,
    /// The text that is to be checked.
    pub text: &'a str,
}

/// Whose texts they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContentOwner<'a> {
    /// The tenant whose data the texts are.
    pub tenant: &'a TenantId,
    /// The user who asks, who need not own the session.
    pub user: &'a UserId,
    /// The conversation, as who asks names it.
    pub session: &'a SessionName,
    /// The run. `None`: they are told to the session.
    pub run: Option<&'a RunId>,
}

impl<'a> ContentOwner<'a> {
    /// Those of a run of this user's.
    #[must_use]
    pub fn of(key: &'a RunKey, user: &'a UserId, session: &'a SessionName) -> Self {
        Self { tenant: &key.tenant, user, session, run: Some(&key.run) }
    }
}

/// What a checker says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Every text passes as it is.
    Allow,
    /// None of them does.
    Refuse {
        /// Why, for the user; may be empty.
        reason: String,
    },
    /// These pass in their places: as many, in their order.
    Replace {
        /// The texts that take the places of those that were checked.
        texts: Vec<String>,
    },
}

/// Why there is no verdict. Its text is for users and names no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CheckError(pub String);

/// A checker. It bounds its own time; texts may be asked about again after a crash.
pub trait Checker: Send + Sync {
    /// What it says of some texts.
    fn check<'a>(&'a self, check: ContentCheck<'a>) -> BoxFuture<'a, Result<Verdict, CheckError>>;
}
