//! Parses the file of a table: front matter about its source, columns and rows, and a text with business rules.

use std::collections::BTreeSet;

use djinn_text::near_miss::find_near_miss;
use serde::{Deserialize, Serialize};

use crate::fields::{Fields, refuse_entry};
use crate::file::split_parts;
use crate::problem::{Fault, FileProblem, quote};
use crate::read::read_title;
use crate::table_join::{TableJoin, read_joins};
use crate::yaml::{Content, KeyEntry, read_mapping};

/// Maximum bytes of the business rules of a table.
const MAX_RULES: usize = 8 * 1024;

/// Maximum bytes of a view or a filter.
const MAX_SQL: usize = 20 * 1024;

/// Maximum characters of a table's name.
const MAX_NAME: usize = 60;

/// Maximum number of columns that a file describes.
const MAX_COLUMNS: usize = 1_000;

/// Maximum characters of the words about a column, and of each other name.
const MAX_WORDS: usize = 500;

/// The endings of files with data.
pub const DATA_ENDINGS: [&str; 3] = ["csv", "xlsx", "parquet"];

const KEYS: [&str; 10] =
    ["name", "title", "source", "table", "sheet", "sql", "tenants", "rows", "columns", "joins"];

const COLUMN_KEYS: [&str; 6] = ["about", "also", "hide", "always", "values", "analyze"];

const ANALYSIS_PARTS: [(&str, AnalysisPart); 3] = [
    ("dimension", AnalysisPart::Dimension),
    ("measure", AnalysisPart::Measure),
    ("none", AnalysisPart::Neither),
];

/// The placeholders of a filter.
const PLACEHOLDERS: [&str; 2] = ["{user}", "{tenant}"];

/// The form of the names of tables.
const NAME_FORM: &str = "1 to 60 letters, digits and _ without a digit first";

/// A table of a deployment, as its file describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableFile {
    /// The name in SQL.
    pub name: String,
    /// The name for users.
    pub title: Option<String>,
    /// The name of the file with the data, beside the table's file, or of the connection to the database with the rows.
    pub source: String,
    /// The table or view of the database; `None` for data in a file.
    pub relation: Option<DatabaseRelation>,
    /// The sheet of a workbook; by default the only one with data.
    pub sheet: Option<String>,
    /// The query that makes the table from its source, for a view; of a database, the same as in `relation`.
    pub sql: Option<String>,
    /// The tenants who have the table; all if empty.
    pub tenants: Vec<String>,
    /// The condition for the rows that a caller has, with `{user}` and `{tenant}`.
    pub rows: Option<String>,
    /// The columns that the file describes.
    pub columns: Vec<DescribedColumn>,
    /// The joins with other tables.
    pub joins: Vec<TableJoin>,
    /// The business rules for models; may be empty.
    pub rules: String,
}

/// The rows of a table in a database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DatabaseRelation {
    /// A table or view of the database.
    Table {
        /// The schema.
        schema: String,
        /// The name in the schema.
        name: String,
    },
    /// The rows of a query. The database resolves no name without its schema.
    Query(String),
}

/// The sources that the file of a table may name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableSources<'a> {
    /// The names of the files beside it.
    pub data: BTreeSet<&'a str>,
    /// The names of the connections to databases.
    pub connections: BTreeSet<&'a str>,
}

/// A column that the file of a table describes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DescribedColumn {
    /// The name in the data.
    pub name: String,
    /// The meaning, for models.
    pub about: String,
    /// Other names of the same thing.
    pub also: Vec<String>,
    /// True if no caller has the column.
    pub is_hidden: bool,
    /// True if the column is shown of a table with too many columns.
    pub is_always_shown: bool,
    /// True if models see values of the column even if there are many.
    pub has_values: bool,
    /// The part that the column has in analyses; any if `None`.
    pub part: Option<AnalysisPart>,
}

/// The part of a column in analyses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnalysisPart {
    /// The groups.
    Dimension,
    /// The numbers.
    Measure,
    /// Neither.
    #[serde(rename = "none")]
    Neither,
}

impl AnalysisPart {
    /// Returns the name in files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        ANALYSIS_PARTS.iter().find(|(_, part)| *part == self).map_or("", |(name, _)| name)
    }
}

/// Parses the file of a table.
///
/// # Errors
/// Returns the first problem, with its line.
pub fn read_table(
    path: &str,
    text: &str,
    sources: &TableSources<'_>,
) -> Result<TableFile, FileProblem> {
    read_file(text, sources).map_err(|fault| fault.into_problem(path))
}

fn read_file(text: &str, sources: &TableSources<'_>) -> Result<TableFile, Fault> {
    let parts = split_parts(text)?;
    let entries = read_mapping(&parts.front_matter, "the front matter")?;
    check_keys(&entries, &KEYS, "table")?;
    let fields = Fields::new(entries);
    let name = fields.read_required("name", NAME_FORM)?;
    if !is_table_name(name) {
        let rule = format!("`name` is the text {}: {NAME_FORM} is expected", quote(name));
        return Err(Fault::new(fields.line_of("name"), rule));
    }
    let source = read_source(&fields, sources)?;
    let sheet = fields.read_text("sheet", "the name of a sheet")?;
    if sheet.is_some() && !source.ends_with(".xlsx") {
        let rule = "`sheet` is only allowed with a `source` that is a workbook (.xlsx)";
        return Err(Fault::new(fields.line_of("sheet"), rule));
    }
    let sql = read_sql(&fields, "sql", "a query")?;
    let relation = read_relation(&fields, name, sql.as_deref(), is_data(&source))?;
    let tenants = fields.read_names("tenants")?.into_iter().map(|(name, _)| name).collect();
    if parts.prompt.len() > MAX_RULES {
        let bytes = parts.prompt.len();
        let rule = format!("the business rules have {bytes} bytes: the limit is {MAX_RULES}");
        return Err(Fault::new(parts.prompt_line, rule));
    }
    Ok(TableFile {
        name: name.to_owned(),
        title: read_title(&fields)?,
        source,
        relation,
        sheet: sheet.map(str::to_owned),
        sql,
        tenants,
        rows: read_filter(&fields)?,
        columns: read_columns(&fields)?,
        joins: read_joins(&fields, name)?,
        rules: parts.prompt,
    })
}

fn check_keys(entries: &[KeyEntry], keys: &[&str], noun: &str) -> Result<(), Fault> {
    let Some(entry) = entries.iter().find(|entry| !keys.contains(&entry.key.as_str())) else {
        return Ok(());
    };
    let hint = match find_near_miss(&entry.key, keys.iter().copied()) {
        Some(key) => format!("did you mean `{key}`?"),
        None => format!("there are {}", keys.join(", ")),
    };
    Err(Fault::new(entry.line, format!("{} is no key of a {noun}: {hint}", quote(&entry.key))))
}

fn is_table_name(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.chars().count())
        && name.chars().all(|c| c.is_alphanumeric() || c == '_')
        && !name.starts_with(char::is_numeric)
}

/// Returns true for the name of a file with data.
fn is_data(source: &str) -> bool {
    let ending = source.rsplit_once('.').map(|(_, ending)| ending);
    ending.is_some_and(|ending| DATA_ENDINGS.contains(&ending))
}

fn read_source(fields: &Fields, sources: &TableSources<'_>) -> Result<String, Fault> {
    const FORM: &str = "the name of a csv, xlsx or parquet file beside this file, or of a connection of djinn.toml,";
    let TableSources { data, connections } = sources;
    let source = fields.read_required("source", FORM)?;
    let problem = if connections.contains(source) {
        return Ok(source.to_owned());
    } else if !is_data(source) {
        match find_near_miss(source, connections.iter().copied()) {
            Some(near) => {
                format!("`source` names no connection {}: did you mean `{near}`?", quote(source))
            }
            None => format!("`source` is the text {}: {FORM} is expected", quote(source)),
        }
    } else if !data.contains(source) {
        match find_near_miss(source, data.iter().copied()) {
            Some(near) => {
                format!(
                    "`source` names {}, which is missing: did you mean `{near}`?",
                    quote(source)
                )
            }
            None => format!("`source` names {}, which is not beside this file", quote(source)),
        }
    } else {
        return Ok(source.to_owned());
    };
    Err(Fault::new(fields.line_of("source"), problem))
}

/// Reads the table or view of a database: by default, the table of the same name in the schema `public`.
fn read_relation(
    fields: &Fields,
    name: &str,
    sql: Option<&str>,
    is_in_file: bool,
) -> Result<Option<DatabaseRelation>, Fault> {
    const FORM: &str = "`schema.name` of a table";
    let table = fields.read_text("table", FORM)?;
    let fault = |rule: String| Err(Fault::new(fields.line_of("table"), rule));
    match (table, sql) {
        (Some(_), _) if is_in_file => {
            fault("`table` is only allowed with a `source` that is a connection".to_owned())
        }
        _ if is_in_file => Ok(None),
        (Some(_), Some(_)) => fault("`table` is not allowed with `sql`".to_owned()),
        (None, Some(sql)) => Ok(Some(DatabaseRelation::Query(sql.to_owned()))),
        (None, None) => {
            Ok(Some(DatabaseRelation::Table { schema: "public".to_owned(), name: name.to_owned() }))
        }
        (Some(table), None) => match table.split_once('.') {
            Some((schema, name))
                if !schema.is_empty() && !name.is_empty() && !table.contains('\0') =>
            {
                Ok(Some(DatabaseRelation::Table {
                    schema: schema.to_owned(),
                    name: name.to_owned(),
                }))
            }
            _ => fault(format!("`table` is the text {}: {FORM} is expected", quote(table))),
        },
    }
}

/// Returns a text in SQL, without a semicolon at its end. The engine checks it when the table is read.
fn read_sql(fields: &Fields, key: &str, form: &str) -> Result<Option<String>, Fault> {
    let Some(sql) = fields.read_text(key, form)? else { return Ok(None) };
    let sql = sql.trim_end_matches(';').trim_end();
    let fault = |rule: String| Err(Fault::new(fields.line_of(key), rule));
    if sql.len() > MAX_SQL {
        return fault(format!("`{key}` has {} bytes: the limit is {MAX_SQL}", sql.len()));
    }
    if sql.contains(['\0', ';']) {
        return fault(format!("`{key}` contains a semicolon or a zero byte: {form} is expected"));
    }
    Ok(Some(sql.to_owned()))
}

fn read_filter(fields: &Fields) -> Result<Option<String>, Fault> {
    const FORM: &str = "a condition in SQL, such as `owner = {user}`,";
    let Some(filter) = read_sql(fields, "rows", FORM)? else { return Ok(None) };
    let fault = |rule: String| Err(Fault::new(fields.line_of("rows"), rule));
    let rest = PLACEHOLDERS.iter().fold(filter.clone(), |rest, word| rest.replace(word, ""));
    if rest.contains(['{', '}']) {
        return fault(
            "`rows` has an unknown placeholder: there are `{user}` and `{tenant}`".into(),
        );
    }
    // A placeholder becomes a literal with quotation marks of its own.
    if PLACEHOLDERS.iter().any(|word| filter.contains(&format!("'{word}'"))) {
        return fault("`rows` has a placeholder in quotation marks: leave them out".into());
    }
    Ok(Some(filter))
}

fn read_columns(fields: &Fields) -> Result<Vec<DescribedColumn>, Fault> {
    let Some(entry) = fields.find_entry("columns") else { return Ok(Vec::new()) };
    let Content::Mapping(entries) = &entry.node.content else {
        return Err(refuse_entry(entry, "a mapping with the names of columns"));
    };
    if entries.len() > MAX_COLUMNS {
        let count = entries.len();
        let rule = format!("`columns` has {count} columns: the limit is {MAX_COLUMNS}");
        return Err(Fault::new(entry.line, rule));
    }
    let mut names = BTreeSet::new();
    for column in entries {
        if !names.insert(column.key.to_lowercase()) {
            let rule =
                format!("`columns` has {} twice, in any case of letters", quote(&column.key));
            return Err(Fault::new(column.line, rule));
        }
    }
    entries.iter().map(read_column).collect()
}

/// Reads a column: a text about it, or a mapping.
fn read_column(entry: &KeyEntry) -> Result<DescribedColumn, Fault> {
    let name = entry.key.clone();
    let fields = match &entry.node.content {
        Content::Mapping(entries) => {
            check_keys(entries, &COLUMN_KEYS, "column")?;
            Fields::new(entries.clone())
        }
        Content::Scalar(_) | Content::List(_) => {
            let about = Fields::new(vec![KeyEntry { key: "about".to_owned(), ..entry.clone() }]);
            let words = about.read_text("about", "a text or a mapping");
            let fault = |_| refuse_entry(entry, "a text about the column or a mapping");
            words.map_err(fault)?;
            about
        }
    };
    let flag = |key| Ok::<_, Fault>(fields.read_flag(key)?.unwrap_or_default());
    let about = fields.read_text("about", "a text about the column")?.unwrap_or_default();
    let also = fields.read_names("also")?;
    let too_long = |words: &str| words.chars().nth(MAX_WORDS).is_some();
    if too_long(about) || also.iter().any(|(name, _)| too_long(name)) {
        let key = if too_long(about) { "about" } else { "also" };
        let rule = format!("`{key}` has a text of more than {MAX_WORDS} characters");
        return Err(Fault::new(fields.line_of(key), rule));
    }
    let column = DescribedColumn {
        name,
        about: about.to_owned(),
        also: also.into_iter().map(|(name, _)| name).collect(),
        is_hidden: flag("hide")?,
        is_always_shown: flag("always")?,
        has_values: flag("values")?,
        part: fields.read_word("analyze", &ANALYSIS_PARTS)?,
    };
    let others = [
        ("always", column.is_always_shown),
        ("values", column.has_values),
        ("analyze", column.part.is_some()),
    ];
    if let Some((key, _)) = others.into_iter().find(|(_, is_set)| column.is_hidden && *is_set) {
        return Err(Fault::new(fields.line_of(key), format!("`{key}` is not allowed with `hide`")));
    }
    Ok(column)
}
