//! Tables of databases as a caller has them.

use djinn_agents::{DescribedColumn, TableFile};
use djinn_runtime::port::database::{DatabaseError, DatabaseTable};
use djinn_runtime::port::sandbox::table::{DatabaseSource, FileTable, TableColumn};

use super::ReadTable;
use crate::database_query::is_same;

/// Maximum values of a column of which models see some.
const MAX_DISTINCT: u64 = 50;
/// Maximum values of a column that models see.
const MAX_SAMPLES: usize = 12;

/// Returns the table of a file as callers have it, or the problem.
pub(super) fn read_description(
    file: &TableFile,
    described: Result<DatabaseTable, DatabaseError>,
) -> ReadTable {
    let problem = match described {
        Ok(table) => match describe_visible(file, table) {
            Ok(table) => {
                return ReadTable { table: Some((table, Vec::new())), ..ReadTable::default() };
            }
            Err(detail) => {
                tracing::warn!(table = file.name, detail, "a table does not fit its database");
                "broken_rule"
            }
        },
        Err(DatabaseError::Changed) => "broken_rule",
        Err(DatabaseError::Rejected) => "rejected",
        Err(error) => {
            tracing::warn!(table = file.name, %error, "a table cannot be described");
            "unavailable"
        }
    };
    ReadTable { problem: problem.to_owned(), ..ReadTable::default() }
}

/// Returns the visible columns. A column that the file describes must exist: a hidden one may be misspelt.
fn describe_visible(file: &TableFile, table: DatabaseTable) -> Result<FileTable, String> {
    let described = |name: &str| file.columns.iter().find(|column| is_same(&column.name, name));
    let is_missing =
        |column: &&DescribedColumn| !table.names.iter().any(|name| is_same(name, &column.name));
    if let Some(column) = file.columns.iter().find(is_missing) {
        return Err(format!("there is no column {}", column.name));
    }
    let mut columns = table.columns;
    columns.retain(|column| !described(&column.name).is_some_and(|column| column.is_hidden));
    if columns.is_empty() {
        return Err("no column is visible".to_owned());
    }
    let columns: Vec<TableColumn> = columns
        .into_iter()
        .map(|column| {
            let is_sampled = described(&column.name).is_some_and(|column| column.has_values);
            if file.rows.is_some() {
                leave_out_values(column)
            } else {
                choose_samples(column, is_sampled)
            }
        })
        .collect();
    let is_visible = |name: &String| columns.iter().any(|column| column.name == *name);
    let mut keys = table.keys;
    keys.retain(|key| key.iter().all(is_visible));
    let mut foreign_keys = table.foreign_keys;
    foreign_keys.retain(|key| key.columns.iter().all(|(own, _)| is_visible(own)));
    Ok(FileTable {
        table: file.name.clone(),
        rows: if file.rows.is_some() { 0 } else { table.rows },
        columns,
        database: Some(DatabaseSource { connection: file.source.clone(), keys, foreign_keys }),
        ..FileTable::default()
    })
}

/// Statistics are about the rows of all callers, so a table with a condition shows none of them.
fn leave_out_values(column: TableColumn) -> TableColumn {
    let TableColumn { name, kind, is_key, .. } = column;
    TableColumn { name, kind, is_key, ..TableColumn::default() }
}

fn choose_samples(mut column: TableColumn, is_sampled: bool) -> TableColumn {
    if column.distinct > MAX_DISTINCT && !is_sampled {
        column.samples.clear();
    }
    column.samples.truncate(MAX_SAMPLES);
    column
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use djinn_agents::{TableSources, read_table};
    use djinn_runtime::port::sandbox::table::ForeignKey;
    use serde_json::{Value, json};

    use super::*;

    fn file(keys: &str) -> TableFile {
        let sources =
            TableSources { connections: BTreeSet::from(["shop"]), ..TableSources::default() };
        read_table("a.md", &format!("---\nname: orders\nsource: shop\n{keys}---\n"), &sources)
            .unwrap()
    }

    /// A foreign key of a column.
    fn to_owner(column: &str) -> ForeignKey {
        let columns = vec![(column.to_owned(), "id".to_owned())];
        ForeignKey { schema: "public".to_owned(), table: "owners".to_owned(), columns }
    }

    fn table() -> DatabaseTable {
        let column = |name: &str, distinct| TableColumn {
            name: name.to_owned(),
            kind: "integer".to_owned(),
            distinct,
            min: json!(1),
            samples: (0..20).map(|value| value.to_string()).collect(),
            ..TableColumn::default()
        };
        DatabaseTable {
            rows: 9,
            columns: vec![column("Region", 20), column("amount", 500)],
            names: vec!["Region".to_owned(), "amount".to_owned(), "cost".to_owned()],
            keys: vec![vec!["Region".to_owned()], vec!["cost".to_owned()]],
            foreign_keys: ["Region", "cost"].map(to_owner).to_vec(),
        }
    }

    #[test]
    fn description_has_visible_columns_with_samples_of_few_values() {
        let table = describe_visible(&file("columns: {COST: {hide: true}}\n"), table()).unwrap();
        let samples: Vec<usize> = table.columns.iter().map(|column| column.samples.len()).collect();
        assert_eq!((table.rows, samples), (9, vec![12, 0]));
        let source = table.database.unwrap();
        assert_eq!(source.keys, [["Region"]]);
        assert_eq!(source.foreign_keys, [to_owner("Region")]);
        let sampled = file("columns: {amount: {values: true}, region: {hide: true}}\n");
        let table = describe_visible(&sampled, self::table()).unwrap();
        assert_eq!((table.columns.len(), table.columns[0].samples.len()), (1, 12));
    }

    #[test]
    fn table_with_a_condition_shows_no_values_of_other_callers() {
        let table = describe_visible(&file("rows: owner = {user}\n"), table()).unwrap();
        let is_empty =
            |column: &TableColumn| column.samples.is_empty() && column.min == Value::Null;
        assert!(table.rows == 0 && table.columns.iter().all(is_empty), "{table:?}");
    }

    #[test]
    fn file_that_does_not_fit_is_a_problem() {
        let read = |keys: &str, table| read_description(&file(keys), table).problem;
        assert_eq!(read("columns: {costt: {hide: true}}\n", Ok(table())), "broken_rule");
        assert_eq!(read("", Err(DatabaseError::Changed)), "broken_rule");
        assert_eq!(read("", Err(DatabaseError::Rejected)), "rejected");
        assert_eq!(read("", Err(DatabaseError::Timeout)), "unavailable");
        assert_eq!(read("", Ok(table())), "");
    }
}
