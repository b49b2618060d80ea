//! The writer of reports: a page or slides about the sales in a file, with the existing chart.

use super::analysis_report::write_report;
use super::growth::GrowthTable;
use super::question::{detect_language, listed_files};
use super::sheet::Sheet;
use crate::request::{MessageRole, RecordedRequest};
use crate::response::ScriptedResponse;

/// The beginning of the agent's instructions, in both languages: our prompts `agents/report_tool`.
const WRITERS: [&str; 2] = ["You are the report writer of Djinn.", "你是 Djinn 的报告撰写人。"];

/// Returns the document, if the request is from the report agent.
pub(super) fn respond(request: &RecordedRequest) -> Option<ScriptedResponse> {
    if !WRITERS.iter().any(|words| request.system().contains(words)) {
        return None;
    }
    let first = request.messages().iter().find(|message| message.role == MessageRole::User);
    let task = first?.text.as_str();
    if let Some(report) = write_report(task, request) {
        return Some(ScriptedResponse::default().reply(report));
    }
    let words = detect_language(task.lines().next().unwrap_or_default());
    let files = listed_files(request.system());
    let ends_with = |ending: &str| {
        files.iter().rev().find(|name| name.to_lowercase().ends_with(ending)).copied()
    };
    let Some((file, sheet)) =
        ends_with(".csv").and_then(|file| Some((file, read_sheet(file, request)?)))
    else {
        return Some(ScriptedResponse::default().reply(words.no_file()));
    };
    let growth = GrowthTable::of(&sheet);
    let chart = ends_with(".png");
    // Our prompt `agent/question` gives each argument's name and value.
    let file_type = task.split_once("\nfileType:\n").and_then(|(_, value)| value.lines().next());
    let text = match file_type.map(str::trim) {
        Some("html") => words.report_page(file, &growth, &sheet, chart),
        Some("pptx") => words.report_slides(file, &growth, &sheet, chart),
        Some(_) | None => words.report_text(file, &growth, &sheet),
    };
    Some(ScriptedResponse::default().reply(text))
}

/// Returns the sheet of a collected file: our prompt `tool/collect_result`.
fn read_sheet(file: &str, request: &RecordedRequest) -> Option<Sheet> {
    let heading = format!("# {file}\n\n");
    let text = request.messages().iter().find_map(|message| {
        let (_, text) = message.text.split_once(&heading)?;
        text.split("\n\n").next()
    })?;
    Sheet::parse(text).ok()
}
