//! A user's runs.

use djinn_core::id::{RequestId, RunId, SessionId, TenantId, UserId};
use djinn_core::status::RunStatus;
use djinn_runtime::port::StoreError;

use crate::item::user_run::UserRunItem;
use crate::query::Query;
use crate::store::AwsStore;
use crate::table::{RUN, user_partition};

/// How many of a user's newest runs a list is made from.
const LISTED: usize = 1_000;

/// A run in its user's list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSummary {
    /// The run.
    pub run: RunId,
    /// Its session.
    pub session: SessionId,
    /// The client's label for it.
    pub request: RequestId,
    /// The beginning of its question, on one line.
    pub title: String,
    /// Its status as of its start until it has ended: `running` or `queued` says that it has not.
    pub status: RunStatus,
    /// When it was asked, Unix milliseconds.
    pub started_at_ms: i64,
    /// When it ended, Unix milliseconds.
    pub ended_at_ms: Option<i64>,
}

impl AwsStore {
    /// A user's runs of these statuses, newest first: at most `limit`, among the user's newest
    /// 1 000. May miss what was written within the last second.
    ///
    /// # Errors
    /// `Unavailable`, or `Unreadable` for a stored item that is no run.
    pub async fn runs(
        &self,
        tenant: &TenantId,
        user: &UserId,
        statuses: &[RunStatus],
        limit: usize,
    ) -> Result<Vec<RunSummary>, StoreError> {
        let query = Query::family(user_partition(tenant, user), RUN).newest(LISTED).eventually();
        let mut runs = Vec::new();
        for item in self.query(query).await? {
            let item = UserRunItem::from_item(item)?;
            if statuses.contains(&item.status) && runs.len() < limit {
                runs.push(summary(item));
            }
        }
        Ok(runs)
    }
}

fn summary(item: UserRunItem) -> RunSummary {
    let UserRunItem { run, session, request, title, status, started_at_ms, ended_at_ms, .. } = item;
    RunSummary { run, session, request, title, status, started_at_ms, ended_at_ms }
}
