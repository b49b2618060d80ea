//! Joins between the tables of a run.

use std::borrow::Cow;

use djinn_agents::{DatabaseRelation, TableJoin};
use djinn_runtime::port::sandbox::table::ForeignKey;

use crate::database_query::is_same;
use crate::table_catalog::CatalogTable;
use crate::table_state::StoredTable;

/// A join of two tables of a run, by their places and those of their columns.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FoundJoin {
    pub(crate) table: usize,
    pub(crate) other: usize,
    /// Pairs of equal columns: one of the table, and one of the other.
    pub(crate) columns: Vec<(usize, usize)>,
}

/// Returns the foreign keys of `table` as joins with `tables`, which have the same caller.
pub(crate) fn to_joins(
    table: &CatalogTable,
    foreign_keys: &[ForeignKey],
    tables: &[CatalogTable],
) -> Vec<TableJoin> {
    let mut joins = Vec::new();
    for ForeignKey { schema, table: name, columns } in foreign_keys {
        let relation = DatabaseRelation::Table { schema: schema.clone(), name: name.clone() };
        let is_meant = |other: &&CatalogTable| {
            other.file.source == table.file.source
                && other.file.relation.as_ref() == Some(&relation)
        };
        joins.extend(tables.iter().filter(is_meant).map(|other| TableJoin {
            line: 0,
            table: other.file.name.clone(),
            columns: columns.clone(),
        }));
    }
    joins
}

/// Returns the joins whose tables and columns the caller has. Others are left out: those of files with a warning.
pub(crate) fn find_joins(tables: &[&StoredTable]) -> Vec<FoundJoin> {
    let mut found = Vec::new();
    for (place, stored) in tables.iter().enumerate() {
        let joins = stored.words.iter().flat_map(|words| &words.joins);
        for TableJoin { line, table, columns } in joins {
            // A tenant may have one of the two tables, and a user's file the name of the other.
            let is_meant =
                |other: &&StoredTable| other.words.is_some() && is_same(&other.name, table);
            let other = tables.iter().position(is_meant);
            let Some((other, stored_other)) = other.and_then(|at| Some((at, *tables.get(at)?)))
            else {
                continue;
            };
            let pairs = columns.iter().map(|(own, theirs)| {
                Some((find_column(stored, own)?, find_column(stored_other, theirs)?))
            });
            match pairs.collect() {
                Some(columns) => {
                    let join = FoundJoin { table: place, other, columns };
                    if !found.contains(&join) {
                        found.push(join);
                    }
                }
                None if *line > 0 => {
                    let (table, other) = (&stored.name, &stored_other.name);
                    tracing::warn!(
                        table,
                        line,
                        other,
                        "`joins` names a column that does not exist"
                    );
                }
                None => {}
            }
        }
    }
    found
}

fn find_column(stored: &StoredTable, name: &str) -> Option<usize> {
    stored.table.columns.iter().position(|column| is_same(&column.name, name))
}

/// Returns the condition of a join for models, such as `orders.customer = customers.id`.
pub(crate) fn write_join(join: &FoundJoin, tables: &[&StoredTable]) -> String {
    let name = |table: usize, column: usize| {
        let stored = tables.get(table)?;
        let column = &stored.table.columns.get(column)?.name;
        Some(format!("{}.{}", quote_name(&stored.name), quote_name(column)))
    };
    let conditions = join.columns.iter().filter_map(|(own, theirs)| {
        Some(format!("{} = {}", name(join.table, *own)?, name(join.other, *theirs)?))
    });
    conditions.collect::<Vec<_>>().join(" AND ")
}

/// Returns a name in SQL, in double quotes unless it has only letters, digits and underscores.
fn quote_name(name: &str) -> Cow<'_, str> {
    let is_plain = !name.starts_with(char::is_numeric)
        && name.chars().all(|sign| sign.is_alphanumeric() || sign == '_');
    if is_plain { name.into() } else { format!("\"{}\"", name.replace('"', "\"\"")).into() }
}
