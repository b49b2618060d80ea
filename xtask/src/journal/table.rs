//! Formats a run's records as a table.

use std::fmt::Write as _;

use djinn_core::journal::Record;
use djinn_core::replay::SavedRecord;
use time::OffsetDateTime;

use super::facts::{CallNames, list_facts};

/// Returns a table of a run's ordered records: number, time, inputs, and resulting entries.
pub(super) fn write_table(records: &[SavedRecord]) -> String {
    let mut text = String::new();
    if let Some(first) = records.first() {
        let name = if first.path.is_root() { "the run".to_owned() } else { first.path.to_string() };
        let day = read_time(first.record.at_ms).map(|at| format!(", {} (UTC)", at.date()));
        let _ = writeln!(text, "{name}: {} records{}", records.len(), day.unwrap_or_default());
        let _ = writeln!(text, "   n  time          input                 facts");
    }
    let mut calls = CallNames::default();
    for saved in records {
        write_record(&mut text, &saved.record, &mut calls);
    }
    text
}

fn write_record(text: &mut String, record: &Record, calls: &mut CallNames) {
    let time = read_time(record.at_ms).map(|at| {
        let (hour, minute, second, millisecond) = at.time().as_hms_milli();
        format!("{hour:02}:{minute:02}:{second:02}.{millisecond:03}")
    });
    let time = time.unwrap_or_default();
    let mut prefix = format!("{:>4}  {time:<12}", record.number);
    // The calls of a reply are named by the entries of the same record.
    calls.add_entries(&record.entries);
    for input in &record.inputs {
        let facts = list_facts(input, calls).into_iter().filter(|fact| !fact.is_empty());
        let facts = facts.collect::<Vec<_>>().join(" · ");
        let line = format!("{prefix}  {:<20}  {facts}", input.name());
        let _ = writeln!(text, "{}", line.trim_end());
        prefix = " ".repeat(18);
    }
    if !record.entries.is_empty() {
        let names: Vec<&str> = record.entries.iter().map(|entry| entry.event.name()).collect();
        let groups = names.chunk_by(|one, next| one == next).map(|group| match group {
            [name] => (*name).to_owned(),
            group => format!("{} ×{}", group.first().copied().unwrap_or_default(), group.len()),
        });
        let _ = writeln!(text, "{:18}  → {}", "", groups.collect::<Vec<_>>().join(", "));
    }
}

fn read_time(at_ms: i64) -> Option<OffsetDateTime> {
    OffsetDateTime::from_unix_timestamp_nanos(i128::from(at_ms) * 1_000_000).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn entry(id: &str, event: &Value) -> Value {
        let mut entry = json!({"id": id, "at_ms": 0});
        entry.as_object_mut().unwrap().extend(event.as_object().unwrap().clone());
        entry
    }

    fn records(told: Vec<(Vec<Value>, Vec<Value>)>) -> Vec<SavedRecord> {
        let record = |(number, (inputs, entries)): (usize, _)| {
            json!({"path": "s1.1", "record": {
                "format": 1, "number": number + 1, "write": format!("w-{number}"), "epoch": 1,
                "at_ms": 1_795_641_854_123_i64 + i64::try_from(number).unwrap() * 1_500,
                "inputs": inputs, "entries": entries,
            }})
        };
        let records = told.into_iter().enumerate().map(record);
        records.map(|record| serde_json::from_value(record).unwrap()).collect()
    }

    #[test]
    fn a_record_is_a_line_for_each_input_and_one_for_its_entries() {
        let usage =
            json!({"input_tokens": 1200, "output_tokens": 30, "cached_tokens": 0, "took_ms": 9});
        let call = json!({"command": "get"});
        let asks = |id: &str| {
            entry(
                id,
                &json!({
                    "type": "call.requested", "call": id, "tool": "file_tool", "arguments": call,
                    "visible": false,
                }),
            )
        };
        let requested = json!({"tool": "file_tool", "arguments": {"parsed": call}});
        let said =
            "Let me see what the file says of\nthe three regions and their growth over the years.";
        let failure = json!({"code": "model_unreachable", "detail": "connection refused"});
        let told = records(vec![
            (
                vec![json!({"input": "model.replied", "message": "t1", "reply": {
                    "text": said, "calls": [requested, requested], "finish": "done", "usage": usage,
                }})],
                vec![
                    entry(
                        "t1",
                        &json!({"type": "message.completed", "message": "t1", "text": said, "usage": usage}),
                    ),
                    asks("t1.c1"),
                    asks("t1.c2"),
                ],
            ),
            (
                vec![
                    json!({"input": "tool.returned", "call": "t1.c1", "took_ms": 12, "result": {
                        "status": "failed", "reason": "error", "detail": "no such file",
                    }}),
                    json!({"input": "stop.requested", "by": "ann"}),
                ],
                Vec::new(),
            ),
            (
                vec![json!({"input": "model.failed", "message": "t2", "failure": failure})],
                Vec::new(),
            ),
            (vec![json!({"input": "limit.reached", "limit": "wall_time"})], Vec::new()),
            (vec![json!({"input": "delivered", "delivery": "child_result"})], Vec::new()),
        ]);
        insta::assert_snapshot!(write_table(&told));
    }
}
