//! The roles of a task's tools. Our prompt `task/employees` in both languages.

use serde_json::{Map, Value, json};

use super::question;
use super::step::DemoStep;
use crate::request::RecordedRequest;
use crate::response::ScriptedResponse;

/// The prompt's headings: the question, the task, the tools, and the section after these.
const HEADINGS: [[&str; 4]; 2] = [
    ["# The user's question", "# The task", "# The tools", "# How to answer"],
    ["# 用户的问题", "# 任务", "# 工具", "# 回答方式"],
];

/// Returns the roles, if requested.
pub(super) fn respond(request: &RecordedRequest) -> Option<ScriptedResponse> {
    let prompt = request.last_user_text();
    let [question, task, tools] =
        HEADINGS.iter().find_map(|headings| split_sections(prompt, headings))?;
    let (step, words) = DemoStep::parse(task.trim()).map_or_else(
        || (None, question::detect_language(question)),
        |(step, words)| (Some(step), words),
    );
    let roles: Map<String, Value> = tools
        .lines()
        .filter_map(|line| line.strip_prefix("- ")?.split([':', '：']).next())
        .map(|tool| (tool.to_owned(), json!(words.employee_role(step.as_ref()))))
        .collect();
    Some(ScriptedResponse::default().reply(format!("```json\n{}\n```", Value::Object(roles))))
}

/// Returns the sections below the first three headings.
fn split_sections<'a>(prompt: &'a str, headings: &[&str; 4]) -> Option<[&'a str; 3]> {
    let [question, task, tools, rest] = headings;
    let between = |text: &'a str, heading: &str| text.split_once(&format!("\n{heading}\n"));
    // The question and the task may contain any text, so search for later headings from the end.
    let (before, _) = prompt.rsplit_once(&format!("\n{rest}\n"))?;
    let (before, tools) = before.rsplit_once(&format!("\n{tools}\n"))?;
    let (_, before) = between(before, question)?;
    let (question, task) = before.rsplit_once(&format!("\n{task}\n"))?;
    Some([question, task, tools])
}
