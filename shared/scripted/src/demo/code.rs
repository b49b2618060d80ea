//! A question for a chart: it is left to `code_interpreter`, which writes the code for it.

use serde_json::json;

use super::language::DemoLanguage;
use super::question::{csv_file, detect_language, question_text, without_attached};
use crate::request::{MessageRole, RecordedRequest};
use crate::response::ScriptedResponse;

const CODE_AGENT: &str = "code_interpreter";
const CODE_TOOL: &str = "python";

/// A question with one of these, in lower case, wants a chart.
const CHART: &[&str] = &["draw", "chart", "plot", "画", "图表"];

/// The whole block; `FILE` and the other words in capitals are filled in.
const BLOCK: &str = r#"# TITLE
import pandas as pd
import matplotlib.pyplot as plt

table = pd.read_csv("FILE").pivot_table(index="year", columns="region", values="sales", aggfunc="sum")
table.plot(marker="o", figsize=(8, 4.5), title="TITLE")
plt.ylabel("sales")
plt.xticks(table.index)
plt.savefig("CHART", dpi=150, bbox_inches="tight")
plt.close()
print(table.to_string())
"#;

/// The turns of whoever is asked for a chart, and of the agent that draws it.
pub(super) fn respond(request: &RecordedRequest) -> Option<ScriptedResponse> {
    let question = asked_text(request);
    let lower = question.to_lowercase();
    if !CHART.iter().any(|word| lower.contains(word)) {
        return None;
    }
    let words = detect_language(question);
    if request.offers_tool(CODE_TOOL) {
        return Some(draw_chart(words, question, request));
    }
    request.offers_tool(CODE_AGENT).then(|| delegate_task(words, question, request))
}

/// The question, or what the agent is to do: its first message, since a later one shows it the files.
fn asked_text(request: &RecordedRequest) -> &str {
    let first = request.messages().iter().find(|message| message.role == MessageRole::User);
    let first = first.filter(|_| request.offers_tool(CODE_TOOL));
    first.map_or_else(|| question_text(request), |message| without_attached(&message.text))
}

/// The first turn calls the agent, the second answers with what it said.
fn delegate_task(
    words: DemoLanguage,
    question: &str,
    request: &RecordedRequest,
) -> ScriptedResponse {
    let results = request.answered_calls().filter(|(call, _)| call.tool == CODE_AGENT);
    match results.last() {
        None => ScriptedResponse::default()
            .say(words.calling_notice(CODE_AGENT))
            .call(CODE_AGENT, json!({"task": question})),
        Some((_, result)) => ScriptedResponse::default().reply(result.text.trim()),
    }
}

/// The first turn runs the block, the second says what it printed.
fn draw_chart(words: DemoLanguage, question: &str, request: &RecordedRequest) -> ScriptedResponse {
    let results = request.answered_calls().filter(|(call, _)| call.tool == CODE_TOOL);
    if let Some((_, result)) = results.last() {
        return ScriptedResponse::default().reply(words.drawn_chart(printed_text(&result.text)));
    }
    let Some(file) = csv_file(question, request) else {
        return ScriptedResponse::default().reply(words.no_file());
    };
    let block = BLOCK
        .replace("FILE", &file)
        .replace("TITLE", words.chart_title())
        .replace("CHART", words.chart_name());
    ScriptedResponse::default()
        .say(words.drawing_notice(&file))
        .call(CODE_TOOL, json!({"code": block}))
}

/// What a block printed: our prompt `tool/python_result`; all of the result where it printed nothing.
fn printed_text(result: &str) -> &str {
    let printed = ["It printed:", "打印内容："]
        .iter()
        .find_map(|heading| result.split_once(heading))
        .map_or(result, |(_, printed)| printed.trim_start());
    printed.split("\n\n").next().unwrap_or_default().trim_end()
}
