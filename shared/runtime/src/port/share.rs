//! Sessions that their owners share with others.

use djinn_core::id::{ShareHandle, TenantId, UserId};
use serde::{Deserialize, Serialize};

use super::{SessionKey, StoreError, UserKey};

/// Shares that a session may have at a time.
pub const MAX_SHARES: usize = 100;

/// Whom a session is shared with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Audience {
    /// Every user of the owner's tenant.
    Tenant,
    /// One user of it.
    User(UserId),
}

/// A share of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionShare {
    /// What those it is for name the session by.
    pub handle: ShareHandle,
    /// The session that is shared, by its owner's label.
    pub session: SessionKey,
    /// When the first run of the session was asked, Unix milliseconds: of one that begins anew under the
    /// same label after a deletion, the share says nothing.
    pub session_started_at_ms: i64,
    /// Whom it is for.
    pub audience: Audience,
    /// Whether they may ask in it and add files, too.
    pub can_write: bool,
    /// When it was made, Unix milliseconds.
    pub created_at_ms: i64,
}

impl SessionShare {
    /// Whether it is for this user.
    #[must_use]
    pub fn is_for(&self, user: &UserKey) -> bool {
        user.tenant == self.session.tenant
            && match &self.audience {
                Audience::Tenant => true,
                Audience::User(with) => user.user == *with,
            }
    }
}

/// What came of sharing a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShareResult {
    /// The session is shared from now on.
    Added,
    /// Its owner has no such session, or not this one any more.
    UnknownSession,
    /// It has as many shares as one may have.
    TooMany,
}

/// Shares. Needs `dynamodb:GetItem`, `Query`, `PutItem`, `UpdateItem` and `DeleteItem` on the table.
/// Deleting a session ends its shares; one ends by itself when its session would have expired as it
/// stood when the share was made, 400 days after its newest run.
pub trait Shares {
    /// Keeps a share of a session that is in its owner's list, and began when the share says.
    fn add_share(
        &self,
        share: &SessionShare,
    ) -> impl Future<Output = Result<ShareResult, StoreError>> + Send;

    /// The share of this handle in a tenant. Strongly consistent.
    fn find_share(
        &self,
        tenant: &TenantId,
        handle: &ShareHandle,
    ) -> impl Future<Output = Result<Option<SessionShare>, StoreError>> + Send;

    /// The shares of a session, in the order of their handles. Strongly consistent.
    fn list_shares(
        &self,
        session: &SessionKey,
    ) -> impl Future<Output = Result<Vec<SessionShare>, StoreError>> + Send;

    /// Ends a share of this session; `false` if it has none of that handle.
    fn end_share(
        &self,
        session: &SessionKey,
        handle: &ShareHandle,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send;
}
