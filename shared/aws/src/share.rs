//! Shares: an item by the handle, and one by the session.

use djinn_core::id::{ShareHandle, TenantId};
use djinn_runtime::port::StoreError;
use djinn_runtime::port::journal::SessionKey;
use djinn_runtime::port::share::{MAX_SHARES, Share, ShareResult, Shares};

use crate::change::{Change, number, values};
use crate::item::share::ShareItem;
use crate::item::user_session::UserSessionItem;
use crate::query::Query;
use crate::store::AwsStore;
use crate::table::{Attributes, Key, SHARE, session_partition};
use crate::transaction::Transacted;

impl Shares for AwsStore {
    async fn add_share(&self, share: &Share) -> Result<ShareResult, StoreError> {
        let SessionKey { tenant, owner, session } = &share.session;
        let listed = UserSessionItem::key(tenant, owner, session);
        let item = self.get(listed.clone()).await?.map(UserSessionItem::from_item).transpose()?;
        let begun = share.session_started_at_ms;
        let Some(item) = item.filter(|item| item.started_at_ms == begun) else {
            return Ok(ShareResult::UnknownSession);
        };
        if self.shares_of(&share.session).await?.len() >= MAX_SHARES {
            return Ok(ShareResult::TooMany);
        }
        let stored = ShareItem::of(share, item.expires);
        let items = vec![
            self.put_any(stored.to_item(ShareItem::key(tenant, &share.handle))?)?,
            self.put_any(stored.to_item(ShareItem::key_in(&share.session, &share.handle))?)?,
            // Whoever deletes the session meanwhile would miss it.
            self.update(Change {
                key: listed,
                expression: "SET #shared_at_ms = :now",
                condition: "#started_at_ms = :begun",
                values: values([
                    (":now", number(&share.created_at_ms)),
                    (":begun", number(&begun)),
                ]),
            })?,
        ];
        match self.transact(items).await? {
            Transacted::Done => Ok(ShareResult::Added),
            Transacted::Refused(_) => Ok(ShareResult::UnknownSession),
        }
    }

    async fn find_share(
        &self,
        tenant: &TenantId,
        handle: &ShareHandle,
    ) -> Result<Option<Share>, StoreError> {
        let item = self.get(ShareItem::key(tenant, handle)).await?;
        let item = item.map(ShareItem::from_item).transpose()?;
        Ok(item.filter(|item| self.counts(item)).map(|item| item.into_share(tenant)))
    }

    async fn list_shares(&self, session: &SessionKey) -> Result<Vec<Share>, StoreError> {
        let items = self.shares_of(session).await?.into_iter();
        Ok(items.map(|item| item.into_share(&session.tenant)).collect())
    }

    async fn end_share(
        &self,
        session: &SessionKey,
        handle: &ShareHandle,
    ) -> Result<bool, StoreError> {
        let listed = ShareItem::key_in(session, handle);
        if self.get(listed.clone()).await?.is_none() {
            return Ok(false);
        }
        // What the list leads to goes first: who is interrupted finds it there again.
        self.remove(everything(ShareItem::key(&session.tenant, handle))).await?;
        self.remove(everything(listed)).await?;
        Ok(true)
    }
}

impl AwsStore {
    /// Ends all shares of a session.
    pub(crate) async fn forget_shares(&self, session: &SessionKey) -> Result<(), StoreError> {
        let query = Query::family(session_partition(session), &format!("{SHARE}#"));
        for item in self.query(query).await? {
            self.end_share(session, &ShareItem::from_item(item)?.handle).await?;
        }
        Ok(())
    }

    async fn shares_of(&self, session: &SessionKey) -> Result<Vec<ShareItem>, StoreError> {
        let query = Query::family(session_partition(session), &format!("{SHARE}#"));
        let items = self.query(query).await?.into_iter().map(ShareItem::from_item);
        let mut items: Vec<_> = items.collect::<Result<_, _>>()?;
        items.retain(|item| self.counts(item));
        Ok(items)
    }

    /// Whether it has not expired: what has may stay for some days.
    fn counts(&self, item: &ShareItem) -> bool {
        item.expires > self.now_ms().div_euclid(1_000)
    }
}

fn everything(key: Key) -> Change<'static> {
    Change { key, expression: "", condition: "", values: Attributes::new() }
}
