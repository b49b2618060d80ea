//! The reasons of empty results: a condition without which there are rows, and the values that exist.

use std::time::Duration;

use djinn_runtime::port::sandbox::table::{
    CheckedStatement, ConditionProbe, EmptyReason, FetchedResult,
};
use serde_json::Value;

use super::DatabaseQueries;

/// Maximum values that are compared with those of a condition.
const MAX_VALUES: usize = 5_000;
/// Maximum size of these values, in bytes.
const MAX_VALUE_BYTES: usize = 1024 * 1024;
/// Maximum time of a query that explains an empty result, in milliseconds.
const PROBE_TIMEOUT_MS: u32 = 1_500;
/// Maximum time of all these queries of a call.
const PROBES_TIMEOUT: Duration = Duration::from_secs(6);

impl DatabaseQueries<'_> {
    /// Adds their reasons to empty results, which are given by their places, until the time of a call is over.
    pub(super) async fn add_reasons(
        &self,
        fetched: &mut [FetchedResult],
        empty: &[(usize, CheckedStatement)],
    ) {
        let adding = async {
            for (place, statement) in empty {
                let reason = self.find_reason(statement).await;
                if let Some(result) = fetched.get_mut(*place) {
                    result.reason = reason;
                }
            }
        };
        if tokio::time::timeout(PROBES_TIMEOUT, adding).await.is_err() {
            tracing::warn!("the reasons of empty results are not all known in time");
        }
    }

    /// Finds the condition without which an empty query has rows.
    async fn find_reason(&self, statement: &CheckedStatement) -> Option<EmptyReason> {
        for probe in &statement.probes {
            let limits = (1, MAX_VALUE_BYTES, PROBE_TIMEOUT_MS);
            let rows = self.run_text(statement, &probe.text, limits).await;
            if rows.is_ok_and(|rows| !rows.rows.is_empty() || rows.is_cut) {
                return Some(self.read_values(statement, probe).await);
            }
        }
        None
    }

    /// Adds the values that exist to a condition: those of the description, or else of a query with limits.
    async fn read_values(
        &self,
        statement: &CheckedStatement,
        probe: &ConditionProbe,
    ) -> EmptyReason {
        let ConditionProbe { filter, table, column, wanted, values_text, .. } = probe.clone();
        let mut reason = EmptyReason { filter, column, wanted, ..EmptyReason::default() };
        let described = self.tables.iter().find(|known| known.name == table);
        let mut columns = described.iter().flat_map(|table| &table.description.columns);
        if let Some(column) = columns.find(|column| column.name == reason.column) {
            if column.kind != "text" {
                reason.min = column.min.clone();
                reason.max = column.max.clone();
            } else if u64::try_from(column.samples.len())
                .is_ok_and(|count| count >= column.distinct)
            {
                reason.values.clone_from(&column.samples);
            }
        }
        let is_known = !reason.values.is_empty() || !reason.min.is_null();
        if values_text.is_empty() || is_known {
            return reason;
        }
        let limits = (MAX_VALUES, MAX_VALUE_BYTES, PROBE_TIMEOUT_MS);
        let Ok(rows) = self.run_text(statement, &values_text, limits).await else { return reason };
        for row in &rows.rows {
            let fields: Value = serde_json::from_str(row).unwrap_or_default();
            match fields.get(&reason.column) {
                Some(value) => reason.values.extend(value.as_str().map(str::to_owned)),
                None => {
                    reason.min = fields.get("least").cloned().unwrap_or_default();
                    reason.max = fields.get("most").cloned().unwrap_or_default();
                }
            }
        }
        reason
    }
}
