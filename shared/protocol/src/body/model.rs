//! The responses for the tables of JoyAgent's data page.

use serde::Serialize;
use serde_json::{Map, Value};

/// The tables for data questions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModelListBody {
    /// Always 200, for JoyAgent's page.
    pub code: u16,
    /// The caller's tables.
    pub data: Vec<DataModelBody>,
}

/// A table, which JoyAgent calls a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DataModelBody {
    /// The name in SQL.
    pub model_code: String,
    /// The name for users.
    pub model_name: String,
    /// The business rules.
    pub use_prompt: String,
    /// The business rules once more.
    pub business_prompt: String,
    /// `TABLE`, or `SQL` for a view.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The name of the table, or the query of a view.
    pub content: String,
    /// The columns.
    pub schema_list: Vec<DataColumnBody>,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DataColumnBody {
    /// The table.
    pub model_code: String,
    /// The name in the data, and the key of its cells in previews.
    pub column_id: String,
    /// The name for users.
    pub column_name: String,
    /// The meaning.
    pub column_comment: String,
    /// Frequent values.
    pub few_shot: String,
    /// `NUMBER`, `DECIMAL`, `DATE` or `VARCHAR`.
    pub data_type: &'static str,
    /// Other names.
    pub synonyms: String,
}

/// The first rows of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DataPreviewBody {
    /// 200, or 503 without rows: JoyAgent's page then shows `msg`.
    pub code: u16,
    /// The reason for missing rows, or empty.
    pub msg: String,
    /// The rows.
    pub data: DataPreviewRows,
}

/// The rows of a preview.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DataPreviewRows {
    /// The query.
    pub query_sql: String,
    /// The number of rows.
    pub data_size: usize,
    /// The names of the columns.
    pub column_list: Vec<String>,
    /// The names of the columns once more.
    pub column_en_list: Vec<String>,
    /// The rows, each an object by the names of the columns.
    pub data_list: Vec<Map<String, Value>>,
    /// False if the rows cannot be read now.
    pub success: bool,
    /// The same as `msg`.
    pub error_message: String,
}
