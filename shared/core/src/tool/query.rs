//! Results of queries over tables, as users see them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The first rows of a query's result, with what the query shows about its columns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueryRows {
    /// The question in words.
    pub question: String,
    /// The query.
    pub sql: String,
    /// The columns of each row.
    pub columns: Vec<ResultColumn>,
    /// The simple conditions of the query: objects with `table`, `column`, `operator` and `values`.
    pub filters: Vec<Value>,
    /// The first rows. Large integers, long decimals and times are texts.
    pub rows: Vec<Vec<Value>>,
    /// The number of all rows.
    pub row_count: u64,
    /// True if there are more rows than were counted.
    pub is_cut: bool,
    /// The chart that fits: `kind`, and keys of columns as `x` and `y`.
    pub chart: Value,
    /// Codes of facts about the result.
    pub notes: Vec<String>,
}

/// A column of a result.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ResultColumn {
    /// The name, unique in the result.
    pub key: String,
    /// The name as the query has it.
    pub name: String,
    /// `integer`, `decimal`, `number`, `date`, `timestamp`, `time`, `boolean` or `text`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The aggregate, such as `sum`, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aggregate: Option<String>,
    /// The order of the rows by this column, `asc` or `desc`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<String>,
    /// `dimension` or `measure`, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
}
