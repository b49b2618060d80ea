//! The report on an analysis of tables: requested once the analysis is done, and written from its file alone.

use serde_json::json;

use super::parts::{REPORT_AGENT, written_line};
use super::question::{detect_language, listed_files};
use crate::request::RecordedRequest;
use crate::response::ScriptedResponse;

/// The heading above the queries of an analysis: our prompt `tool/cite_queries_result`.
const QUERIES: [&str; 2] = ["\n\n## Queries\n", "\n\n## 查询\n"];

/// The words of a report in one language.
struct ReportWords {
    /// The word in a question that asks for a report.
    word: &'static str,
    /// The beginning of the report's step.
    step: &'static str,
    task: &'static str,
    file: &'static str,
}

const WORDS: [ReportWords; 2] = [
    ReportWords {
        word: "report",
        step: "Report: ",
        task: "Write a report from the analysis: its findings, then the tables behind them.",
        file: "sales-report.md",
    },
    ReportWords {
        word: "报告",
        step: "报告: ",
        task: "根据分析写一份报告：先写结论，再列出所依据的表格。",
        file: "销售报告.md",
    },
];

/// Returns the step that writes the report on an analysis, if `question` asks for a report.
pub(super) fn report_step(question: &str, title: &str) -> Option<String> {
    let question = question.to_lowercase();
    let words = WORDS.iter().find(|words| question.contains(words.word))?;
    Some(format!("{}{title}", words.step))
}

/// Requests the report for the step [`report_step`], then says where the report is.
pub(super) fn make_report(
    step: &str,
    title: &str,
    request: &RecordedRequest,
) -> Option<ScriptedResponse> {
    let words = WORDS.iter().find(|words| step.starts_with(words.step))?;
    let language = detect_language(words.task);
    if let Some(result) = request.results_for(REPORT_AGENT).last() {
        return Some(ScriptedResponse::default().reply(written_line(language, &result.text)));
    }
    let arguments = json!({
        "fileType": "markdown", "task": words.task, "fileName": words.file, "fileDescription": title,
    });
    let response = ScriptedResponse::default().say(language.calling_notice(REPORT_AGENT));
    request.offers_tool(REPORT_AGENT).then(|| response.call(REPORT_AGENT, arguments))
}

/// Writes the report for a task of [`make_report`]: the collected analysis, without its queries.
pub(super) fn write_report(task: &str, request: &RecordedRequest) -> Option<String> {
    let is_english = WORDS.iter().find(|words| task.contains(words.task))?.word.is_ascii();
    let files = listed_files(request.system());
    files.into_iter().rev().filter(|name| name.to_lowercase().ends_with(".md")).find_map(|file| {
        let heading = format!("# {file}\n\n");
        let (text, _) = request.messages().iter().find_map(|message| {
            let (_, text) = message.text.split_once(&heading)?;
            QUERIES.iter().find_map(|heading| text.split_once(heading))
        })?;
        let source = if is_english {
            format!("The queries behind the labels are in `{file}`.")
        } else {
            format!("各编号所对应的查询见 `{file}`。")
        };
        // A later title would be the name of another file.
        (!text.contains("\n# ")).then(|| format!("{text}\n\n{source}"))
    })
}
