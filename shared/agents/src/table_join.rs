//! The joins that the file of a table describes.

use serde::{Deserialize, Serialize};

use crate::fields::Fields;
use crate::problem::{Fault, quote};

/// Maximum number of joins of a file.
const MAX_JOINS: usize = 50;

const FORM: &str = "`TABLE.COLUMN = TABLE.COLUMN`, with ` AND ` before further columns,";

/// The columns in which rows of a table fit rows of another table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableJoin {
    /// The line of the file; 0 for a foreign key.
    pub line: usize,
    /// The other table.
    pub table: String,
    /// Pairs of equal columns: one of this table, and one of the other.
    pub columns: Vec<(String, String)>,
}

/// Reads the joins of the table `name`, on either side of each sign.
pub(crate) fn read_joins(fields: &Fields, name: &str) -> Result<Vec<TableJoin>, Fault> {
    let texts = fields.read_names("joins")?;
    if texts.len() > MAX_JOINS {
        let rule = format!("`joins` has {} joins: the limit is {MAX_JOINS}", texts.len());
        return Err(Fault::new(fields.line_of("joins"), rule));
    }
    let joins = texts.into_iter().map(|(text, line)| {
        read_join(&text, name, line).ok_or_else(|| {
            let rule = format!(
                "`joins` holds the text {}: {FORM} and `{name}` on one side is expected",
                quote(&text)
            );
            Fault::new(line, rule)
        })
    });
    joins.collect()
}

fn read_join(text: &str, name: &str, line: usize) -> Option<TableJoin> {
    let is_own = |table: &str| table.to_lowercase() == name.to_lowercase();
    let mut join = TableJoin { line, table: String::new(), columns: Vec::new() };
    for part in text.split(" AND ") {
        let (left, right) = part.split_once('=')?;
        let ((own, own_column), (table, column)) = match (read_column(left)?, read_column(right)?) {
            (one, other) if is_own(one.0) => (one, other),
            (other, one) => (one, other),
        };
        if !is_own(own) || !join.columns.is_empty() && table != join.table {
            return None;
        }
        table.clone_into(&mut join.table);
        join.columns.push((own_column.to_owned(), column.to_owned()));
    }
    Some(join)
}

/// Reads the name of a table and that of its column, which may be in double quotes.
fn read_column(text: &str) -> Option<(&str, &str)> {
    let (table, column) = text.trim().split_once('.')?;
    let column = column.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(column);
    (!table.is_empty() && !column.is_empty()).then_some((table, column))
}
