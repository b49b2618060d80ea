//! `code_interpreter`, which writes the code of a chart.

use serde_json::json;

use super::parts::CHART;
use super::question::{csv_file, detect_language, without_attached};
use crate::request::{MessageRole, RecordedRequest};
use crate::response::ScriptedResponse;

const CODE_TOOL: &str = "python";

/// The whole code block, with `FILE` and other words in capitals as placeholders.
const BLOCK: &str = r#"# TITLE
import pandas as pd
import matplotlib.pyplot as plt

table = pd.read_csv("FILE").pivot_table(index="year", columns="region", values="sales", aggfunc="sum")
table.plot(marker="o", figsize=(8, 4.5), title="TITLE")
plt.ylabel("sales")
plt.gca().yaxis.set_major_formatter("{x:,.0f}")
plt.xticks(table.index)
plt.savefig("CHART", dpi=150, bbox_inches="tight")
plt.close()
print(table.map("{:,.0f}".format).to_string())
"#;

/// Responds to the agent that draws a chart.
pub(super) fn respond(request: &RecordedRequest) -> Option<ScriptedResponse> {
    // The first message is the task; a later message lists the files.
    let first = request.messages().iter().find(|message| message.role == MessageRole::User);
    let first = first.filter(|_| request.offers_tool(CODE_TOOL))?;
    let task = without_attached(&first.text);
    let lower = task.to_lowercase();
    if !CHART.iter().any(|word| lower.contains(word)) {
        return None;
    }
    let words = detect_language(task);
    let results = request.answered_calls().filter(|(call, _)| call.tool == CODE_TOOL);
    if let Some((_, result)) = results.last() {
        // The block's output in our prompt `tool/python_result`; the whole result without output.
        let output = ["It printed:", "打印内容："]
            .iter()
            .find_map(|heading| result.text.split_once(heading))
            .map_or(result.text.as_str(), |(_, output)| output.trim_start());
        let output = output.split("\n\n").next().unwrap_or_default().trim_end();
        return Some(ScriptedResponse::default().reply(words.drawn_chart(output)));
    }
    let Some(file) = csv_file(task, request) else {
        return Some(ScriptedResponse::default().reply(words.no_file()));
    };
    let block = BLOCK
        .replace("FILE", &file)
        .replace("TITLE", words.chart_title())
        .replace("CHART", words.chart_name());
    let response = ScriptedResponse::default().say(words.drawing_notice(&file));
    Some(response.call(CODE_TOOL, json!({"code": block})))
}
