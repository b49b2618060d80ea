//! Permits of a limited number, taken by a conditional update and released.

use aws_sdk_dynamodb::types::AttributeValue;
use djinn_runtime::port::StoreError;

use crate::change::{ItemChange, number, text, values};
use crate::item::permits::PermitsItem;
use crate::key::ItemKey;
use crate::store::{AwsStore, ChangeResult};

impl AwsStore {
    /// Takes a permit from an item of at most `most` permits. Returns false if all are taken. Expired permits
    /// count as free, and a repeated call succeeds. The item's expiry is set, in Unix seconds.
    pub(crate) async fn acquire_permit(
        &self,
        item: &ItemKey,
        permit: &str,
        most: u32,
        expires_s: i64,
    ) -> Result<bool, StoreError> {
        let take = || ItemChange {
            key: item.clone(),
            expression: "SET #expires = :expires ADD #permits :permits",
            condition: "attribute_not_exists(#permits) OR size(#permits) < :most \
                OR contains(#permits, :permit)",
            values: values([
                (":permits", AttributeValue::Ss(vec![permit.to_owned()])),
                (":permit", text(permit)),
                (":most", number(&most)),
                (":expires", number(&expires_s)),
            ]),
        };
        let permits_item = match self.update_item(take()).await? {
            ChangeResult::Done(_) => return Ok(true),
            ChangeResult::Refused(permits_item) => permits_item,
        };
        let over =
            PermitsItem::from_item(&permits_item)?.expired_permits(self.now_ms().div_euclid(1_000));
        if over.is_empty() {
            return Ok(false);
        }
        self.release_permits(item, over).await?;
        Ok(matches!(self.update_item(take()).await?, ChangeResult::Done(_)))
    }

    /// Releases permits; a free permit is not an error.
    pub(crate) async fn release_permits(
        &self,
        item: &ItemKey,
        permits: Vec<String>,
    ) -> Result<(), StoreError> {
        let free = ItemChange {
            key: item.clone(),
            expression: "DELETE #permits :permits",
            condition: "attribute_exists(#permits)",
            values: values([(":permits", AttributeValue::Ss(permits))]),
        };
        self.update_item(free).await.map(|_| ())
    }
}
