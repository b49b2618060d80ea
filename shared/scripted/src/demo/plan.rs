//! The planner: it has the regions found, then a report written on each of them at once, and then
//! all of them compared.

use serde_json::json;

use super::question::Question;
use super::step::Step;
use crate::request::Request;
use crate::response::Response;

const PLANNING: &str = "planning";

/// Regions that get a report of their own; a plan has at most 100 steps.
const MAX_REGIONS: usize = 50;

/// The planner's next word, if the request is the planner's.
pub(super) fn respond(request: &Request) -> Option<Response> {
    if !request.offers(PLANNING) {
        return None;
    }
    let question = Question::of(request)?;
    let words = question.words;
    let Some(file) = question.file.as_deref() else {
        return Some(Response::default().reply(words.no_file()));
    };
    let find = Step::Find { file: file.to_owned() };
    let planned = request.answered_calls().filter(|(call, _)| call.tool == PLANNING).count();
    Some(match planned {
        0 => Response::default().say(words.plans()).call(
            PLANNING,
            json!({
                "command": "create", "title": words.plan_title(),
                "steps": [find.words(words)], "depends_on": [[]],
            }),
        ),
        1 => {
            let report = report_on(request, &find.words(words));
            let lines = report.lines().filter_map(|line| line.strip_prefix("- "));
            match lines.map(str::to_owned).collect::<Vec<_>>() {
                // The agent said why instead.
                regions if regions.is_empty() => finish(outcome(report).to_owned()),
                regions => update(&question, file, find, regions),
            }
        }
        _ => finish(words.finishes()),
    })
}

/// One step a region, and one that waits for them all.
fn update(question: &Question, file: &str, find: Step, regions: Vec<String>) -> Response {
    let words = question.words;
    let found = regions.len();
    let reports = regions.into_iter().map(|region| Step::Report { region, file: file.to_owned() });
    let compare = Step::Compare { file: file.to_owned(), report: question.comparison.clone() };
    let steps: Vec<Step> =
        [find].into_iter().chain(reports.take(MAX_REGIONS)).chain([compare]).collect();
    let depends_on: Vec<Vec<usize>> = (1..=steps.len())
        .map(|number| match number {
            1 => Vec::new(),
            number if number == steps.len() => (2..number).collect(),
            _ => vec![1],
        })
        .collect();
    let steps: Vec<String> = steps.iter().map(|step| step.words(words)).collect();
    Response::default()
        .say(words.splits(found.min(MAX_REGIONS)))
        .call(PLANNING, json!({"command": "update", "steps": steps, "depends_on": depends_on}))
}

fn finish(say: String) -> Response {
    Response::default().say(say).call(PLANNING, json!({"command": "finish"}))
}

/// What came of a step: our prompt `plan/round`.
fn report_on<'a>(request: &'a Request, step: &str) -> &'a str {
    let report = request.messages().iter().rev().find_map(|message| {
        let (_, report) = message.text.split_once(step)?;
        report.split("\n# ").next()
    });
    report.unwrap_or_default()
}

/// The first line of a report, behind the word that says how the step ended.
fn outcome(report: &str) -> &str {
    let ends = ["Done.", "Failed.", "已完成。", "失败。"];
    report.trim().lines().find(|line| !ends.contains(line)).unwrap_or_default()
}
