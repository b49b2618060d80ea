//! Shares, with an item for the handle, an item for the session, and an item for the guest.

use std::collections::BTreeSet;

use djinn_core::id::{ShareHandle, TenantId};
use djinn_runtime::port::share::{MAX_SHARES, SessionShare, ShareResult, Shares};
use djinn_runtime::port::{SessionKey, StoreError, UserKey};

use crate::change::{ItemChange, number, values};
use crate::item::share::ShareItem;
use crate::item::user_session::UserSessionItem;
use crate::key::{Attributes, ItemKey, SHARE, session_partition, user_partition};
use crate::query::Query;
use crate::store::AwsStore;
use crate::transaction::TransactionResult;

impl Shares for AwsStore {
    async fn add_share(&self, share: &SessionShare) -> Result<ShareResult, StoreError> {
        let SessionKey { tenant, owner, session } = &share.session;
        let list_key = UserSessionItem::key(tenant, owner, session);
        let item =
            self.get_item(list_key.clone()).await?.map(UserSessionItem::from_item).transpose()?;
        let start_ms = share.session_started_at_ms;
        let Some(item) = item.filter(|item| item.started_at_ms == start_ms) else {
            return Ok(ShareResult::UnknownSession);
        };
        if self.list_current_shares(&share.session).await?.len() >= MAX_SHARES {
            return Ok(ShareResult::TooMany);
        }
        let share_item = ShareItem::of(share, item.expires);
        let keys = [
            Some(ShareItem::key(tenant, &share.handle)),
            Some(ShareItem::key_in_session(&share.session, &share.handle)),
            share_item.key_of_guest(tenant),
        ];
        let puts = keys.into_iter().flatten();
        let puts = puts.map(|key| self.transact_put(share_item.to_item(key)?));
        let mut items = puts.collect::<Result<Vec<_>, StoreError>>()?;
        // A concurrent deletion of the session would miss the share.
        items.push(self.transact_update(ItemChange {
            key: list_key,
            expression: "SET #shared_at_ms = :now",
            condition: "#started_at_ms = :begun",
            values: values([(":now", number(&share.created_at_ms)), (":begun", number(&start_ms))]),
        })?);
        match self.write_transaction(items).await? {
            TransactionResult::Done => Ok(ShareResult::Added),
            TransactionResult::Refused(_) => Ok(ShareResult::UnknownSession),
        }
    }

    async fn find_share(
        &self,
        tenant: &TenantId,
        handle: &ShareHandle,
    ) -> Result<Option<SessionShare>, StoreError> {
        let item = self.get_item(ShareItem::key(tenant, handle)).await?;
        let item = item.map(ShareItem::from_item).transpose()?;
        Ok(item.filter(|item| self.is_current(item)).map(|item| item.into_share(tenant)))
    }

    async fn list_shares(&self, session: &SessionKey) -> Result<Vec<SessionShare>, StoreError> {
        let items = self.list_current_shares(session).await?.into_iter();
        Ok(items.map(|item| item.into_share(&session.tenant)).collect())
    }

    async fn list_shares_with(
        &self,
        user: &UserKey,
        limit: usize,
    ) -> Result<Vec<SessionShare>, StoreError> {
        let partition = user_partition(&user.tenant, &user.user);
        let query = Query::with_prefix(partition, &format!("{SHARE}#"));
        let query = query.newest_first(limit).eventually_consistent();
        let mut sessions = BTreeSet::new();
        let mut shares = Vec::new();
        let mut start = None;
        loop {
            // A session has up to this number of shares with the same user.
            let (items, last) = self.query_page(&query, Some(MAX_SHARES), start.take()).await?;
            for item in items {
                let item = ShareItem::from_item(item)?;
                let session = (item.owner.clone(), item.session.clone());
                if self.is_current(&item) && sessions.insert(session) {
                    shares.push(item.into_share(&user.tenant));
                }
            }
            match last {
                Some(last) if shares.len() < limit => start = Some(last),
                _ => break,
            }
        }
        shares.truncate(limit);
        Ok(shares)
    }

    async fn end_share(
        &self,
        session: &SessionKey,
        handle: &ShareHandle,
    ) -> Result<bool, StoreError> {
        let list_key = ShareItem::key_in_session(session, handle);
        let item = self.get_item(list_key.clone()).await?.map(ShareItem::from_item).transpose()?;
        let Some(item) = item else { return Ok(false) };
        // The guest's list never has an ended share; after an interruption, the session's item still lists
        // the handle.
        if let Some(key) = item.key_of_guest(&session.tenant) {
            self.delete_item(deletion_of(key)).await?;
        }
        self.delete_item(deletion_of(ShareItem::key(&session.tenant, handle))).await?;
        self.delete_item(deletion_of(list_key)).await?;
        Ok(true)
    }
}

impl AwsStore {
    /// Ends all shares of a session.
    pub(crate) async fn delete_shares(&self, session: &SessionKey) -> Result<(), StoreError> {
        let query = Query::with_prefix(session_partition(session), &format!("{SHARE}#"));
        for item in self.query_items(query).await? {
            self.end_share(session, &ShareItem::from_item(item)?.handle).await?;
        }
        Ok(())
    }

    async fn list_current_shares(
        &self,
        session: &SessionKey,
    ) -> Result<Vec<ShareItem>, StoreError> {
        let query = Query::with_prefix(session_partition(session), &format!("{SHARE}#"));
        let items = self.query_items(query).await?.into_iter().map(ShareItem::from_item);
        let mut items: Vec<_> = items.collect::<Result<_, _>>()?;
        items.retain(|item| self.is_current(item));
        Ok(items)
    }

    /// Returns true if the share has not expired; expired items may stay for some days.
    fn is_current(&self, item: &ShareItem) -> bool {
        item.expires > self.now_ms().div_euclid(1_000)
    }
}

fn deletion_of(key: ItemKey) -> ItemChange<'static> {
    ItemChange { key, expression: "", condition: "", values: Attributes::new() }
}
