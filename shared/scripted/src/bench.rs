//! A model for benchmarks.

pub(crate) mod plan;

use serde_json::{Value, json};

use crate::gate::ChunkGate;
use crate::request::{MessageRole, RecordedRequest};
use crate::response::ScriptedResponse;

/// The size of a run of the benchmark model. Defaults: 5 model calls, the last with the answer, 5 tool calls
/// and 200 text deltas.
#[derive(Debug, Clone)]
pub struct Bench {
    /// The replies in a run, at least 2: replies with calls, and the answer.
    pub model_calls: usize,
    /// The tool calls in a run, at least one per reply before the answer; the first reply makes the
    /// additional ones.
    pub tool_calls: usize,
    /// The text deltas in a run, spread evenly over the replies.
    pub deltas: usize,
    /// The name of the called tool.
    pub tool: String,
    /// Returns the arguments of the nth call of a run, from 1. All must differ, since equal calls count as
    /// repeats.
    pub arguments: fn(usize) -> Value,
    /// True if a reply is written at once, like a model without latency. Otherwise each delta is flushed
    /// separately.
    pub at_once: bool,
    /// Holds the answer of every run before this chunk.
    pub gate: Option<(usize, ChunkGate)>,
}

impl Default for Bench {
    fn default() -> Self {
        Self {
            model_calls: 5,
            tool_calls: 5,
            deltas: 200,
            tool: "file_tool".to_owned(),
            arguments: |nth| {
                json!({
                    "command": "upload",
                    "filename": format!("part-{nth}.md"),
                    "description": "A part of the report",
                    "content": format!("# Part {nth}\n\nA line of text.\n"),
                })
            },
            at_once: true,
            gate: None,
        }
    }
}

/// Responds from the request alone, so that any number of runs may be active.
pub(crate) fn respond(bench: &Bench, request: &RecordedRequest) -> ScriptedResponse {
    let calling = bench.model_calls.saturating_sub(1).max(1);
    let is_summary = request.last_user_text().contains("$$$");
    let replies = request.run_messages().iter();
    let reply_count = replies.filter(|message| message.role == MessageRole::Assistant).count();
    let turn = if is_summary { calling } else { reply_count };
    let share = bench.deltas / bench.model_calls.max(1);
    let rest = bench.deltas % bench.model_calls.max(1);
    let deltas = share + usize::from(turn < rest);
    let words = (0..deltas).map(|n| format!("word {n} "));
    let mut response = ScriptedResponse::default().deltas(words).delta_chars(usize::MAX);
    if bench.at_once {
        response = response.at_once();
    }
    if turn >= calling {
        return match &bench.gate {
            Some((chunk, gate)) if turn == calling => response.with_gate(*chunk, gate.clone()),
            Some(_) | None => response,
        };
    }
    let extra = bench.tool_calls.saturating_sub(calling);
    let calls = match turn {
        0 => 1..=1 + extra,
        later => later + 1 + extra..=later + 1 + extra,
    };
    response.calls(calls.map(|nth| (bench.tool.as_str(), (bench.arguments)(nth))))
}
