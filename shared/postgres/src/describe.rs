//! Descriptions of tables, from the catalogue and the statistics of `ANALYZE`.

use std::collections::BTreeMap;

use djinn_agents::DatabaseRelation;
use djinn_core::time_zone::TimeZone;
use djinn_runtime::port::database::{DatabaseError, DatabaseTable};
use djinn_runtime::port::sandbox::table::{ForeignKey, TableColumn};
use serde_json::Value;
use tokio_postgres::types::Type;
use tokio_postgres::{Row, Transaction};

use crate::connect::{OpenConnection, end_transaction};
use crate::failure;
use crate::kind::kind_of;
use crate::statement::build_relation;

/// Maximum time of a description, in milliseconds.
const TIMEOUT_MS: u32 = 5_000;

/// Maximum characters of a sample.
const MAX_SAMPLE: usize = 300;

/// Maximum samples of a column.
const MAX_SAMPLES: usize = 50;

/// The columns of a table, with the types of domains.
const COLUMNS: &str = "SELECT c.oid, greatest(c.reltuples, 0)::bigint, a.attname, \
     CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE t.oid END, \
     pg_catalog.has_column_privilege(c.oid, a.attnum, 'SELECT') \
     FROM pg_catalog.pg_class c \
     JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
     JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped \
     JOIN pg_catalog.pg_type t ON t.oid = a.atttypid \
     WHERE n.nspname = $1 AND c.relname = $2 AND c.relkind IN ('r', 'p', 'v', 'm', 'f') \
     ORDER BY a.attnum";

/// The columns of each unique index without a condition.
const KEYS: &str = "SELECT i.indexrelid, a.attname FROM pg_catalog.pg_index i \
     JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid \
     AND a.attnum = ANY ((i.indkey::int2[])[0:i.indnkeyatts - 1]) \
     WHERE i.indrelid = $1 AND i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL \
     ORDER BY 1, a.attnum";

/// The columns of each foreign key, and those of the keys.
const FOREIGN_KEYS: &str = "SELECT k.oid, n.nspname, c.relname, own.attname, theirs.attname \
     FROM pg_catalog.pg_constraint k \
     CROSS JOIN LATERAL unnest(k.conkey, k.confkey) WITH ORDINALITY AS pair(own, theirs, place) \
     JOIN pg_catalog.pg_class c ON c.oid = k.confrelid \
     JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
     JOIN pg_catalog.pg_attribute own ON own.attrelid = k.conrelid AND own.attnum = pair.own \
     JOIN pg_catalog.pg_attribute theirs ON theirs.attrelid = k.confrelid AND theirs.attnum = pair.theirs \
     WHERE k.conrelid = $1 AND k.contype = 'f' ORDER BY 1, pair.place";

/// The statistics of the columns that the user may read.
const STATISTICS: &str = "SELECT attname, null_frac::float8, n_distinct::float8, \
     most_common_vals::text::text[], histogram_bounds::text::text[] \
     FROM pg_catalog.pg_stats WHERE schemaname = $1 AND tablename = $2 ORDER BY inherited";

/// Describes a table.
///
/// # Errors
/// Returns [`DatabaseError::Changed`] if the table does not exist or is not readable.
pub(crate) async fn describe(
    open: &mut OpenConnection,
    relation: &DatabaseRelation,
    time_zone: TimeZone,
) -> Result<DatabaseTable, DatabaseError> {
    let transaction = open.begin(time_zone, TIMEOUT_MS).await?;
    let table = match relation {
        DatabaseRelation::Table { schema, name } => {
            describe_table(&transaction, schema, name).await
        }
        DatabaseRelation::Query(_) => describe_query(&transaction, relation).await,
    };
    let is_clean = end_transaction(transaction).await;
    open.set_clean(is_clean);
    let table = table?;
    if table.columns.is_empty() {
        tracing::warn!("a table of a database does not exist, or cannot be read");
        return Err(DatabaseError::Changed);
    }
    Ok(table)
}

async fn describe_query(
    transaction: &Transaction<'_>,
    relation: &DatabaseRelation,
) -> Result<DatabaseTable, DatabaseError> {
    let text = format!("SELECT * FROM {}", build_relation(relation));
    let length = text.chars().count();
    let prepared = transaction.prepare(&text).await;
    let prepared = prepared.map_err(|error| failure::of_statement(&error, length))?;
    let mut table = DatabaseTable::default();
    for column in prepared.columns() {
        table.names.push(column.name().to_owned());
        table.columns.push(TableColumn {
            name: column.name().to_owned(),
            kind: kind_of(column.type_()).to_owned(),
            ..TableColumn::default()
        });
    }
    Ok(table)
}

async fn describe_table(
    transaction: &Transaction<'_>,
    schema: &str,
    name: &str,
) -> Result<DatabaseTable, DatabaseError> {
    let failed = |error| failure::of_statement(&error, 0);
    let mut table = DatabaseTable::default();
    let columns = transaction.query(COLUMNS, &[&schema, &name]).await.map_err(failed)?;
    let Some(first) = columns.first() else { return Ok(table) };
    let oid: u32 = first.try_get(0).map_err(failed)?;
    let rows: i64 = first.try_get(1).map_err(failed)?;
    table.rows = u64::try_from(rows).unwrap_or(0);
    let mut keys: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for row in transaction.query(KEYS, &[&oid]).await.map_err(failed)? {
        let index: u32 = row.try_get(0).map_err(failed)?;
        keys.entry(index).or_default().push(row.try_get(1).map_err(failed)?);
    }
    table.keys = keys.into_values().collect();
    let mut foreign_keys: BTreeMap<u32, ForeignKey> = BTreeMap::new();
    for row in transaction.query(FOREIGN_KEYS, &[&oid]).await.map_err(failed)? {
        let key: u32 = row.try_get(0).map_err(failed)?;
        let schema = row.try_get(1).map_err(failed)?;
        let table = row.try_get(2).map_err(failed)?;
        let columns = (row.try_get(3).map_err(failed)?, row.try_get(4).map_err(failed)?);
        let empty = ForeignKey { schema, table, columns: Vec::new() };
        foreign_keys.entry(key).or_insert(empty).columns.push(columns);
    }
    table.foreign_keys = foreign_keys.into_values().collect();
    let mut statistics = BTreeMap::new();
    for row in transaction.query(STATISTICS, &[&schema, &name]).await.map_err(failed)? {
        let name: String = row.try_get(0).map_err(failed)?;
        statistics.insert(name, ColumnStatistics::read(&row).map_err(failed)?);
    }
    for row in columns {
        let name: String = row.try_get(2).map_err(failed)?;
        let oid: u32 = row.try_get(3).map_err(failed)?;
        let is_readable: bool = row.try_get(4).map_err(failed)?;
        table.names.push(name.clone());
        if is_readable {
            let kind = Type::from_oid(oid).map_or("text", |column_type| kind_of(&column_type));
            let statistic = statistics.get(&name);
            let column = TableColumn { name, kind: kind.to_owned(), ..TableColumn::default() };
            let is_key = table.keys.iter().any(|key| *key == [column.name.clone()]);
            let column = TableColumn { is_key, ..column };
            table.columns.push(match statistic {
                Some(statistic) => statistic.describe(column, table.rows),
                None => column,
            });
        }
    }
    Ok(table)
}

/// The statistics of a column: shares of all rows, frequent values, and bounds of the others.
#[derive(Debug, Clone, Default, PartialEq)]
struct ColumnStatistics {
    null_share: f64,
    /// A number of values, or a negative share of the rows.
    distinct: f64,
    frequent: Vec<String>,
    bounds: Vec<String>,
}

impl ColumnStatistics {
    fn read(row: &Row) -> Result<Self, tokio_postgres::Error> {
        let texts = |values: Option<Vec<Option<String>>>| -> Vec<String> {
            values.unwrap_or_default().into_iter().flatten().collect()
        };
        Ok(Self {
            null_share: row.try_get(1)?,
            distinct: row.try_get(2)?,
            frequent: texts(row.try_get(3)?),
            bounds: texts(row.try_get(4)?),
        })
    }

    /// Adds the statistics to a column of a table with `rows` rows.
    fn describe(&self, column: TableColumn, rows: u64) -> TableColumn {
        #[allow(clippy::cast_precision_loss, reason = "an estimate")]
        let all = rows as f64;
        let distinct = if self.distinct < 0.0 { -self.distinct * all } else { self.distinct };
        let (min, max) = self.find_limits(&column.kind);
        let samples = self.frequent.iter().take(MAX_SAMPLES);
        let samples = samples.map(|value| value.chars().take(MAX_SAMPLE).collect());
        TableColumn {
            nulls: to_count(self.null_share * all),
            distinct: to_count(distinct),
            min,
            max,
            samples: samples.collect(),
            ..column
        }
    }

    /// Returns the least and the greatest known value of a number or time.
    fn find_limits(&self, kind: &str) -> (Value, Value) {
        let mut values: Vec<&String> = self.frequent.iter().chain(&self.bounds).collect();
        match kind {
            "integer" | "decimal" | "number" => {
                let number = |text: &str| text.parse::<f64>().ok().filter(|n| n.is_finite());
                values.retain(|text| number(text).is_some());
                values.sort_by(|one, other| {
                    number(one).unwrap_or(0.0).total_cmp(&number(other).unwrap_or(0.0))
                });
                let json = |text: &&String| serde_json::from_str(text).unwrap_or(Value::Null);
                (values.first().map_or(Value::Null, json), values.last().map_or(Value::Null, json))
            }
            "date" | "timestamp" => {
                values.sort();
                let json = |text: &&String| Value::from(text.replacen(' ', "T", 1));
                (values.first().map_or(Value::Null, json), values.last().map_or(Value::Null, json))
            }
            _ => (Value::Null, Value::Null),
        }
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an estimate")]
fn to_count(estimate: f64) -> u64 {
    estimate.max(0.0).round() as u64
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn statistics_are_facts_of_a_column() {
        let texts = |values: &[&str]| values.iter().map(|text| (*text).to_owned()).collect();
        let statistics = ColumnStatistics {
            null_share: 0.25,
            distinct: -0.5,
            frequent: texts(&["7", "30"]),
            bounds: texts(&["-4", "9.5", "100"]),
        };
        let column = |kind: &str| TableColumn { kind: kind.to_owned(), ..TableColumn::default() };
        let described = statistics.describe(column("decimal"), 200);
        assert_eq!((described.nulls, described.distinct), (50, 100));
        assert_eq!((described.min, described.max), (json!(-4), json!(100)));
        assert_eq!(described.samples, ["7", "30"]);
        let days = ColumnStatistics {
            frequent: texts(&["2024-02-01 00:00:00"]),
            bounds: texts(&["2024-01-31 10:00:00"]),
            ..ColumnStatistics::default()
        };
        let described = days.describe(column("timestamp"), 2);
        let limits = (json!("2024-01-31T10:00:00"), json!("2024-02-01T00:00:00"));
        assert_eq!((described.min, described.max), limits);
        assert_eq!(days.describe(column("text"), 2).min, Value::Null);
    }
}
