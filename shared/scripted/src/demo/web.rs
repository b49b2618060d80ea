//! Questions about the pages of `examples/site`, answered by a search. Each statement has the number of its
//! page.

use std::collections::BTreeMap;

use serde_json::json;

use super::plan::{PLANNING, finish_plan};
use super::question::{detect_language, question_text};
use super::step::YOUR_STEP;
use crate::request::{MessageRole, RecordedRequest};
use crate::response::ScriptedResponse;

const SEARCH_AGENT: &str = "deep_search";
const ROUND_TOOL: &str = "search_round";

/// The beginning of the agent's instructions, in both languages: our prompts `agents/deep_search`.
const SEARCHERS: [&str; 2] = ["You are a web researcher of Djinn.", "你是 Djinn 的网络研究员。"];

/// The subjects of the pages, in lower case.
const SUBJECTS: [&str; 2] = ["heat pump", "热泵"];

/// The maximum number of quoted pages.
const MAX_QUOTES: usize = 8;

/// Responds to the agent with such a question.
pub(super) fn respond(request: &RecordedRequest) -> Option<ScriptedResponse> {
    if SEARCHERS.iter().any(|words| request.system().contains(words)) {
        return Some(search(request));
    }
    let question = question_text(request);
    let lower = question.to_lowercase();
    if !SUBJECTS.iter().any(|subject| lower.contains(subject)) {
        return None;
    }
    let words = detect_language(question);
    if request.offers_tool(PLANNING) {
        if request.answered_calls().any(|(call, _)| call.tool == PLANNING) {
            return Some(finish_plan(words.search_done()));
        }
        // Both sides of the question are searched in parallel.
        return Some(ScriptedResponse::default().say(words.search_plan_notice()).call(
            PLANNING,
            json!({
                "command": "create", "title": words.search_title(),
                "steps": words.search_steps(), "depends_on": [[], []],
            }),
        ));
    }
    let answer = request.answered_calls().find(|(call, _)| call.tool == SEARCH_AGENT);
    if let Some((_, answer)) = answer {
        return Some(ScriptedResponse::default().reply(answer.text.trim()));
    }
    let step = request.messages().iter().find_map(|message| {
        YOUR_STEP.iter().find_map(|mark| Some(message.text.rsplit_once(mark)?.1.trim()))
    });
    let query = step.unwrap_or(question);
    let response = ScriptedResponse::default().say(words.calling_notice(SEARCH_AGENT));
    request.offers_tool(SEARCH_AGENT).then(|| response.call(SEARCH_AGENT, json!({"query": query})))
}

/// Searches in two rounds, then answers.
fn search(request: &RecordedRequest) -> ScriptedResponse {
    let first = request.messages().iter().find(|message| message.role == MessageRole::User);
    let task = first.map(|message| message.text.as_str()).unwrap_or_default();
    let words = detect_language(task);
    let results = request.answered_calls().filter(|(call, _)| call.tool == ROUND_TOOL);
    let results: Vec<&str> = results.map(|(_, result)| result.text.as_str()).collect();
    let response = ScriptedResponse::default();
    if let Some(queries) = words.round_queries(results.len(), task)
        && request.offers_tool(ROUND_TOOL)
    {
        let response = response.say(words.round_notice(results.len()));
        return response.call(ROUND_TOOL, json!({"queries": queries}));
    }
    let pages = results.iter().flat_map(|result| result.split("\n[")).filter_map(read_page);
    let pages: BTreeMap<usize, &str> = pages.collect();
    if pages.is_empty() {
        return response.reply(words.nothing_found());
    }
    // The first sentence of each page, with the number of the page.
    let quotes = pages.iter().take(MAX_QUOTES);
    let quotes: Vec<String> =
        quotes.map(|(number, sentence)| format!("- {sentence} [{number}]")).collect();
    response.reply(format!("{}\n\n{}", words.found_notice(pages.len()), quotes.join("\n")))
}

/// Returns a page's number and its first sentence: our prompt `tool/search_result`.
fn read_page(part: &str) -> Option<(usize, &str)> {
    let (number, rest) = part.trim_start_matches('[').split_once(']')?;
    let (heading, text) = rest.split_once("\n\n")?;
    // A heading that is a sentence marks a page read before; other headings end with an address.
    if heading.ends_with(['.', '。']) {
        return None;
    }
    let is_prose =
        |line: &&str| line.contains(['.', '。']) && !line.starts_with(['#', '|', '-', '*']);
    let line = text.lines().map(str::trim).find(is_prose)?;
    let end =
        line.find(". ").map(|at| at + 1).or_else(|| line.find('。').map(|at| at + '。'.len_utf8()));
    Some((number.parse().ok()?, line.get(..end.unwrap_or(line.len()))?))
}
