//! The summary call: repeats the answer, and lists the deliverables. Our prompt `react/summary` in both
//! languages.

use super::question;
use crate::request::RecordedRequest;
use crate::response::ScriptedResponse;

/// The prompt's headings: the question, the record, the files, and the section after these.
const HEADINGS: [[&str; 4]; 2] = [
    [
        "# The question",
        "# The record of the work",
        "# Files that were written",
        "# How to write it",
    ],
    ["# 问题", "# 处理记录", "# 已写入的文件", "# 写法"],
];

/// Roles of the record other than the model.
const OTHERS: &[&str] =
    &["tool", "result", "call", "user", "question", "工具", "结果", "用户", "问题"];

/// The beginning of a plan's last step: see `demo/step.rs` and `demo/analysis.rs`.
const LAST_STEPS: [&str; 4] = ["Comparison: ", "比较: ", "Analysis: ", "分析: "];

/// Returns the answer, if the request is the summary call.
pub(super) fn respond(request: &RecordedRequest) -> Option<ScriptedResponse> {
    let prompt = request.last_user_text();
    if !prompt.contains("$$$") {
        return None;
    }
    let [question, record, files] =
        HEADINGS.iter().find_map(|headings| split_sections(prompt, headings))?;
    let answer =
        find_answer(record).unwrap_or_else(|| question::detect_language(question).not_completed());
    let files: Vec<&str> = files.lines().filter_map(file_name).collect();
    let handed_over = match files.as_slice() {
        [] => String::new(),
        files => format!("$$${}", files.join("、")),
    };
    Some(ScriptedResponse::default().reply(answer + &handed_over))
}

/// Returns the sections below the first three headings.
fn split_sections<'a>(prompt: &'a str, headings: &[&str; 4]) -> Option<[&'a str; 3]> {
    let [question, record, files, rest] = headings;
    // The record may contain any text, so search for later headings from the end.
    let (before, _) = prompt.rsplit_once(rest)?;
    let (before, files) = before.rsplit_once(files)?;
    let (before, record) = before.split_once(record)?;
    let (_, question) = before.split_once(question)?;
    Some([question, record, files])
}

/// Returns the result of a plan's last step. Otherwise returns the model's last text, unless another entry
/// follows.
fn find_answer(record: &str) -> Option<String> {
    let last_step = LAST_STEPS.iter().find_map(|step| record.rsplit_once(&format!("\n## {step}")));
    if let Some((_, last_step)) = last_step {
        let (_, text) = last_step.split_once('\n')?;
        let text = text.split("\n## ").next().unwrap_or_default().trim();
        // The first paragraph below a document's title; any other text as a whole.
        let below = text.strip_prefix("# ").and_then(|document| document.split_once("\n\n"));
        let answer = below.map_or(text, |(_, text)| text.split("\n\n").next().unwrap_or_default());
        return (!text.is_empty()).then(|| answer.to_owned());
    }
    let (_, last) = record.rsplit_once("\n## ")?;
    let (role, text) = last.split_once('\n')?;
    let role = role.to_lowercase();
    let text = text.trim();
    let is_answer = !text.is_empty() && !OTHERS.iter().any(|other| role.contains(other));
    is_answer.then(|| text.to_owned())
}

fn file_name(line: &str) -> Option<&str> {
    let file = line.strip_prefix("- ")?;
    file.split([':', '：']).next().map(str::trim)
}
