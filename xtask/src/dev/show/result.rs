//! Shows the results of calls: the rows of queries as tables.

use serde_json::Value;

use super::{Screen, call_key};
use crate::dev::json::{list_at, number_at, text_at};

/// Maximum rows of a table.
const MAX_ROWS: usize = 20;
/// Maximum characters of a cell.
const MAX_CELL: usize = 40;

impl Screen {
    /// Prints the end of a call, with the rows of queries.
    pub(super) fn show_result(&mut self, data: &Value) {
        let Some((title, since)) = self.calls.remove(&call_key(data)) else { return };
        let took = since.elapsed().as_secs_f64();
        let line = match text_at(data, "/result/status") {
            "done" => format!("  ✓ {title} ({took:.1} s)"),
            _ => format!(
                "  ✗ {title}: {} {}",
                text_at(data, "/result/reason"),
                text_at(data, "/result/detail")
            ),
        };
        self.print_lane_line(data, &line);
        if text_at(data, "/result/view/kind") == "rows" {
            self.show_rows(data);
            if text_at(data, "/path").is_empty() {
                text_at(data, "/result/text").clone_into(&mut self.shown_result);
            }
        }
    }

    /// Prints each query of a call with its first rows.
    fn show_rows(&mut self, data: &Value) {
        for result in list_at(data, "/result/view/results") {
            self.print_lane_line(data, &format!("    {}", text_at(result, "/question")));
            for line in text_at(result, "/sql").lines() {
                self.print_lane_line(data, &format!("      {line}"));
            }
            for line in format_table(result) {
                self.print_lane_line(data, &format!("    {line}"));
            }
        }
    }
}

/// Returns the lines of a table, with numbers on the right of their columns.
fn format_table(result: &Value) -> Vec<String> {
    let header: Vec<String> =
        list_at(result, "/columns").map(|column| text_at(column, "/name").to_owned()).collect();
    let values: Vec<&Vec<Value>> =
        list_at(result, "/rows").filter_map(Value::as_array).take(MAX_ROWS).collect();
    let rows: Vec<Vec<String>> =
        values.iter().map(|row| row.iter().map(show_cell).collect()).collect();
    let widths: Vec<usize> = (0..header.len())
        .map(|place| {
            let cells = rows.iter().chain([&header]).filter_map(|row| row.get(place));
            cells.map(|cell| count_columns(cell)).max().unwrap_or_default()
        })
        .collect();
    let is_number = |place: usize| {
        values
            .iter()
            .all(|row| row.get(place).is_some_and(|value| value.is_number() || value.is_null()))
    };
    let line = |cells: &[String]| {
        let cells = cells.iter().zip(&widths).enumerate().map(|(place, (cell, width))| {
            let space = " ".repeat(width.saturating_sub(count_columns(cell)));
            if is_number(place) { format!("{space}{cell}") } else { format!("{cell}{space}") }
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
    let mut lines = vec![line(&header), rule.join("  ")];
    lines.extend(rows.iter().map(|row| line(row)));
    let count = number_at(result, "/row_count");
    if count > u64::try_from(rows.len()).unwrap_or_default() {
        lines.push(format!("({} of {count} rows)", rows.len()));
    }
    lines
}

fn show_cell(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    };
    let is_long = text.chars().count() > MAX_CELL;
    let shown = text.chars().take(if is_long { MAX_CELL - 1 } else { MAX_CELL });
    let shown: String = shown.map(|c| if c.is_control() { ' ' } else { c }).collect();
    if is_long { format!("{shown}…") } else { shown }
}

/// Returns the number of columns of a terminal that a text fills: two for each Chinese character.
fn count_columns(text: &str) -> usize {
    text.chars().map(|character| if character >= '\u{2e80}' { 2 } else { 1 }).sum()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn columns_are_aligned_and_numbers_are_on_the_right() {
        let result = json!({
            "columns": [{"name": "地区"}, {"name": "total"}],
            "rows": [["华东", 3200.75], ["N\u{1b}[1m", 300], [null, null]], "row_count": 3,
        });
        let lines = format_table(&result);
        assert_eq!(
            lines,
            ["地区     total", "─────  ───────", "华东   3200.75", "N [1m      300", ""]
        );
        let many: Vec<Value> = (0..30).map(|n| json!([n, "x".repeat(50)])).collect();
        let result =
            json!({"columns": [{"name": "n"}, {"name": "x"}], "rows": many, "row_count": 500});
        let lines = format_table(&result);
        assert_eq!(lines.last().unwrap(), "(20 of 500 rows)");
        assert!(lines[2].ends_with("x…") && lines[2].chars().count() == 44, "{}", lines[2]);
    }
}
