//! Journals and related items.

mod create;
mod end;
mod record;
mod session;

pub(crate) use create::run_spec;

use djinn_core::id::{RequestId, RunId, SessionId, SessionName};
use djinn_core::journal::{Record, RecordText};
use djinn_runtime::port::journal::{
    AppendResult, CreateResult, Journals, NewRun, RunEnd, RunMeta, SessionView,
};
use djinn_runtime::port::page::{Page, PageSize};
use djinn_runtime::port::{RunKey, SessionKey, StoreError, UserKey};

use crate::item::request::RequestItem;
use crate::item::run::RunItem;
use crate::item::session::SessionItem;
use crate::store::AwsStore;

impl Journals for AwsStore {
    async fn create(&self, key: &RunKey, run: &NewRun) -> Result<CreateResult, StoreError> {
        self.create_run(key, run).await
    }

    async fn append(
        &self,
        key: &RunKey,
        record: &Record,
        expires_at_s: i64,
    ) -> Result<AppendResult, StoreError> {
        self.append_record(key, record, expires_at_s).await
    }

    async fn append_end(
        &self,
        key: &RunKey,
        record: &Record,
        end: &RunEnd,
        expires_at_s: i64,
    ) -> Result<AppendResult, StoreError> {
        self.end_run(key, record, end, expires_at_s).await
    }

    async fn abandon_run(&self, key: &RunKey, at_ms: i64) -> Result<(), StoreError> {
        self.end_abandoned_run(key, at_ms).await
    }

    async fn mark_end_shown(&self, key: &RunKey) -> Result<(), StoreError> {
        self.mark_run_end_shown(key).await
    }

    async fn read_from(&self, key: &RunKey, from: u64) -> Result<Vec<Record>, StoreError> {
        self.read_records(key, from).await
    }

    async fn read_page(&self, key: &RunKey, from: u64, size: PageSize) -> Result<Page, StoreError> {
        self.read_record_page(key, from, size).await
    }

    async fn read_texts(
        &self,
        key: &RunKey,
        from: u64,
        size: PageSize,
    ) -> Result<Page<RecordText>, StoreError> {
        self.read_text_page(key, from, size).await
    }

    async fn read_newest(&self, key: &RunKey, records: usize) -> Result<Vec<Record>, StoreError> {
        self.read_newest_records(key, records).await
    }

    async fn find_meta(&self, key: &RunKey) -> Result<Option<RunMeta>, StoreError> {
        let item = self.get_item(RunItem::key(key)).await?;
        item.map(|item| RunItem::from_item(item).map(RunItem::into_meta)).transpose()
    }

    async fn load_session(&self, key: &SessionKey) -> Result<SessionView, StoreError> {
        self.session_view(key).await
    }

    async fn find_active_run(&self, key: &SessionKey) -> Result<Option<RunId>, StoreError> {
        let item = self.get_item(SessionItem::key(key)).await?;
        Ok(item.map(SessionItem::from_item).transpose()?.and_then(|item| item.active))
    }

    async fn find_session_name(
        &self,
        user: &UserKey,
        label: &str,
    ) -> Result<Option<SessionName>, StoreError> {
        let (Ok(session), Ok(request)) = (SessionId::new(label), RequestId::new(label)) else {
            return Ok(None);
        };
        let key = user.session_key(&session);
        let itself = self.get_item(SessionItem::key(&key));
        let of_request = self.get_item(RequestItem::key(user, &request));
        match tokio::try_join!(itself, of_request)? {
            (Some(_), _) => Ok(Some(session.into())),
            (None, Some(item)) => RequestItem::from_item(item).map(|item| Some(item.session)),
            (None, None) => Ok(None),
        }
    }
}
