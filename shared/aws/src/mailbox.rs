//! The mailbox of a run: each message is an item in the run's partition.

use djinn_runtime::port::mailbox::{Mail, Mailbox, MailboxContents};
use djinn_runtime::port::{RunKey, StoreError};
use futures::{StreamExt, TryStreamExt, stream};

use crate::error::store_error;
use crate::item::mail::{MailItem, mail_from_json, mail_to_json};
use crate::key::{Attributes, MAIL, run_partition};
use crate::live::watched_until_ms;
use crate::object::FETCHED_AT_ONCE;
use crate::query::Query;
use crate::store::AwsStore;
use crate::throttle::{RetrySchedule, retry_throttled};

/// Maximum number of concurrent message deletions.
const DELETED_AT_ONCE: usize = 8;

impl Mailbox for AwsStore {
    async fn put_mail(
        &self,
        key: &RunKey,
        mail: &Mail,
        expires_at_s: i64,
    ) -> Result<(), StoreError> {
        let body = self.store_body(key, mail_to_json(mail)?).await?;
        let item = MailItem::new(body, expires_at_s).to_item(key, &mail.id())?;
        self.put_with_retry(RetrySchedule::MAIL, item).await
    }

    async fn read_mailbox(&self, key: &RunKey) -> Result<MailboxContents, StoreError> {
        let mut items = self.query_items(Query::with_prefix(run_partition(key), MAIL)).await?;
        let note = items.iter().find_map(|item| watched_until_ms(key, item));
        items.retain(|item| watched_until_ms(key, item).is_none());
        let messages = items.into_iter().map(|item| self.read_message(key, item));
        let results = stream::iter(messages).buffered(FETCHED_AT_ONCE);
        let mail = results.try_filter_map(|mail| async move { Ok(mail) }).try_collect().await?;
        Ok(MailboxContents { mail, watched_until_ms: note.unwrap_or_default() })
    }

    async fn delete_mail(&self, key: &RunKey, ids: &[String]) -> Result<(), StoreError> {
        let client = self.dynamodb().await;
        let delete_message = |id: &String| {
            let item = MailItem::key(key, id).into_attributes();
            let request = client.delete_item().table_name(self.table()).set_key(Some(item));
            async move {
                let result = retry_throttled(RetrySchedule::MAIL, || request.clone().send()).await;
                result
                    .map(drop)
                    .map_err(|error| store_error(self.table_request("DeleteItem"), &error))
            }
        };
        stream::iter(ids).map(Ok).try_for_each_concurrent(DELETED_AT_ONCE, delete_message).await
    }
}

impl AwsStore {
    /// Returns a message, or `None` if skipped.
    async fn read_message(
        &self,
        key: &RunKey,
        item: Attributes,
    ) -> Result<Option<Mail>, StoreError> {
        let result = async {
            let Some(body) = MailItem::from_item(item)?.into_body() else {
                // The message stays for newer code, and is read again every second until then.
                tracing::debug!(run_id = %key.run, "mail is newer than this code");
                return Ok(None);
            };
            mail_from_json(&self.read_body(body).await?).map(Some)
        };
        match result.await {
            Err(StoreError::Unreadable(problem)) => {
                tracing::warn!(problem, run_id = %key.run, "a message is left out");
                Ok(None)
            }
            result => result,
        }
    }
}
