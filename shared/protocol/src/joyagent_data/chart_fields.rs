//! The fields of a result from which JoyAgent's page chooses and draws a chart.
//!
//! The page draws a line over a dimension of the type `DATE`, bars if the first measure has an `order`, a pie of fewer
//! than six rows, and bars otherwise. Without measures it shows a table. It puts names and cells into HTML, and breaks
//! on keys of its own.

use std::cmp::Ordering;

use djinn_core::tool::query::{QueryRows, ResultColumn};
use serde_json::{Map, Value, json};

/// Rows from which the page draws no pie.
const MIN_BARS: usize = 6;

/// The names of operators in the page, each with its label.
const OPERATORS: [(&str, &str, &str); 10] = [
    ("=", "EQUALS", "等于"),
    ("<>", "NOT_EQUALS", "不等于"),
    (">", "GREATER_THAN", "大于"),
    (">=", "GREATER_THAN_OR_EQUAL", "大于等于"),
    ("<", "LESS_THAN", "小于"),
    ("<=", "LESS_THAN_OR_EQUAL", "小于等于"),
    ("like", "LIKE", "包含"),
    ("ilike", "LIKE", "包含"),
    ("in", "IN", "属于"),
    ("between", "BETWEEN", "介于"),
];

/// The chart that the fields cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChartKind {
    Line,
    Bar,
    Pie,
    Table,
}

/// Returns the element of `CHART_DATA` for a result.
#[must_use]
pub fn chart_fields(result: &QueryRows) -> Value {
    let kind = match result.chart.get("kind").and_then(Value::as_str) {
        Some("line") => ChartKind::Line,
        Some("bar") => ChartKind::Bar,
        Some("pie") => ChartKind::Pie,
        Some(_) | None => ChartKind::Table,
    };
    let dimension = result.chart.get("x").and_then(Value::as_str).unwrap_or_default();
    let measures: Vec<&str> = match result.chart.get("y").and_then(Value::as_array) {
        Some(keys) => keys.iter().filter_map(Value::as_str).collect(),
        None => Vec::new(),
    };
    let guids: Vec<(String, &ResultColumn)> =
        (1..).zip(&result.columns).map(|(number, column)| (format!("c{number}"), column)).collect();
    let is_measure =
        |column: &ResultColumn| kind != ChartKind::Table && measures.contains(&column.key.as_str());
    let guids_of = |wanted: bool| -> Vec<&str> {
        let chosen = guids.iter().filter(|(_, column)| is_measure(column) == wanted);
        chosen.map(|(guid, _)| guid.as_str()).collect()
    };
    let columns = guids.iter().map(|(guid, column)| {
        let aggregate = column.aggregate.as_ref().map(|aggregate| aggregate.to_uppercase());
        json!({
            "guid": guid,
            "col": neutralize(&column.key),
            "name": neutralize(&column.name),
            "dataType": if kind == ChartKind::Line && column.key == dimension {
                "DATE"
            } else {
                data_type(&column.kind)
            },
            "colType": aggregate.as_deref().unwrap_or("IDENTIFIER"),
            "agg": aggregate,
            "order": is_measure(column).then(|| find_order(column, kind, result.rows.len())).flatten(),
        })
    });
    let place = result.columns.iter().position(|column| column.key == dimension);
    let mut rows: Vec<&Vec<Value>> = result.rows.iter().collect();
    if let (ChartKind::Line, Some(place)) = (kind, place) {
        rows.sort_by(|one, other| compare(one.get(place), other.get(place)));
    }
    let rows = rows.into_iter().map(|row| {
        let cells = guids.iter().zip(row);
        cells.map(|((guid, _), cell)| (guid.clone(), show_cell(cell))).collect::<Map<_, _>>()
    });
    json!({
        "question": neutralize(&result.question),
        "dataList": rows.collect::<Vec<_>>(),
        "columnList": columns.collect::<Vec<_>>(),
        "filters": result.filters.iter().filter_map(filter_fields).collect::<Vec<_>>(),
        "dimCols": guids_of(false),
        "measureCols": guids_of(true),
        "nl2sqlResult": result.sql,
    })
}

/// Returns the order of a measure: of bars that would be a pie, always one.
fn find_order(column: &ResultColumn, kind: ChartKind, rows: usize) -> Option<String> {
    match kind {
        ChartKind::Line | ChartKind::Pie | ChartKind::Table => None,
        ChartKind::Bar => {
            let order = column.order.as_ref().map(|order| order.to_uppercase());
            order.or_else(|| (rows < MIN_BARS).then(|| "DESC".to_owned()))
        }
    }
}

/// Returns the page's type of a column of this kind.
#[must_use]
pub fn data_type(kind: &str) -> &'static str {
    match kind {
        "integer" => "NUMBER",
        "decimal" | "number" => "DECIMAL",
        "date" | "timestamp" => "DATE",
        _ => "VARCHAR",
    }
}

fn compare(one: Option<&Value>, other: Option<&Value>) -> Ordering {
    let number = |value: Option<&Value>| value.and_then(Value::as_f64);
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    match (number(one), number(other)) {
        (Some(one), Some(other)) => one.total_cmp(&other),
        _ => text(one).cmp(&text(other)),
    }
}

/// Returns the fields of a condition, whose value the page reads as a text.
fn filter_fields(filter: &Value) -> Option<Value> {
    let text = |name: &str| filter.get(name).and_then(Value::as_str);
    let operator = text("operator")?;
    let (_, name, label) = OPERATORS.into_iter().find(|(sign, _, _)| *sign == operator)?;
    let column = neutralize(text("column")?);
    let values = filter.get("values").and_then(Value::as_array)?;
    let values: Vec<String> = values.iter().map(show_text).collect();
    Some(json!({
        "col": column, "name": column, "opt": name, "optName": label,
        "val": neutralize(&values.join(", ")), "operator": null, "subFilters": [],
    }))
}

fn show_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns a cell that the page can put into HTML.
#[must_use]
pub fn show_cell(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::from(neutralize(text)),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        Value::Array(_) | Value::Object(_) => Value::from(neutralize(&value.to_string())),
    }
}

/// Replaces the character that begins a tag of HTML by a similar one.
#[must_use]
pub fn neutralize(text: &str) -> String {
    text.replace('<', "＜")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(key: &str, kind: &str) -> ResultColumn {
        ResultColumn {
            key: key.to_owned(),
            name: key.to_owned(),
            kind: kind.to_owned(),
            ..ResultColumn::default()
        }
    }

    fn result(chart: Value, columns: Vec<ResultColumn>, rows: Vec<Vec<Value>>) -> QueryRows {
        let row_count = rows.len() as u64;
        QueryRows {
            question: "q".to_owned(),
            sql: "SELECT 1".to_owned(),
            columns,
            filters: Vec::new(),
            rows,
            row_count,
            is_cut: false,
            chart,
            notes: Vec::new(),
        }
    }

    #[test]
    fn points_of_a_line_are_in_the_order_of_time() {
        let columns = vec![column("x", "integer"), column("y", "integer")];
        let rows = [2025, 2023, 2024].map(|year| vec![json!(year), json!(1)]);
        let chart = json!({"kind": "line", "x": "x", "y": ["y"]});
        let fields = chart_fields(&result(chart, columns, rows.to_vec()));
        let years: Vec<_> = (0..3).map(|n| fields["dataList"][n]["c1"].clone()).collect();
        assert_eq!(years, [2023, 2024, 2025]);
    }

    #[test]
    fn names_and_cells_hold_no_tags_and_keys_are_the_guids() {
        let columns = vec![column("key<b>", "text"), column("a_format", "number")];
        let rows = vec![vec![json!("<img src=x>"), Value::Null], vec![json!({"a": "<"}), json!(1)]];
        let mut result = result(json!({"kind": "table"}), columns, rows);
        result.question = "<q>".to_owned();
        result.filters = vec![
            json!({"table": "t", "column": "a<", "operator": "in", "values": ["<x", 7]}),
            json!({"table": "t", "column": "a", "operator": "unknown", "values": []}),
        ];
        let fields = chart_fields(&result);
        assert!(!fields.to_string().replace("SELECT", "").contains('<'), "{fields}");
        let keys: Vec<_> = fields["dataList"][0].as_object().unwrap().keys().cloned().collect();
        assert_eq!(keys, ["c1", "c2"]);
        assert_eq!(fields["columnList"][0]["guid"], "c1");
        assert_eq!(fields["dataList"][0]["c2"], Value::Null);
        let filters = fields["filters"].as_array().unwrap();
        assert_eq!(filters.len(), 1);
        assert_eq!((&filters[0]["val"], &filters[0]["opt"]), (&json!("＜x, 7"), &json!("IN")));
        assert!(fields.get("overwriteSource").is_none());
        assert!(fields["columnList"][0].as_object().unwrap().contains_key("order"), "null is set");
    }
}
