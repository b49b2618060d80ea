//! The public form of results of queries over tables.

use djinn_core::tool::query::{QueryRows, ResultColumn};
use serde::Serialize;
use serde_json::Value;

/// The result of a query: its first rows, with what the query shows about the columns.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublicQueryRows<'a> {
    /// The question in words.
    pub question: &'a str,
    /// The SQL of the query.
    pub sql: &'a str,
    /// The columns, in the order of the values of each row.
    pub columns: Vec<PublicColumn<'a>>,
    /// The simple conditions of the query: objects with `table`, `column`, `operator` and `values`.
    pub filters: &'a [Value],
    /// At most 1 000 rows and 200 KB for all queries of a call. Integers above 2^53, decimals of more than 15
    /// digits, times, lists and bytes are texts.
    pub rows: &'a [Vec<Value>],
    /// The number of all rows, at most 100 000.
    pub row_count: u64,
    /// True if the query has more rows.
    pub is_cut: bool,
    /// The chart that fits the result: `kind` is `line`, `bar`, `pie` or `table`; `x` and `y` are keys.
    pub chart: &'a Value,
    /// Codes: `no_rows`, `doubled_total`, `facts_unknown`.
    pub notes: &'a [String],
}

/// A column of a result.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublicColumn<'a> {
    /// The name, unique in the result.
    pub key: &'a str,
    /// The name in the query.
    pub name: &'a str,
    /// `integer`, `decimal`, `number`, `date`, `timestamp`, `time`, `boolean` or `text`.
    #[serde(rename = "type")]
    pub kind: &'a str,
    /// The aggregate, such as `sum`; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aggregate: Option<&'a str>,
    /// The order of the rows by this column, `asc` or `desc`; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<&'a str>,
    /// `dimension` or `measure`; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<&'a str>,
}

impl<'a> PublicQueryRows<'a> {
    pub(super) fn new(result: &'a QueryRows) -> Self {
        Self {
            question: &result.question,
            sql: &result.sql,
            columns: result.columns.iter().map(PublicColumn::new).collect(),
            filters: &result.filters,
            rows: &result.rows,
            row_count: result.row_count,
            is_cut: result.is_cut,
            chart: &result.chart,
            notes: &result.notes,
        }
    }
}

impl<'a> PublicColumn<'a> {
    fn new(column: &'a ResultColumn) -> Self {
        Self {
            key: &column.key,
            name: &column.name,
            kind: &column.kind,
            aggregate: column.aggregate.as_deref(),
            order: column.order.as_deref(),
            role: column.role.as_deref(),
        }
    }
}
