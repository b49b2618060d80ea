//! The tables of a run, kept from one call to the next.

use std::collections::{BTreeMap, BTreeSet};

use djinn_agents::{AnalysisPart, DescribedColumn, TableFile, TableJoin};
use djinn_core::file::ProductFile;
use djinn_core::id::FileName;
use djinn_core::tool::ToolState;
use djinn_runtime::port::StoreError;
use djinn_runtime::port::file::Files;
use djinn_runtime::port::sandbox::table::{
    FileTable, QueryColumn, QueryTable, SqlColumn, SqlResult, TableNote,
};
use djinn_runtime::port::tool::ToolContext;
use serde::{Deserialize, Serialize};

/// The name of the tool that keeps the state.
pub(crate) const TABLE_TOOL: &str = "find_tables";

/// The files that were read as tables, and the results of queries over these tables.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct TableState {
    pub(crate) files: Vec<ReadFile>,
    /// The results in order: `[q1]` cites the first.
    #[serde(default)]
    pub(crate) results: Vec<StoredResult>,
    /// The findings in results, each as the model saw it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) findings: Vec<StoredFinding>,
}

/// The findings in the result of a query, by its number from 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct StoredFinding {
    number: usize,
    text: String,
}

/// The result of a query, for citations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct StoredResult {
    pub(crate) question: String,
    pub(crate) sql: String,
    /// The rows as CSV, unless they were too large to keep.
    pub(crate) rows: Option<ProductFile>,
    /// The columns whose tables say their part in analyses, by their keys.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) parts: BTreeMap<String, AnalysisPart>,
}

impl StoredResult {
    pub(crate) fn without_rows(result: &SqlResult, parts: BTreeMap<String, AnalysisPart>) -> Self {
        Self { question: result.question.clone(), sql: result.sql.clone(), rows: None, parts }
    }
}

/// A file that was read as tables.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ReadFile {
    pub(crate) name: FileName,
    /// The key of the file's content: a rewritten file is read again. Of a table of the deployment, the key for its
    /// caller.
    pub(crate) object: String,
    pub(crate) tables: Vec<StoredTable>,
    pub(crate) notes: Vec<TableNote>,
    /// The reason for missing tables, or empty.
    pub(crate) problem: String,
}

/// A table with its stored data, or of a database.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct StoredTable {
    /// The name in SQL, unique among all tables.
    pub(crate) name: String,
    pub(crate) table: FileTable,
    /// `None` for a table of a database.
    pub(crate) data: Option<ProductFile>,
    /// What the file of a table of the deployment says about it.
    #[serde(default)]
    pub(crate) words: Option<TableWords>,
}

/// What the file of a table says about it, for models.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct TableWords {
    pub(crate) title: String,
    pub(crate) rules: String,
    pub(crate) columns: Vec<ColumnWords>,
    /// The joins with other tables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) joins: Vec<TableJoin>,
}

/// What the file of a table says about a column that is not hidden.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ColumnWords {
    pub(crate) name: String,
    /// The meaning and other names.
    pub(crate) about: String,
    pub(crate) is_always_shown: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) part: Option<AnalysisPart>,
}

impl TableWords {
    pub(crate) fn of(file: &TableFile) -> Self {
        let words = |column: &DescribedColumn| ColumnWords {
            name: column.name.clone(),
            about: std::iter::once(column.about.as_str())
                .filter(|about| !about.is_empty())
                .chain(column.also.iter().map(String::as_str))
                .collect::<Vec<_>>()
                .join("; "),
            is_always_shown: column.is_always_shown,
            part: column.part,
        };
        let columns = file.columns.iter().filter(|column| !column.is_hidden).map(words);
        Self {
            title: file.title.clone().unwrap_or_default(),
            rules: file.rules.clone(),
            columns: columns.collect(),
            joins: file.joins.clone(),
        }
    }

    /// Returns the words about a column, whose name the file may write with other cases of letters.
    pub(crate) fn find_column(&self, name: &str) -> Option<&ColumnWords> {
        let name = name.to_lowercase();
        self.columns.iter().find(|column| column.name.to_lowercase() == name)
    }
}

impl TableState {
    /// Loads the state of the run's earlier calls.
    ///
    /// # Errors
    /// Returns [`StoreError`] if the state is unreadable: a new state would number results twice.
    pub(crate) async fn load<F: Files>(
        files: &F,
        context: &ToolContext,
    ) -> Result<Self, StoreError> {
        let Some(state) = &context.state else { return Ok(Self::default()) };
        let bytes = files.read_state(&context.session, state).await;
        let bytes = bytes.inspect_err(|error| tracing::warn!(%error, "tables are unknown"))?;
        serde_json::from_slice(&bytes).map_err(|error| StoreError::Unreadable(error.to_string()))
    }

    /// Stores the state for the next call, also of a tool that only reads it otherwise.
    ///
    /// # Errors
    /// Returns [`StoreError`] if the store is unavailable.
    pub(crate) async fn keep<F: Files>(
        &self,
        files: &F,
        context: &ToolContext,
    ) -> Result<Box<ToolState>, StoreError> {
        let bytes =
            serde_json::to_vec(self).map_err(|error| StoreError::Unreadable(error.to_string()))?;
        let state = files.write_state(&context.session, &bytes).await?;
        Ok(Box::new(ToolState { owner: Some(TABLE_TOOL.to_owned()), ..state }))
    }

    /// Returns all tables, in the order of the files.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &StoredTable> {
        self.files.iter().flat_map(|file| &file.tables)
    }

    /// Adds the findings in a result; a repeated call adds nothing.
    pub(crate) fn add_finding(&mut self, number: usize, text: String) {
        let finding = StoredFinding { number, text };
        if !self.findings.contains(&finding) {
            self.findings.push(finding);
        }
    }

    /// Returns the findings in a result.
    pub(crate) fn list_findings(&self, number: usize) -> impl Iterator<Item = &str> {
        let findings = self.findings.iter().filter(move |finding| finding.number == number);
        findings.map(|finding| finding.text.as_str())
    }

    /// Returns the part in analyses that the columns of a result have by the files of their tables. A count is a number
    /// whatever it counts.
    pub(crate) fn find_parts(&self, columns: &[SqlColumn]) -> BTreeMap<String, AnalysisPart> {
        let part = |column: &SqlColumn| {
            let aggregate = column.shown.aggregate.as_deref().unwrap_or_default();
            let table = self.tables().find(|table| table.name == column.table)?;
            let words = table.words.as_ref()?.find_column(&column.column)?;
            let part = words.part.filter(|_| !aggregate.starts_with("count"))?;
            Some((column.shown.key.clone(), part))
        };
        columns.iter().filter_map(part).collect()
    }

    /// Gives each table a name that no other table has, in any case of letters.
    pub(crate) fn name_tables(&mut self) {
        let mut names = BTreeSet::new();
        for stored in self.files.iter_mut().flat_map(|file| &mut file.tables) {
            let wanted = stored.table.table.clone();
            let numbered = (2_u32..).map(|number| format!("{wanted}_{number}"));
            let mut candidates = std::iter::once(wanted.clone()).chain(numbered);
            let name = candidates.find(|name| names.insert(name.to_lowercase()));
            stored.name = name.unwrap_or(wanted);
        }
    }
}

impl StoredTable {
    /// Returns the table for a job with queries over its data.
    pub(crate) fn to_query_table(&self) -> QueryTable {
        let columns = self.table.columns.iter();
        let column = |column: &djinn_runtime::port::sandbox::table::TableColumn| QueryColumn {
            name: column.name.clone(),
            kind: column.kind.clone(),
        };
        QueryTable {
            name: self.name.clone(),
            parquet: self.data.as_ref().map(|data| data.name.clone()),
            database: None,
            columns: columns.map(column).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tables_of_all_files_have_different_names() {
        let data: ProductFile = serde_json::from_value(json!({
            "name": "d.parquet", "description": "", "size": 1, "internal": true,
            "media_type": "", "object": "o",
        }))
        .unwrap();
        let stored = |name: &str| StoredTable {
            name: String::new(),
            table: FileTable { table: name.to_owned(), ..FileTable::default() },
            data: Some(data.clone()),
            words: None,
        };
        let file = |names: &[&str]| ReadFile {
            name: FileName::new("a.csv").unwrap(),
            object: String::new(),
            tables: names.iter().map(|name| stored(name)).collect(),
            notes: Vec::new(),
            problem: String::new(),
        };
        let files = vec![file(&["a", "b"]), file(&["A", "a_2", "c"])];
        let mut state = TableState { files, ..TableState::default() };
        state.name_tables();
        let names: Vec<&str> = state.tables().map(|table| table.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "A_2", "a_2_2", "c"]);
    }
}
