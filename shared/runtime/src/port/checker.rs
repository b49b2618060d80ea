//! A checker of the deployment's own, asked about what comes in and what goes out.

use djinn_core::id::{RunId, TenantId, UserId};
use djinn_core::session::SessionName;

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
pub struct Check<'a> {
    /// Which way they go.
    pub direction: Direction,
    /// The texts; at least one.
    pub texts: &'a [CheckedText<'a>],
    /// Whose they are.
    pub whose: Whose<'a>,
}

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckedText<'a> {
    /// The member of the request or the reply that holds it.
    pub field: &'static str,
    /// What it says.
    pub text: &'a str,
}

/// Whose texts they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Whose<'a> {
    /// The tenant.
    pub tenant: &'a TenantId,
    /// Who asks.
    pub user: &'a UserId,
    /// The conversation, as who asks names it.
    pub session: &'a SessionName,
    /// The run. `None`: they are told to the session.
    pub run: Option<&'a RunId>,
}

impl<'a> Whose<'a> {
    /// Those of a run of this user's.
    #[must_use]
    pub fn of(key: &'a RunKey, user: &'a UserId, session: &'a SessionName) -> Self {
        Self { tenant: &key.tenant, user, session, run: Some(&key.run) }
    }
}

/// What a checker says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// They pass.
    Allow,
    /// None of them does.
    Refuse {
        /// Why, for the user; may be empty.
        reason: String,
    },
    /// These pass in their places: as many, in their order.
    Replace {
        /// The texts.
        texts: Vec<String>,
    },
}

/// Why there is no verdict. Its text is for users and names no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoVerdict(pub String);

/// A checker. It bounds its own time; texts may be asked about again after a crash.
pub trait Checker: Send + Sync {
    /// What it says of some texts.
    fn check<'a>(&'a self, check: Check<'a>) -> BoxFuture<'a, Result<Verdict, NoVerdict>>;
}
