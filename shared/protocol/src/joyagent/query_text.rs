//! Results of queries as Markdown: each query with its first rows.

use djinn_core::tool::query::QueryRows;
use serde_json::Value;

use super::call::without_images;

/// Rows of each result that are shown.
const MAX_ROWS: usize = 5;

/// Returns each query with its question and first rows.
pub(super) fn show_results(results: &[QueryRows]) -> String {
    results.iter().map(show_result).collect()
}

fn show_result(result: &QueryRows) -> String {
    let QueryRows { question, sql, columns, rows, .. } = result;
    let header: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let mut table = line(&header.iter().map(|name| escape_cell(name)).collect::<Vec<_>>());
    table.push_str(&line(&vec!["---".to_owned(); header.len()]));
    for row in rows.iter().take(MAX_ROWS) {
        table.push_str(&line(&row.iter().map(show_cell).collect::<Vec<_>>()));
    }
    if rows.len() > MAX_ROWS {
        table.push_str(&line(&vec!["…".to_owned(); header.len()]));
    }
    format!(
        "**{}**\n\n```sql\n{sql}\n```\n\n{}\n",
        without_images(question),
        without_images(&table)
    )
}

fn show_cell(value: &Value) -> String {
    match value {
        Value::String(text) => escape_cell(text),
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            escape_cell(&value.to_string())
        }
    }
}

/// Returns a text as one cell of a Markdown table.
fn escape_cell(text: &str) -> String {
    text.replace('\\', "\\\\").replace('|', "\\|").replace(['\r', '\n'], " ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn five_rows_of_each_query_are_shown_and_load_nothing() {
        let rows: Vec<Value> = (1..=6).map(|n| json!([format!("a|{n}"), n])).collect();
        let mut result: Value = json!({
            "question": "Sum?", "sql": "SELECT 1", "columns": [{"key": "c1", "name": "x|y"}, {"key": "c2", "name": "n"}],
            "filters": [], "rows": rows, "row_count": 6, "is_cut": false, "chart": null, "notes": [],
        });
        let parse = |value: &Value| serde_json::from_value::<QueryRows>(value.clone()).unwrap();
        let head =
            "**Sum?**\n\n```sql\nSELECT 1\n```\n\n| x\\|y | n |\n| --- | --- |\n| a\\|1 | 1 |\n";
        let text = show_results(&[parse(&result)]);
        assert!(text.starts_with(head) && text.ends_with("| a\\|5 | 5 |\n| … | … |\n\n"), "{text}");
        result["rows"] = json!([["![x](https://evil.test/)", null]]);
        let text = show_results(&[parse(&result)]);
        assert!(!text.contains("![") && text.ends_with(" |  |\n\n"), "{text}");
    }
}
