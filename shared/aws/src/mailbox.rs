//! Mailboxes.

use djinn_runtime::port::mailbox::{Mail, Mailbox};
use djinn_runtime::port::{RunKey, StoreError};
use futures::{StreamExt, TryStreamExt, stream};

use crate::error::unavailable;
use crate::item::mail::MailItem;
use crate::query::Query;
use crate::store::AwsStore;
use crate::table::{MAIL, run_partition};
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
        let item = MailItem::new(mail, expires_at_s)?.to_item(key, &mail.id())?;
        self.put_within(Patience::MAIL, item).await
    }

    async fn mail(&self, key: &RunKey) -> Result<Vec<Mail>, StoreError> {
        let mut messages = Vec::new();
        for item in self.query(Query::family(run_partition(key), MAIL)).await? {
            match MailItem::from_item(item)?.mail()? {
                Some(mail) => messages.push(mail),
                // It waits for newer code, and is met again every second until then.
                None => tracing::debug!(run_id = %key.run, "mail is newer than this code"),
            }
        }
        Ok(messages)
    }

    async fn delete_mail(&self, key: &RunKey, ids: &[String]) -> Result<(), StoreError> {
        stream::iter(ids)
            .map(Ok)
            .try_for_each_concurrent(DELETED_AT_ONCE, |id| self.delete_message(key, id))
            .await
    }
}

impl AwsStore {
    async fn delete_message(&self, key: &RunKey, id: &str) -> Result<(), StoreError> {
        let request = self
            .dynamodb()
            .await
            .delete_item()
            .table_name(self.table())
            .set_key(Some(MailItem::key(key, id).attributes()));
        match patiently(Patience::MAIL, || request.clone().send()).await {
            Ok(_) => Ok(()),
            Err(error) => Err(unavailable(self.request("DeleteItem"), &error)),
        }
    }
}
