//! The shares of sessions in memory, by tenant and handle.

use std::collections::BTreeSet;

use djinn_core::id::{ShareHandle, TenantId};
use djinn_runtime::port::share::{Audience, MAX_SHARES, SessionShare, ShareResult, Shares};
use djinn_runtime::port::{SessionKey, StoreError, UserKey};

use super::{MemoryStore, OpKind, State};

impl Shares for MemoryStore {
    async fn add_share(&self, share: &SessionShare) -> Result<ShareResult, StoreError> {
        self.perform(OpKind::AddShare, None, None, |state| Ok(state.add_share(share))).await
    }

    async fn find_share(
        &self,
        tenant: &TenantId,
        handle: &ShareHandle,
    ) -> Result<Option<SessionShare>, StoreError> {
        let key = (tenant.clone(), handle.clone());
        self.perform(OpKind::FindShare, None, None, |state| Ok(state.shares.get(&key).cloned()))
            .await
    }

    async fn list_shares(&self, session: &SessionKey) -> Result<Vec<SessionShare>, StoreError> {
        self.perform(OpKind::ListShares, None, None, |state| {
            let shares = state.shares.values().filter(|share| share.session == *session);
            Ok(shares.cloned().collect())
        })
        .await
    }

    async fn list_shares_with(
        &self,
        user: &UserKey,
        limit: usize,
    ) -> Result<Vec<SessionShare>, StoreError> {
        self.perform(OpKind::ListSharesWith, None, None, |state| {
            let audience = Audience::User(user.user.clone());
            let shares = state.shares.values();
            let mut shares: Vec<_> =
                shares.filter(|share| share.is_for(user) && share.audience == audience).collect();
            shares.sort_by_key(|share| std::cmp::Reverse((share.created_at_ms, &share.handle)));
            let mut sessions = BTreeSet::new();
            shares.retain(|share| {
                let SessionKey { owner, session, .. } = &share.session;
                sessions.insert((owner, session))
            });
            Ok(shares.into_iter().take(limit).cloned().collect())
        })
        .await
    }

    async fn end_share(
        &self,
        session: &SessionKey,
        handle: &ShareHandle,
    ) -> Result<bool, StoreError> {
        self.perform(OpKind::EndShare, None, None, |state| {
            let key = (session.tenant.clone(), handle.clone());
            let is_its = state.shares.get(&key).is_some_and(|share| share.session == *session);
            if is_its {
                state.shares.remove(&key);
            }
            Ok(is_its)
        })
        .await
    }
}

impl State {
    fn add_share(&mut self, share: &SessionShare) -> ShareResult {
        let entry = self.listed_session(&share.session);
        if entry.is_none_or(|entry| entry.started_at_ms != share.session_started_at_ms) {
            return ShareResult::UnknownSession;
        }
        let others = self.shares.values().filter(|other| other.session == share.session);
        if others.count() >= MAX_SHARES {
            return ShareResult::TooMany;
        }
        let key = (share.session.tenant.clone(), share.handle.clone());
        self.shares.insert(key, share.clone());
        ShareResult::Added
    }
}
