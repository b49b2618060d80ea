//! The joins that the file of a table describes.

use serde::{Deserialize, Serialize};

use crate::fields::Fields;
use crate::problem::{Fault, quote};

/// Maximum number of joins of a file.
const MAX_JOINS: usize = 50;

const FORM: &str = "`TABLE.COLUMN = TABLE.COLUMN`, with ` AND ` before further columns, double quotes around a column \
    whose name has spaces,";

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
    let mut rest = text;
    loop {
        let (left, after) = read_column(rest)?;
        let (right, after) = read_column(after.trim_start().strip_prefix('=')?)?;
        let ((own, own_column), (table, column)) =
            if is_own(left.0) { (left, right) } else { (right, left) };
        let is_other = |known: &str| table.to_lowercase() != known.to_lowercase();
        if !is_own(own) || !join.columns.is_empty() && is_other(&join.table) {
            return None;
        }
        table.clone_into(&mut join.table);
        join.columns.push((own_column.to_owned(), column.to_owned()));
        let after = after.trim_start();
        if after.is_empty() {
            return Some(join);
        }
        let (and, further) = after.split_once(char::is_whitespace)?;
        if !and.eq_ignore_ascii_case("and") {
            return None;
        }
        rest = further;
    }
}

/// Reads the name of a table and that of its column at the start of a text. Returns both, and the rest of the text.
fn read_column(text: &str) -> Option<((&str, &str), &str)> {
    let (table, text) = text.trim_start().split_once('.')?;
    let (column, rest) = match text.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"')?,
        None => {
            let column = text.split(|sign: char| sign == '=' || sign.is_whitespace()).next()?;
            (column, text.strip_prefix(column)?)
        }
    };
    let is_name = !table.is_empty() && !table.contains(['=', ' ']) && !column.is_empty();
    is_name.then_some(((table, column), rest))
}
