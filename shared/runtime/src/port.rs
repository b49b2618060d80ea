//! The runtime's ports: one trait for each capability from outside.
//!
//! A trait's doc line names the AWS actions of its implementation; `template.yaml` grants exactly these
//! actions.

pub mod admission;
pub mod alarm;
pub mod budget;
pub mod call_history;
pub mod catalog;
pub mod checker;
pub mod clock;
pub mod database;
pub mod file;
pub mod file_url;
pub mod journal;
pub mod lease;
pub mod live;
pub mod mailbox;
pub mod model;
pub mod outside;
pub mod page;
pub mod payload;
pub mod sandbox;
pub mod sealed_key;
pub mod secret;
pub mod share;
pub mod stream;
pub mod table;
pub mod text_folder;
pub mod tool;
pub mod tool_progress;

use std::fmt;

use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::id::{ChildId, Path, RunId, SessionId, TenantId, UserId};
use djinn_core::input::RunSpec;
use serde::{Deserialize, Serialize};

use budget::Budgets;
use call_history::CallHistory;
use catalog::Catalog;
use file::Files;
use journal::Journals;
use lease::Leases;
use live::LiveLog;
use mailbox::Mailbox;
use sealed_key::SealedKeys;
use share::Shares;

/// A run of a tenant, or a run below: the key of all stored data of the run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunKey {
    /// The tenant who owns the data.
    pub tenant: TenantId,
    /// The user's run at the root of the tree.
    pub run: RunId,
    /// The path from the root to this run.
    pub path: Path,
}

impl RunKey {
    /// Creates the key of a user's run.
    #[must_use]
    pub fn new(tenant: TenantId, run: RunId) -> Self {
        Self { tenant, run, path: Path::default() }
    }

    /// Returns the key of a child.
    #[must_use]
    pub fn with_child(&self, child: impl Into<ChildId>) -> Self {
        Self { path: self.path.with_child(child), ..self.clone() }
    }

    /// Returns the key of the run one level up; `None` for the root.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        let (path, _) = self.path.split_last()?;
        Some(Self { path, ..self.clone() })
    }

    /// Returns the key of the tree's root.
    #[must_use]
    pub fn root(&self) -> Self {
        Self { path: Path::default(), ..self.clone() }
    }

    /// Returns true if the run is the root of its tree: a user's run, not a child.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.path.is_root()
    }
}

impl fmt::Display for RunKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.tenant, self.run)?;
        if self.is_root() { Ok(()) } else { write!(f, "/{}", self.path) }
    }
}

/// A user of a tenant.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct UserKey {
    /// The tenant who owns the data.
    pub tenant: TenantId,
    /// The user's id, unique within the tenant only.
    pub user: UserId,
}

impl UserKey {
    /// Returns the user who started the run.
    #[must_use]
    pub fn of(spec: &RunSpec) -> Self {
        Self { tenant: spec.tenant.clone(), user: spec.user.clone() }
    }

    /// Returns the key of a session that this user owns.
    #[must_use]
    pub fn session_key(&self, session: &SessionId) -> SessionKey {
        let tenant = self.tenant.clone();
        let owner = self.user.clone();
        SessionKey { tenant, owner, session: session.clone() }
    }
}

/// A session of a user.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionKey {
    /// The tenant of the owner.
    pub tenant: TenantId,
    /// The owner of the session, even if another user asks.
    pub owner: UserId,
    /// The owner's label of the session.
    pub session: SessionId,
}

impl SessionKey {
    /// Returns the owner of the session, who may differ from the asker.
    #[must_use]
    pub fn owner_key(&self) -> UserKey {
        UserKey { tenant: self.tenant.clone(), user: self.owner.clone() }
    }

    /// Returns the session of a run.
    #[must_use]
    pub fn of(spec: &RunSpec) -> Self {
        Self {
            tenant: spec.tenant.clone(),
            owner: spec.owner().clone(),
            session: spec.session.clone(),
        }
    }
}

/// The error of a store. The text is for logs, never for users.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The store was unreachable, throttled or rejected the request, even after limited retries; or the
    /// response was lost, so the outcome is unknown.
    #[error("the store is unavailable: {0}")]
    Unavailable(String),
    /// The deployment does not allow the request: a missing grant, a wrong name or a wrong key. The request may
    /// succeed once the deployment is corrected, but not within this invocation.
    #[error("the store denies access: {0}")]
    Denied(String),
    /// The item is above the store's permanent size limit: nothing was written, and a retry cannot succeed.
    #[error("larger than the store takes: {0}")]
    TooLarge(String),
    /// A stored item is unreadable.
    #[error("a stored item cannot be read: {0}")]
    Unreadable(String),
    /// A stored record is newer than this code.
    #[error("record format {0} is newer than this code")]
    NewerFormat(u16),
}

impl StoreError {
    /// Returns true if the same request may succeed within seconds, so a retry in this invocation makes sense.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Unavailable(_))
    }

    /// Returns true if the same request may succeed later, perhaps only after a change of the deployment. The
    /// other errors are permanent.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        matches!(self, Self::Unavailable(_) | Self::Denied(_))
    }
}

/// The maximum size of one stored item. Content that is long by nature is stored separately.
const MAX_ITEM_SIZE: &str = "400 KB";

/// Creates the failure for an item above the store's size limit.
pub(crate) fn too_large_failure() -> Failure {
    Failure::new(ErrorCode::TooLarge, MAX_ITEM_SIZE)
}

/// All storage that outlives an invocation.
pub trait Store:
    Journals
    + Leases
    + Mailbox
    + LiveLog
    + Files
    + Catalog
    + Shares
    + SealedKeys
    + Budgets
    + CallHistory
    + Send
    + Sync
{
}

impl<T> Store for T where
    T: Journals
        + Leases
        + Mailbox
        + LiveLog
        + Files
        + Catalog
        + Shares
        + SealedKeys
        + Budgets
        + CallHistory
        + Send
        + Sync
{
}
