//! Sessions that their owners share with other users.

use djinn_core::id::{ShareHandle, TenantId, UserId};
use serde::{Deserialize, Serialize};

use super::{SessionKey, StoreError, UserKey};

/// The maximum number of shares of a session.
pub const MAX_SHARES: usize = 100;

/// The users with whom a session is shared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Audience {
    /// Every user of the owner's tenant.
    Tenant,
    /// One user of the owner's tenant.
    User(UserId),
}

/// A share of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionShare {
    /// The guests' name of the session.
    pub handle: ShareHandle,
    /// The shared session, by its owner's label.
    pub session: SessionKey,
    /// The start of the session's first run, in Unix milliseconds. The share does not apply to a later
    /// session that reuses the label after a deletion.
    pub session_started_at_ms: i64,
    /// The guests of the share.
    pub audience: Audience,
    /// True if guests may also ask and add files.
    pub can_write: bool,
    /// The creation of the share, in Unix milliseconds.
    pub created_at_ms: i64,
}

impl SessionShare {
    /// Returns true if the share is for this user.
    #[must_use]
    pub fn is_for(&self, user: &UserKey) -> bool {
        user.tenant == self.session.tenant
            && match &self.audience {
                Audience::Tenant => true,
                Audience::User(with) => user.user == *with,
            }
    }
}

/// The result of sharing a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShareResult {
    /// The session is shared from now on.
    Added,
    /// The owner has no such session, or the session was deleted meanwhile.
    UnknownSession,
    /// The session has the maximum number of shares.
    TooMany,
}

/// The store of shares. Needs `dynamodb:GetItem`, `Query`, `PutItem`, `UpdateItem` and `DeleteItem` on the
/// table. Deleting a session ends its shares. A share expires with its session, as of the share's creation:
/// 400 days after the session's newest run.
pub trait Shares {
    /// Adds a share of a session that is in its owner's list, and that began at the share's start time.
    fn add_share(
        &self,
        share: &SessionShare,
    ) -> impl Future<Output = Result<ShareResult, StoreError>> + Send;

    /// Returns the share of this handle in a tenant. Strongly consistent.
    fn find_share(
        &self,
        tenant: &TenantId,
        handle: &ShareHandle,
    ) -> impl Future<Output = Result<Option<SessionShare>, StoreError>> + Send;

    /// Returns the shares of a session, in the order of their handles. Strongly consistent.
    fn list_shares(
        &self,
        session: &SessionKey,
    ) -> impl Future<Output = Result<Vec<SessionShare>, StoreError>> + Send;

    /// Returns the newest share with this user of each session, newest first, of at most `limit` sessions. Leaves
    /// out shares with a whole tenant. Eventually consistent.
    fn list_shares_with(
        &self,
        user: &UserKey,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<SessionShare>, StoreError>> + Send;

    /// Ends a share of this session; returns `false` if the session has no share of this handle.
    fn end_share(
        &self,
        session: &SessionKey,
        handle: &ShareHandle,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send;
}
