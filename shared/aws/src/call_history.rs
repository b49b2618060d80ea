//! Samples of tool calls, with an item for each tool.

use aws_sdk_dynamodb::types::AttributeValue;
use djinn_runtime::port::StoreError;
use djinn_runtime::port::call_history::CallSample;
use djinn_runtime::port::call_history::{CallHistory, KEPT_SAMPLES, ToolKey};

use crate::change::{ItemChange, number, values};
use crate::item::calls::CallsItem;
use crate::store::{AwsStore, ChangeResult};

/// Retention of samples after the last call, in seconds: older samples predict little.
const RETENTION_S: i64 = 90 * 24 * 60 * 60;

impl CallHistory for AwsStore {
    async fn call_samples(&self, tool: &ToolKey) -> Result<Vec<CallSample>, StoreError> {
        if let Some(samples) = self.sample_cache.get_fresh(tool) {
            return Ok(samples);
        }
        let item =
            self.get_item(CallsItem::key(tool)).await?.map(CallsItem::from_item).transpose()?;
        let samples = item.unwrap_or_default().samples;
        self.sample_cache.insert_samples(tool, &samples);
        Ok(samples)
    }

    async fn add_call_samples(
        &self,
        tool: &ToolKey,
        samples: &[CallSample],
    ) -> Result<(), StoreError> {
        let none = AttributeValue::L(Vec::new());
        let expression = "list_append(if_not_exists(#samples, :none), :samples)";
        let append_values = [(":none", none), (":samples", sample_list(samples))];
        let stored_samples = self.change_calls(tool, expression, append_values).await?;
        let old = stored_samples.len().saturating_sub(KEPT_SAMPLES);
        if stored_samples.len() > 2 * KEPT_SAMPLES - KEPT_SAMPLES / 2 {
            // Samples added concurrently are lost; with many samples this does no harm.
            let newest = sample_list(stored_samples.get(old..).unwrap_or_default());
            self.change_calls(tool, ":samples", [(":samples", newest)]).await?;
        }
        Ok(())
    }
}

impl AwsStore {
    /// Updates a tool's samples exactly once: a repeat after a lost response is recognized by the update's
    /// number.
    async fn change_calls<const N: usize>(
        &self,
        tool: &ToolKey,
        samples: &str,
        changed: [(&str, AttributeValue); N],
    ) -> Result<Vec<CallSample>, StoreError> {
        let mut values = values(changed);
        let expires = self.now_ms().div_euclid(1_000) + RETENTION_S;
        values.insert(":expires".to_owned(), number(&expires));
        values.insert(":update".to_owned(), number(&fastrand::u64(..)));
        let expression =
            &format!("SET #samples = {samples}, #expires = :expires, #update = :update");
        let condition = "attribute_not_exists(#update) OR #update <> :update";
        let change = ItemChange { key: CallsItem::key(tool), expression, condition, values };
        let (ChangeResult::Done(item) | ChangeResult::Refused(item)) =
            self.update_item(change).await?;
        let samples = CallsItem::from_item(item)?.samples;
        self.sample_cache.insert_samples(tool, &samples);
        Ok(samples)
    }
}

fn sample_list(samples: &[CallSample]) -> AttributeValue {
    let sample = |CallSample { ms, tokens }: &CallSample| {
        AttributeValue::M(
            [("ms".to_owned(), number(ms)), ("tokens".to_owned(), number(tokens))].into(),
        )
    };
    AttributeValue::L(samples.iter().map(sample).collect())
}
