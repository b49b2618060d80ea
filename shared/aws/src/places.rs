//! Places of which there are so many: taken under a condition, and given back.

use aws_sdk_dynamodb::types::AttributeValue;
use djinn_runtime::port::StoreError;

use crate::change::{Change, number, text, values};
use crate::item::places::PlacesItem;
use crate::store::{AwsStore, Changed};
use crate::table::Key;

impl AwsStore {
    /// Takes a place among those of an item, of which there are `most`, unless all are taken. Those that are
    /// over are free. One that is taken already is taken, so that this may be made again. The item expires
    /// then, Unix seconds, if nothing changes it.
    pub(crate) async fn take_place(
        &self,
        item: &Key,
        place: &str,
        most: u32,
        expires_s: i64,
    ) -> Result<bool, StoreError> {
        let take = || Change {
            key: item.clone(),
            expression: "SET #expires = :expires ADD #places :places",
            condition: "attribute_not_exists(#places) OR size(#places) < :most \
                OR contains(#places, :place)",
            values: values([
                (":places", AttributeValue::Ss(vec![place.to_owned()])),
                (":place", text(place)),
                (":most", number(&most)),
                (":expires", number(&expires_s)),
            ]),
        };
        let stored = match self.change(take()).await? {
            Changed::Done(_) => return Ok(true),
            Changed::Refused(stored) => stored,
        };
        let over = PlacesItem::from_item(&stored)?.over(self.now_ms().div_euclid(1_000));
        if over.is_empty() {
            return Ok(false);
        }
        self.free_places(item, over).await?;
        Ok(matches!(self.change(take()).await?, Changed::Done(_)))
    }

    /// Gives places back; those that are free already are no error.
    pub(crate) async fn free_places(
        &self,
        item: &Key,
        places: Vec<String>,
    ) -> Result<(), StoreError> {
        let free = Change {
            key: item.clone(),
            expression: "DELETE #places :places",
            condition: "attribute_exists(#places)",
            values: values([(":places", AttributeValue::Ss(places))]),
        };
        self.change(free).await.map(|_| ())
    }
}
