//! A model for benchmarks of plans.

use std::time::Duration;

use serde_json::{Value, json};

use crate::request::{MessageRole, RecordedRequest};
use crate::response::ScriptedResponse;

const PLANNING: &str = "planning";

/// How much a plan of the benchmark model takes. The planner makes all steps at once, none of which
/// waits for another, and is done when they are.
#[derive(Debug, Clone)]
pub struct PlanBench {
    /// Steps of the plan, all ready at once.
    pub steps: usize,
    /// Replies of each task that call the tool; one more ends it.
    pub calls: usize,
    /// How long a reply of a task takes.
    pub work: Duration,
    /// The tool that tasks call.
    pub tool: String,
    /// The arguments of a task's nth call, from 1; no two alike, or they count as repeats.
    pub arguments: fn(usize) -> Value,
}

/// Answers from the request alone, so that any number of runs may be under way.
pub(crate) fn respond(bench: &PlanBench, request: &RecordedRequest) -> ScriptedResponse {
    if request.offers_tool(PLANNING) {
        return make_plan(bench, request);
    }
    if request.text().contains("$$$") {
        return ScriptedResponse::default().reply("All is done.");
    }
    let replies = request.run_messages().iter();
    let replied = replies.filter(|message| message.role == MessageRole::Assistant).count();
    let response = ScriptedResponse::default().deltas(["At ", "work."]).spread_over(bench.work);
    if replied < bench.calls {
        response.call(bench.tool.as_str(), (bench.arguments)(replied + 1))
    } else {
        response
    }
}

fn make_plan(bench: &PlanBench, request: &RecordedRequest) -> ScriptedResponse {
    let planned = request.answered_calls().any(|(call, _)| call.tool == PLANNING);
    if planned {
        return ScriptedResponse::default()
            .say("Done.")
            .call(PLANNING, json!({"command": "finish"}));
    }
    let steps: Vec<String> = (1..=bench.steps).map(|n| format!("Part {n}: write it")).collect();
    let waits_for: Vec<[usize; 0]> = vec![[]; bench.steps];
    ScriptedResponse::default().say("In parts.").call(
        PLANNING,
        json!({"command": "create", "title": "Parts", "steps": steps, "depends_on": waits_for}),
    )
}
