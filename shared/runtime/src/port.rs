//! What a driver needs of the world, one capability a trait.
//!
//! A trait's doc line names the AWS actions its implementation needs; `template.yaml` grants those
//! and no others.

pub mod admission;
pub mod alarm;
pub mod budget;
pub mod call_history;
pub mod catalog;
pub mod checker;
pub mod clock;
pub mod configuration;
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
pub mod secret;
pub mod share;
pub mod stream;
pub mod text_folder;
pub mod tool;
pub mod tool_progress;

use std::fmt;

use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::id::{ChildId, Path, RunId, SessionId, TenantId, UserId};
use djinn_core::input::RunSpec;

use budget::Budgets;
use call_history::CallHistory;
use catalog::Catalog;
use file::Files;
use journal::Journals;
use lease::Leases;
use live::LiveLog;
use mailbox::Mailbox;
use share::Shares;

/// A run of a tenant, or one below it: where everything of it is stored.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunKey {
    /// The tenant whose data it is.
    pub tenant: TenantId,
    /// The run of a user's, which is the root of its tree.
    pub run: RunId,
    /// The way from there to this one.
    pub path: Path,
}

impl RunKey {
    /// The key of a user's run.
    #[must_use]
    pub fn new(tenant: TenantId, run: RunId) -> Self {
        Self { tenant, run, path: Path::default() }
    }

    /// A run right below this one.
    #[must_use]
    pub fn with_child(&self, child: impl Into<ChildId>) -> Self {
        Self { path: self.path.with_child(child), ..self.clone() }
    }

    /// The run right above this one; `None` for the root.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        let (path, _) = self.path.split_last()?;
        Some(Self { path, ..self.clone() })
    }

    /// The root of the tree that this run is in.
    #[must_use]
    pub fn root(&self) -> Self {
        Self { path: Path::default(), ..self.clone() }
    }

    /// Whether it is the root of its tree: a user's run, and nobody's child.
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
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UserKey {
    /// Whose data it is.
    pub tenant: TenantId,
    /// The user's id, unique within the tenant only.
    pub user: UserId,
}

impl UserKey {
    /// The user who asked, in their tenant.
    #[must_use]
    pub fn of(asked: &RunSpec) -> Self {
        Self { tenant: asked.tenant.clone(), user: asked.user.clone() }
    }

    /// One of this user's own sessions.
    #[must_use]
    pub fn session_key(&self, session: &SessionId) -> SessionKey {
        let (tenant, owner) = (self.tenant.clone(), self.user.clone());
        SessionKey { tenant, owner, session: session.clone() }
    }
}

/// A session of a user.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionKey {
    /// The tenant of its owner.
    pub tenant: TenantId,
    /// Whose it is, whoever asks in it.
    pub owner: UserId,
    /// Its label among the owner's.
    pub session: SessionId,
}

impl SessionKey {
    /// The owner of the session, who need not be who asks.
    #[must_use]
    pub fn owner_key(&self) -> UserKey {
        UserKey { tenant: self.tenant.clone(), user: self.owner.clone() }
    }

    /// The session that a run was asked in.
    #[must_use]
    pub fn of(asked: &RunSpec) -> Self {
        Self {
            tenant: asked.tenant.clone(),
            owner: asked.owner().clone(),
            session: asked.session.clone(),
        }
    }
}

/// Why a store could not do what it was asked. Its text is for logs, never for users.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Not reached, throttled or refused, also after bounded retries; or the answer was lost, and
    /// whether it was done is unknown.
    #[error("the store is unavailable: {0}")]
    Unavailable(String),
    /// It is larger than the store takes, today and tomorrow: nothing was written, and trying again is
    /// of no use.
    #[error("larger than the store takes: {0}")]
    TooLarge(String),
    /// A stored item cannot be read.
    #[error("a stored item cannot be read: {0}")]
    Unreadable(String),
    /// A stored record is newer than this code.
    #[error("record format {0} is newer than this code")]
    NewerFormat(u16),
}

impl StoreError {
    /// Whether the same request may succeed later. Nothing else is to be tried again.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Unavailable(_) => true,
            Self::TooLarge(_) | Self::Unreadable(_) | Self::NewerFormat(_) => false,
        }
    }
}

/// What a store takes in one piece of what is not long by nature: what is long lies beside it.
const MAX_ITEM_SIZE: &str = "400 KB";

/// The failure of what a store never takes.
pub(crate) fn too_large_failure() -> Failure {
    Failure::new(ErrorCode::TooLarge, MAX_ITEM_SIZE)
}

/// Everything that is kept between invocations.
pub trait Store:
    Journals
    + Leases
    + Mailbox
    + LiveLog
    + Files
    + Catalog
    + Shares
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
        + Budgets
        + CallHistory
        + Send
        + Sync
{
}
