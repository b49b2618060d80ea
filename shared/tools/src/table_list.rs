//! The text in which a model sees its tables.

use std::collections::BTreeSet;

use djinn_core::id::FileName;
use djinn_core::language::Language;
use djinn_runtime::port::sandbox::table::{FileTable, TableColumn, TableNote};
use djinn_runtime::prompt::{self, Prompts};
use serde_json::{Value, json};

use crate::column_ranking::{choose_columns, find_words};
use crate::table_state::{StoredTable, TableState};

/// Maximum characters of the names of columns that are not shown, of all tables.
const MAX_FURTHER: usize = 4_000;

/// Maximum characters of the values shown of a column.
const MAX_VALUES: usize = 200;

/// Returns the tables of a run as text for the model: the columns that matter for `task`, and the names of all tables.
pub(crate) fn list_tables(
    prompts: &Prompts,
    language: Language,
    state: &TableState,
    left_behind: &[String],
    task: &str,
) -> String {
    let stored: Vec<&StoredTable> = state.tables().collect();
    let mut chosen = choose_columns(&stored, task).into_iter();
    let mut further_room = MAX_FURTHER;
    let mut tables = Vec::new();
    let mut others = Vec::new();
    for file in &state.files {
        for (stored, chosen) in file.tables.iter().zip(chosen.by_ref()) {
            let words = stored.words.as_ref();
            let title = words.map_or("", |words| &words.title);
            let source = describe_source(&file.name, &stored.table);
            let rows = stored.table.rows;
            if chosen.is_empty() {
                let columns = stored.table.columns.len();
                others.push(json!({
                    "name": stored.name, "title": title, "source": source, "rows": rows,
                    "columns": columns, "is_database": stored.table.database.is_some(),
                }));
                continue;
            }
            let notes = file.notes.iter().chain(&stored.table.notes);
            let notes = notes.map(|note| render_note(prompts, language, note));
            let further = list_further(stored, &chosen, further_room);
            further_room -= further.chars().count();
            tables.push(json!({
                "name": stored.name, "source": source, "title": title,
                "rules": words.map_or("", |words| &words.rules),
                "has_words": words.is_some_and(|words| !words.columns.is_empty()),
                "rows": rows, "columns": describe_columns(stored, &chosen),
                "is_database": stored.table.database.is_some(),
                "further": further, "notes": notes.collect::<Vec<_>>().join("\n"),
            }));
        }
    }
    let unread = state.files.iter().filter(|file| file.tables.is_empty());
    let problems = unread.map(|file| json!({"name": file.name, "problem": file.problem}));
    let values = json!({
        "tables": tables, "others": others, "problems": problems.collect::<Vec<_>>(),
        "left_behind": left_behind.join(", "),
    });
    prompts.render(language, prompt::TABLES_FOUND, values)
}

fn render_note(prompts: &Prompts, language: Language, note: &TableNote) -> String {
    let TableNote { code, count, examples, column, name } = note;
    let values = json!({
        "code": code, "count": count, "examples": examples.join("; "), "column": column,
        "name": name,
    });
    prompts.render(language, prompt::TABLE_NOTE, values)
}

fn describe_source(name: &FileName, table: &FileTable) -> String {
    match &table.sheet {
        Some(sheet) => format!("{name} / {sheet}"),
        None => name.to_string(),
    }
}

/// Returns a line of a Markdown table for each chosen column, with what the table's file says about the column.
fn describe_columns(stored: &StoredTable, chosen: &BTreeSet<usize>) -> String {
    let has_words = stored.words.as_ref().is_some_and(|words| !words.columns.is_empty());
    let columns = chosen.iter().filter_map(|place| stored.table.columns.get(*place));
    let lines = columns.map(|column| {
        let TableColumn { name, kind, samples, min, max, readings, is_key, .. } = column;
        let mut kind = kind.clone();
        for word in readings.iter().map(String::as_str).chain(is_key.then_some("key")) {
            kind = format!("{kind}, {word}");
        }
        let range = (!min.is_null()).then(|| format!("{} … {}", show(min), show(max)));
        let values = range.unwrap_or_else(|| samples.join(", "));
        let values: String = values.chars().take(MAX_VALUES).collect();
        let about = find_words(stored, column).map_or("", |words| &words.about);
        let about = if has_words { format!(" {} |", escape_cell(about)) } else { String::new() };
        format!("| {} | {kind} | {} |{about}", escape_cell(name), escape_cell(&values))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the names of the columns that are not chosen, in at most `room` characters.
fn list_further(stored: &StoredTable, chosen: &BTreeSet<usize>, room: usize) -> String {
    let mut list = String::new();
    let columns = stored.table.columns.iter().enumerate();
    for (_, column) in columns.filter(|(place, _)| !chosen.contains(place)) {
        let name = format!("{}{}", if list.is_empty() { "" } else { ", " }, column.name);
        if list.chars().count() + name.chars().count() + 3 > room {
            return if list.is_empty() { list } else { list + ", …" };
        }
        list.push_str(&name);
    }
    list
}

/// Returns a JSON value as text, without the quotation marks of a text.
pub(crate) fn show(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

/// Returns a text as one cell of a Markdown table.
pub(crate) fn escape_cell(text: &str) -> String {
    text.replace('\\', "\\\\").replace('|', "\\|").replace(['\r', '\n'], " ")
}

#[cfg(test)]
mod tests {
    use djinn_text::tokens::estimate_tokens;

    use super::*;
    use crate::table_state::ReadFile;

    /// A table with columns of 12 values each.
    fn wide_table(number: usize, columns: usize) -> ReadFile {
        let column = |place: usize| {
            let samples = (0..12).map(|value| format!("value {value}")).collect();
            let name = match (number, place) {
                (7, 31) => "discount_rate".to_owned(),
                (93, 2) => "下单日期".to_owned(),
                _ => format!("column_{number}_{place}"),
            };
            TableColumn { name, kind: "text".to_owned(), samples, ..TableColumn::default() }
        };
        let name = format!("sales_of_store_{number}");
        let file: FileName = FileName::new(format!("{name}.csv")).unwrap();
        let columns = (0..columns).map(column).collect();
        let table = FileTable { table: name.clone(), rows: 1_000, columns, ..FileTable::default() };
        let data = serde_json::from_value(json!({
            "name": "d.parquet", "description": "", "size": 1, "internal": true, "media_type": "",
            "object": "o",
        }));
        let stored = StoredTable { name, table, data: Some(data.unwrap()), words: None };
        let (notes, problem) = (Vec::new(), String::new());
        ReadFile { name: file, object: String::new(), tables: vec![stored], notes, problem }
    }

    #[test]
    fn hundred_tables_are_all_named_in_eight_thousand_tokens() {
        let files = (0..100).map(|number| wide_table(number, 50)).collect();
        let state = TableState { files, ..TableState::default() };
        for language in [Language::En, Language::Zh] {
            let task = "Discounts by 日期";
            let text = list_tables(&Prompts::default(), language, &state, &[], task);
            for number in 0..100 {
                assert!(text.contains(&format!("sales_of_store_{number}.csv")), "{number}: {text}");
            }
            let lines = text.lines().filter(|line| line.contains(" | text | value 0, value 1, "));
            assert_eq!(lines.count(), 40);
            // The other columns of these tables are named.
            for column in ["| discount_rate |", "| 下单日期 |", "column_7_0", "column_93_0"] {
                assert!(text.contains(column), "{column}: {text}");
            }
            let tokens = estimate_tokens(text.len().try_into().unwrap());
            assert!(tokens <= 8_000, "{tokens}: {text}");
        }
    }

    #[test]
    fn few_columns_have_their_lines_and_no_list_of_names() {
        let files = vec![wide_table(1, 30), wide_table(2, 30)];
        let state = TableState { files, ..TableState::default() };
        let text = list_tables(&Prompts::default(), Language::En, &state, &[], "");
        assert_eq!(text.lines().filter(|line| line.starts_with("| column_")).count(), 60);
        assert!(!text.contains("Further columns") && !text.contains("fit the task less"), "{text}");
    }
}
