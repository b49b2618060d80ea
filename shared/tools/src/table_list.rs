//! The text in which a model sees its tables.

use std::collections::BTreeSet;

use djinn_agents::AnalysisPart;
use djinn_core::id::FileName;
use djinn_core::language::Language;
use djinn_runtime::port::sandbox::table::{FileTable, TableColumn, TableNote};
use djinn_runtime::prompt::{self, Prompts};
use serde_json::{Value, json};

use crate::column_ranking::{choose_columns, find_words};
use crate::table_joins::{find_joins, write_join};
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
    let all: Vec<&StoredTable> = state.tables().collect();
    let mut joins = find_joins(&all);
    let chosen = choose_columns(&all, &joins, task);
    let is_shown = |table: usize| chosen.get(table).is_some_and(|columns| !columns.is_empty());
    joins.retain(|join| is_shown(join.table) && is_shown(join.other));
    let mut chosen = chosen.into_iter().enumerate();
    let mut further_room = MAX_FURTHER;
    let mut tables = Vec::new();
    let mut others = Vec::new();
    for file in &state.files {
        for (stored, (place, chosen)) in file.tables.iter().zip(chosen.by_ref()) {
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
            let joins = joins.iter().filter(|join| join.table == place);
            let joins: Vec<String> = joins.map(|join| write_join(join, &all)).collect();
            let notes = file.notes.iter().chain(&stored.table.notes);
            let notes = notes.map(|note| render_note(prompts, language, note));
            let further = list_further(stored, &chosen, further_room);
            further_room -= further.chars().count();
            tables.push(json!({
                "name": stored.name, "source": source, "title": title,
                "rules": words.map_or("", |words| &words.rules),
                "has_words": words.is_some_and(|words| !words.columns.is_empty()),
                "rows": rows, "columns": describe_columns(stored, &chosen), "joins": joins.join("\n"),
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
        let words = find_words(stored, column);
        let part = words.and_then(|words| words.part).map(AnalysisPart::as_str);
        let facts = readings.iter().map(String::as_str);
        for fact in facts.chain(is_key.then_some("key")).chain(part) {
            kind = format!("{kind}, {fact}");
        }
        let range = (!min.is_null()).then(|| format!("{} … {}", show(min), show(max)));
        let values = range.unwrap_or_else(|| samples.join(", "));
        let values: String = values.chars().take(MAX_VALUES).collect();
        let about = words.map_or("", |words| &words.about);
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
    use djinn_agents::TableJoin;
    use djinn_text::tokens::estimate_tokens;

    use super::*;
    use crate::table_state::{ColumnWords, ReadFile, TableWords};

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

    /// Tables of a deployment with `count` columns each, of which the first joins the key of the second.
    fn joined_tables(count: usize) -> TableState {
        let mut files = vec![wide_table(1, count), wide_table(2, count)];
        let names = ["orders", "customers"];
        for (file, name) in files.iter_mut().zip(names) {
            let stored = &mut file.tables[0];
            name.clone_into(&mut stored.name);
            stored.table.columns[1].name = "customer".to_owned();
            stored.words = Some(TableWords::default());
        }
        files[1].tables[0].table.columns[0].name = "key no".to_owned();
        let join = |table: &str, columns: &[(&str, &str)]| TableJoin {
            line: 1,
            table: table.to_owned(),
            columns: columns.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect(),
        };
        let words = files[0].tables[0].words.as_mut().unwrap();
        words.joins = vec![
            join("Customers", &[("Customer", "key no"), ("column_1_0", "customer")]),
            join("customers", &[("customer", "cost")]),
            join("staff", &[("customer", "id")]),
        ];
        let part = ColumnWords {
            name: "column_1_0".to_owned(),
            part: Some(AnalysisPart::Dimension),
            ..ColumnWords::default()
        };
        words.columns.push(part);
        TableState { files, ..TableState::default() }
    }

    #[test]
    fn model_sees_joins_of_columns_that_exist_and_parts_in_analyses() {
        let text =
            list_tables(&Prompts::default(), Language::En, &joined_tables(2), &[], "Orders?");
        let values: Vec<String> = (0..12).map(|value| format!("value {value}")).collect();
        let values = values.join(", ");
        let expected = format!(
            "# orders\n\nFrom sales_of_store_1.csv, 1000 rows.\n\n\
             | column | type | values | meaning |\n|---|---|---|---|\n\
             | column_1_0 | text, dimension | {values} |  |\n| customer | text | {values} |  |\n\n\
             Joins:\n\
             orders.customer = customers.\"key no\" AND orders.column_1_0 = customers.customer\n\n\
             # customers\n\nFrom sales_of_store_2.csv, 1000 rows.\n\n\
             | column | type | values |\n|---|---|---|\n\
             | key no | text | {values} |\n| customer | text | {values} |"
        );
        assert_eq!(text.trim(), expected);
    }

    #[test]
    fn file_of_a_user_with_the_name_of_a_table_has_no_joins() {
        let mut state = joined_tables(2);
        state.files[1].tables[0].words = None;
        let text = list_tables(&Prompts::default(), Language::En, &state, &[], "Orders?");
        assert!(text.contains("# customers") && !text.contains("Joins:"), "{text}");
    }

    #[test]
    fn table_that_joins_a_chosen_one_has_lines_of_the_columns_of_the_join() {
        let mut state = joined_tables(50);
        state.files.push(wide_table(3, 50));
        let text = list_tables(&Prompts::default(), Language::En, &state, &[], "orders");
        let lines = |name: &str| text.lines().filter(|line| line.starts_with(name)).count();
        assert_eq!((lines("| column_1_"), lines("| key no |"), lines("| customer")), (39, 1, 2));
        assert!(text.contains("- sales_of_store_3, from"), "{text}");
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
