//! A question about a chart, and possibly a report and slides. Each part is left to its agent, in turns of
//! one run or in steps of a plan.

use serde_json::{Value, json};

use super::language::DemoLanguage;
use super::plan::{PLANNING, finish_plan};
use super::question::{detect_language, question_text};
use super::step::YOUR_STEP;
use crate::request::RecordedRequest;
use crate::response::ScriptedResponse;

const CODE_AGENT: &str = "code_interpreter";
pub(super) const REPORT_AGENT: &str = "report_tool";

/// Words in lower case that mark a question about a chart.
pub(super) const CHART: &[&str] = &["draw", "chart", "plot", "画", "图表"];
const REPORT: &[&str] = &["report", "报告"];
const SLIDES: &[&str] = &["slides", "presentation", "幻灯片"];

/// The parts of an answer, in the order of creation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Chart,
    Report,
    Slides,
}

impl Part {
    /// Returns the requested parts, or none without a chart.
    fn list(question: &str) -> Vec<Self> {
        let lower = question.to_lowercase();
        let wants = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        let all = [(Self::Chart, CHART), (Self::Report, REPORT), (Self::Slides, SLIDES)];
        let parts = all.into_iter().filter(|(_, words)| wants(words)).map(|(part, _)| part);
        if wants(CHART) { parts.collect() } else { Vec::new() }
    }

    /// Returns the part for the request's agent, and the language of its step.
    fn of_step(request: &RecordedRequest) -> Option<(Self, DemoLanguage)> {
        let step = request.messages().iter().find_map(|message| {
            YOUR_STEP.iter().find_map(|mark| Some(message.text.rsplit_once(mark)?.1.trim()))
        })?;
        [DemoLanguage::English, DemoLanguage::Chinese].into_iter().find_map(|words| {
            let parts = [Self::Chart, Self::Report, Self::Slides];
            let part = parts.into_iter().find(|part| words.part_step(*part) == step)?;
            Some((part, words))
        })
    }
}

/// Responds to the agent with such a question.
pub(super) fn respond(request: &RecordedRequest) -> Option<ScriptedResponse> {
    if let Some((part, words)) = Part::of_step(request) {
        return make_parts(words, question_text(request), &[part], request);
    }
    let question = question_text(request);
    let parts = Part::list(question);
    let words = detect_language(question);
    match parts.as_slice() {
        [] => None,
        parts if request.offers_tool(PLANNING) => Some(plan_parts(words, parts, request)),
        parts => make_parts(words, question, parts, request),
    }
}

/// Creates a plan with a step for each part; documents depend on the chart.
fn plan_parts(words: DemoLanguage, parts: &[Part], request: &RecordedRequest) -> ScriptedResponse {
    if request.answered_calls().any(|(call, _)| call.tool == PLANNING) {
        return finish_plan(words.parts_done());
    }
    let steps: Vec<&str> = parts.iter().map(|part| words.part_step(*part)).collect();
    let depends_on = parts.iter().map(|part| match part {
        Part::Chart => json!([]),
        Part::Report | Part::Slides => json!([1]),
    });
    let depends_on: Vec<Value> = depends_on.collect();
    ScriptedResponse::default().say(words.parts_notice()).call(
        PLANNING,
        json!({"command": "create", "title": words.chart_title(), "steps": steps, "depends_on": depends_on}),
    )
}

/// Draws the chart first, then requests all documents, and finally lists the files.
fn make_parts(
    words: DemoLanguage,
    question: &str,
    parts: &[Part],
    request: &RecordedRequest,
) -> Option<ScriptedResponse> {
    let results_of = |tool: &'static str| {
        request
            .answered_calls()
            .filter(move |(call, _)| call.tool == tool)
            .map(|(_, result)| result)
    };
    if parts.contains(&Part::Chart) && results_of(CODE_AGENT).next().is_none() {
        let call = json!({"task": words.part_task(Part::Chart, question)});
        let response = ScriptedResponse::default().say(words.calling_notice(CODE_AGENT));
        return request.offers_tool(CODE_AGENT).then(|| response.call(CODE_AGENT, call));
    }
    let documents = parts.iter().filter(|part| **part != Part::Chart);
    if documents.clone().count() > 0 && results_of(REPORT_AGENT).next().is_none() {
        let response = ScriptedResponse::default().say(words.calling_notice(REPORT_AGENT));
        let call = |response: ScriptedResponse, part: &Part| {
            let file_type = if *part == Part::Slides { "pptx" } else { "html" };
            let arguments = json!({
                "fileType": file_type, "task": words.part_task(*part, question),
                "fileName": words.part_file(*part), "fileDescription": words.chart_title(),
            });
            response.call(REPORT_AGENT, arguments)
        };
        return request.offers_tool(REPORT_AGENT).then(|| documents.fold(response, call));
    }
    let charts = results_of(CODE_AGENT).map(|result| result.text.trim().to_owned());
    let reports = results_of(REPORT_AGENT).map(|result| written_line(words, &result.text));
    let paragraphs: Vec<String> = charts.chain(reports).collect();
    Some(ScriptedResponse::default().reply(paragraphs.join("\n\n")))
}

/// Returns a line about a document from the result of its call, whose first line names the file.
pub(super) fn written_line(words: DemoLanguage, result: &str) -> String {
    let text = result.trim();
    match text.lines().next().and_then(|line| line.split('`').nth(1)) {
        Some(name) => words.written_notice(name),
        None => text.to_owned(),
    }
}
