//! The planner: finds the regions, then writes a report on each in parallel, and finally compares all.

use serde_json::json;

use super::question::GrowthQuestion;
use super::step::DemoStep;
use crate::request::RecordedRequest;
use crate::response::ScriptedResponse;

pub(super) const PLANNING: &str = "planning";

/// The maximum number of regions with a report; a plan has at most 100 steps.
const MAX_REGIONS: usize = 50;

/// Returns the planner's next reply, if the request is from the planner.
pub(super) fn respond(request: &RecordedRequest) -> Option<ScriptedResponse> {
    if !request.offers_tool(PLANNING) {
        return None;
    }
    let question = GrowthQuestion::of(request)?;
    let words = question.language;
    let Some(file) = question.file.as_deref() else {
        return Some(ScriptedResponse::default().reply(words.no_file()));
    };
    let find = DemoStep::Find { file: file.to_owned() };
    let plan_calls = request.answered_calls().filter(|(call, _)| call.tool == PLANNING).count();
    Some(match plan_calls {
        0 => ScriptedResponse::default().say(words.plan_notice()).call(
            PLANNING,
            json!({
                "command": "create", "title": words.plan_title(),
                "steps": [find.label(words)], "depends_on": [[]],
                "agents": [find_agent(&find, request)],
            }),
        ),
        1 => {
            // The step's result in our prompt `plan/round`.
            let step = find.label(words);
            let report = request.messages().iter().rev().find_map(|message| {
                let (_, report) = message.text.split_once(&step)?;
                report.split("\n# ").next()
            });
            let report = report.unwrap_or_default();
            let lines = report.lines().filter_map(|line| line.strip_prefix("- "));
            match lines.map(str::to_owned).collect::<Vec<_>>() {
                // The agent gave the reason instead.
                regions if regions.is_empty() => finish_plan(first_line(report).to_owned()),
                regions => update_plan(&question, request, find, regions),
            }
        }
        _ => finish_plan(words.finish_notice()),
    })
}

/// Adds one step per region, and one step that depends on all.
fn update_plan(
    question: &GrowthQuestion,
    request: &RecordedRequest,
    find: DemoStep,
    regions: Vec<String>,
) -> ScriptedResponse {
    let words = question.language;
    let region_count = regions.len();
    let file = question.file.clone().unwrap_or_default();
    let reports = regions.into_iter().map(|region| DemoStep::Report { region, file: file.clone() });
    let compare = DemoStep::Compare { file: file.clone(), report: question.comparison.clone() };
    let steps: Vec<DemoStep> =
        [find].into_iter().chain(reports.take(MAX_REGIONS)).chain([compare]).collect();
    let depends_on: Vec<Vec<usize>> = (1..=steps.len())
        .map(|number| match number {
            1 => Vec::new(),
            number if number == steps.len() => (2..number).collect(),
            _ => vec![1],
        })
        .collect();
    let agents: Vec<&str> = steps.iter().map(|step| find_agent(step, request)).collect();
    let steps: Vec<String> = steps.iter().map(|step| step.label(words)).collect();
    ScriptedResponse::default().say(words.split_notice(region_count.min(MAX_REGIONS))).call(
        PLANNING,
        json!({"command": "update", "steps": steps, "depends_on": depends_on, "agents": agents}),
    )
}

/// Returns the agent for a step, if offered to the planner.
fn find_agent(step: &DemoStep, request: &RecordedRequest) -> &'static str {
    let agent = match step {
        DemoStep::Find { .. } => "researcher",
        DemoStep::Report { .. } => return "",
        DemoStep::Compare { .. } => "writer",
    };
    if can_name(agent, request) { agent } else { "" }
}

/// Returns true if the planner can name the agent: our prompt `plan/system`, in either language.
pub(super) fn can_name(agent: &str, request: &RecordedRequest) -> bool {
    let system = request.system();
    [": ", "："].iter().any(|colon| system.contains(&format!("\n- {agent}{colon}")))
}

pub(super) fn finish_plan(say: String) -> ScriptedResponse {
    ScriptedResponse::default().say(say).call(PLANNING, json!({"command": "finish"}))
}

/// Returns the first line of a report, after the word for the step's result.
fn first_line(report: &str) -> &str {
    let ends = ["Done.", "Failed.", "已完成。", "失败。"];
    report.trim().lines().find(|line| !ends.contains(line)).unwrap_or_default()
}
