//! Tables of files, and queries over them.

use djinn_core::id::FileName;
use djinn_core::tool::query::ResultColumn;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The tables of a file.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct TablesValue {
    /// The tables: of a workbook, one for each sheet with data.
    pub tables: Vec<FileTable>,
    /// Facts about the file that a reader must know.
    pub notes: Vec<TableNote>,
    /// The reason for missing tables: `too_large`, `too_many_columns`, `too_slow`, `encrypted`, `broken`,
    /// `no_document`, `no_table`, `no_text` or `broken_rule`; empty if there are tables.
    pub problem: String,
    /// The problem with a rule, for operators.
    pub detail: String,
}

/// The rule of a table of the deployment: the view over its file, and what a caller has of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableRule {
    /// The name of the table in SQL.
    pub table: String,
    /// The name of the file with the data, from which `sql` has the names of its tables.
    pub source: String,
    /// The sheet of a workbook.
    pub sheet: Option<String>,
    /// The query of a view.
    pub sql: Option<String>,
    /// The condition for the caller's rows, with `{user}` and `{tenant}`.
    pub rows: Option<String>,
    /// The caller.
    pub user: String,
    /// The caller's tenant.
    pub tenant: String,
    /// The columns that no caller has.
    pub hidden: Vec<String>,
    /// The columns with samples even of many values.
    pub sampled: Vec<String>,
    /// All columns that must exist.
    pub known: Vec<String>,
}

/// A table of a file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FileTable {
    /// The name of the table in SQL, unique in its file.
    pub table: String,
    /// The name of the sheet, in workbooks.
    pub sheet: Option<String>,
    /// The name of the product with the data.
    pub parquet: String,
    /// The number of rows; of a table of a database an estimate, or 0 if unknown.
    pub rows: u64,
    /// The columns, in the order of the file.
    pub columns: Vec<TableColumn>,
    /// Everything that was left out or changed.
    pub notes: Vec<TableNote>,
    /// The database with the rows; `None` for a table with data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database: Option<DatabaseSource>,
}

/// The database with the rows of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatabaseSource {
    /// The name of the connection.
    pub connection: String,
    /// The columns of each key: no two rows have the same values in them.
    pub keys: Vec<Vec<String>>,
    /// The keys of other tables in the columns of this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub foreign_keys: Vec<ForeignKey>,
}

/// The key of a table of the database in the columns of another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForeignKey {
    /// The schema of the table with the key.
    pub schema: String,
    /// The name of that table.
    pub table: String,
    /// Pairs of equal columns: one of the table with the foreign key, and one of the key.
    pub columns: Vec<(String, String)>,
}

/// A column of a table.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TableColumn {
    /// The name, unique in the table in any case of letters.
    pub name: String,
    /// `integer`, `decimal`, `number`, `date`, `timestamp`, `time`, `boolean` or `text`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The number of missing values.
    pub nulls: u64,
    /// The number of distinct values.
    pub distinct: u64,
    /// True if each row has another value.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_key: bool,
    /// The least value of a number or time.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub min: Value,
    /// The greatest value of a number or time.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub max: Value,
    /// The most frequent values of a column with few values, at most 12.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<String>,
    /// The ways in which the texts were read, such as `percent`, `day_first` or `epoch_seconds`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub readings: Vec<String>,
    /// The reason for text, such as `leading_zeros` or `day_or_month_first`; may be empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// A fact about a file that was read as tables.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TableNote {
    /// The kind of the fact, such as `title_rows`, `hidden_sheet` or `not_converted`.
    pub code: String,
    /// The number of rows, columns or values.
    pub count: u64,
    /// At most five examples.
    pub examples: Vec<String>,
    /// The column.
    pub column: String,
    /// The name of a sheet or of an encoding, or the reason for text.
    pub name: String,
}

/// A table that queries may read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QueryTable {
    /// The name in SQL.
    pub name: String,
    /// The name of the Parquet file among the job's files; `None` for a table of a database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parquet: Option<FileName>,
    /// The database with the rows: a query over it is checked, not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database: Option<DatabaseSource>,
    /// The columns.
    pub columns: Vec<QueryColumn>,
}

/// A column that queries may read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QueryColumn {
    /// The name.
    pub name: String,
    /// The type, as [`TableColumn::kind`].
    #[serde(rename = "type")]
    pub kind: String,
}

/// A query with the question that it answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QueryText {
    /// The question in words.
    pub question: String,
    /// The query.
    pub sql: String,
}

/// The results of queries.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct QueryValue {
    /// A result for each query, in the same order.
    pub results: Vec<SqlResult>,
}

/// The result of a query: an error, or rows with their columns.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct SqlResult {
    /// The question in words.
    pub question: String,
    /// The query.
    pub sql: String,
    /// The error of a query without rows.
    pub error: Option<QueryError>,
    /// The columns, with the facts that the query shows.
    pub columns: Vec<SqlColumn>,
    /// The simple conditions of the query, as objects with `table`, `column`, `operator` and `values`.
    pub filters: Vec<Value>,
    /// The first rows as JSON, an array of arrays.
    pub rows: String,
    /// The number of all rows.
    pub row_count: u64,
    /// True if there are more rows than were counted.
    pub is_cut: bool,
    /// The chart that fits the result: `kind`, and the keys of columns as `x` and `y`.
    pub chart: Value,
    /// Facts about the result.
    pub notes: Vec<QueryNote>,
    /// The name of the product with all rows.
    pub file: String,
    /// The statement for a database, in place of rows.
    pub statement: Option<CheckedStatement>,
}

/// A column of a result, and the column of a table that it is traced to.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct SqlColumn {
    /// The column as users see it.
    #[serde(flatten)]
    pub shown: ResultColumn,
    /// The table; empty if unknown.
    pub table: String,
    /// The column of the table; empty if unknown.
    pub column: String,
}

/// A query that passed the check for a database, and its facts.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct CheckedStatement {
    /// The name of the connection.
    pub connection: String,
    /// The query, written again from its checked tree.
    pub text: String,
    /// The names of the tables that the query reads.
    pub tables: Vec<String>,
    /// An object of facts for each result column; empty if unknown.
    pub facts: Vec<Value>,
    /// True if the query has conditions.
    pub has_condition: bool,
    /// The first conditions, for a query that has no rows.
    pub probes: Vec<ConditionProbe>,
}

/// A condition of a query for a database. Its texts passed the check too.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ConditionProbe {
    /// The condition.
    pub filter: String,
    /// The query without the condition.
    pub text: String,
    /// The table of the column; empty unless the condition is simple.
    pub table: String,
    /// The column of a simple condition.
    pub column: String,
    /// The values of a simple condition.
    pub wanted: Vec<String>,
    /// A query for the column's values, or for its `least` and `most`; may be empty.
    pub values_text: String,
}

/// The condition without which a query has rows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EmptyReason {
    /// The condition.
    pub filter: String,
    /// The column of a simple condition.
    pub column: String,
    /// The values of a simple condition.
    pub wanted: Vec<String>,
    /// Values of the column that exist.
    pub values: Vec<String>,
    /// The least value of the column.
    pub min: Value,
    /// The greatest value of the column.
    pub max: Value,
}

/// The rows of a database that become a result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FetchedResult {
    /// The number of the result in its call, from 1.
    pub number: usize,
    /// The question in words.
    pub question: String,
    /// The query as the model wrote it.
    pub sql: String,
    /// As [`SqlResult::filters`].
    pub filters: Vec<Value>,
    /// As [`SqlResult::notes`].
    pub notes: Vec<QueryNote>,
    /// As [`CheckedStatement::facts`].
    pub facts: Vec<Value>,
    /// As [`CheckedStatement::has_condition`].
    pub has_condition: bool,
    /// The reason for no rows, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<EmptyReason>,
    /// True if there are more rows.
    pub is_cut: bool,
    /// The columns.
    pub columns: Vec<QueryColumn>,
    /// The name of the job's file with a JSON object in a line for each row.
    pub file: FileName,
}

/// The error of a query.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct QueryError {
    /// The kind of error, such as `unknown_column`, `doubled_total` or `timeout`.
    pub code: String,
    /// The wrong name.
    pub name: String,
    /// Names that exist; of a doubled total, the table, the joined table and the columns of the join.
    pub near: Vec<String>,
    /// The engine's own sentence.
    pub detail: String,
    /// The line of the query, from 1.
    pub line: Option<u64>,
    /// The character of the line, from 1.
    pub column: Option<u64>,
}

/// A fact about the result of a query.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct QueryNote {
    /// `no_rows`, `doubled_total` or `facts_unknown`.
    pub code: String,
    /// The condition without which the query has rows.
    pub filter: String,
    /// The column of the condition.
    pub column: String,
    /// Values of the column that are most like the condition's.
    pub near: Vec<String>,
    /// The least value of the column.
    pub min: Value,
    /// The greatest value of the column.
    pub max: Value,
    /// The total that counts rows several times.
    pub total: String,
    /// The table of the total.
    pub table: String,
    /// The table whose rows repeat those of the total.
    pub joined: String,
    /// The columns of the join.
    pub keys: Vec<String>,
}
