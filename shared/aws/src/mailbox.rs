//! Mailboxes.

use djinn_runtime::port::mailbox::{Mail, Mailbox};
use djinn_runtime::port::{RunKey, StoreError};
use futures::{StreamExt, TryStreamExt, stream};

use crate::error::failed;
use crate::item::mail::{MailItem, json_of, mail_of};
use crate::object::FETCHED_AT_ONCE;
use crate::query::Query;
use crate::store::AwsStore;
use crate::table::{Attributes, MAIL, run_partition};
use crate::throttle::{Patience, patiently};

/// Messages that are deleted at once.
const DELETED_AT_ONCE: usize = 8;

impl Mailbox for AwsStore {
    async fn put_mail(
        &self,
        key: &RunKey,
        mail: &Mail,
        expires_at_s: i64,
    ) -> Result<(), StoreError> {
        let body = self.body(key, json_of(mail)?).await?;
        let item = MailItem::new(body, expires_at_s).to_item(key, &mail.id())?;
        self.put_within(Patience::MAIL, item).await
    }

    async fn mail(&self, key: &RunKey) -> Result<Vec<Mail>, StoreError> {
        let items = self.query(Query::family(run_partition(key), MAIL)).await?;
        let messages = items.into_iter().map(|item| self.message(key, item));
        let read = stream::iter(messages).buffered(FETCHED_AT_ONCE);
        read.try_filter_map(|mail| async move { Ok(mail) }).try_collect().await
    }

    async fn delete_mail(&self, key: &RunKey, ids: &[String]) -> Result<(), StoreError> {
        stream::iter(ids)
            .map(Ok)
            .try_for_each_concurrent(DELETED_AT_ONCE, |id| self.delete_message(key, id))
            .await
    }
}

impl AwsStore {
    /// A message, unless it is left out.
    async fn message(&self, key: &RunKey, item: Attributes) -> Result<Option<Mail>, StoreError> {
        let read = async {
            let Some(body) = MailItem::from_item(item)?.into_body() else {
                // It waits for newer code, and is met again every second until then.
                tracing::debug!(run_id = %key.run, "mail is newer than this code");
                return Ok(None);
            };
            mail_of(&self.json(body).await?).map(Some)
        };
        match read.await {
            Err(StoreError::Unreadable(problem)) => {
                tracing::warn!(problem, run_id = %key.run, "a message is left out");
                Ok(None)
            }
            read => read,
        }
    }

    async fn delete_message(&self, key: &RunKey, id: &str) -> Result<(), StoreError> {
        let request = self
            .dynamodb()
            .await
            .delete_item()
            .table_name(self.table())
            .set_key(Some(MailItem::key(key, id).attributes()));
        match patiently(Patience::MAIL, || request.clone().send()).await {
            Ok(_) => Ok(()),
            Err(error) => Err(failed(self.request("DeleteItem"), &error)),
        }
    }
}
