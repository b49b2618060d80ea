//! A model for benchmarks of plans.

use std::time::Duration;

use serde_json::{Value, json};

use crate::request::{MessageRole, RecordedRequest};
use crate::response::ScriptedResponse;

const PLANNING: &str = "planning";
const VERDICT: &str = "give_verdict";

/// The size of a plan of the benchmark model. The planner creates all steps at once, without dependencies,
/// and finishes after the last step. Agents without a plan work like tasks, and the critic of three agents
/// chooses the answer A.
#[derive(Debug, Clone)]
pub struct PlanBench {
    /// The steps of the plan, all ready at once.
    pub steps: usize,
    /// The replies of each task with a tool call; one more reply ends the task.
    pub calls: usize,
    /// The duration of each reply of a task.
    pub work: Duration,
    /// The name of the tool called by tasks.
    pub tool: String,
    /// Returns the arguments of a task's nth call, from 1. All must differ, since equal calls count as
    /// repeats.
    pub arguments: fn(usize) -> Value,
}

/// Responds from the request alone, so that any number of runs may be active.
pub(crate) fn respond(bench: &PlanBench, request: &RecordedRequest) -> ScriptedResponse {
    if request.offers_tool(PLANNING) {
        if request.answered_calls().any(|(call, _)| call.tool == PLANNING) {
            return ScriptedResponse::default()
                .say("Done.")
                .call(PLANNING, json!({"command": "finish"}));
        }
        let steps: Vec<String> = (1..=bench.steps).map(|n| format!("Part {n}: write it")).collect();
        let waits_for: Vec<[usize; 0]> = vec![[]; bench.steps];
        return ScriptedResponse::default().say("In parts.").call(
            PLANNING,
            json!({"command": "create", "title": "Parts", "steps": steps, "depends_on": waits_for}),
        );
    }
    if request.offers_tool(VERDICT) {
        let scores = ["A", "B", "C"]
            .map(|letter| json!({"letter": letter, "score": 50, "reason": "As good."}));
        return ScriptedResponse::default().call(VERDICT, json!({"scores": scores, "choice": "A"}));
    }
    if request.text().contains("$$$") {
        return ScriptedResponse::default().reply("All is done.");
    }
    let replies = request.run_messages().iter();
    let reply_count = replies.filter(|message| message.role == MessageRole::Assistant).count();
    let response = ScriptedResponse::default().deltas(["At ", "work."]).spread_over(bench.work);
    if reply_count < bench.calls {
        response.call(bench.tool.as_str(), (bench.arguments)(reply_count + 1))
    } else {
        response
    }
}
