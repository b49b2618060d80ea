//! Plans and tasks as models read them, and the planner's tool.

use djinn_core::context::level;
use djinn_core::feedback::ASK_USER;
use djinn_core::input::{TaskAsked, TaskReport};
use djinn_core::plan::{PLANNING_TOOL, Plan, Step};
use djinn_core::settings::Language;
use djinn_core::tool::{Declared, EffectClass, ToolSpec};
use djinn_core::urls::without_half;
use serde_json::{Value, json};

use crate::prompt::{self, Prompts};

/// The planning tool. It is answered by the run itself, where the reply is recorded.
pub(crate) fn planning_tool(prompts: &Prompts, language: Language) -> ToolSpec {
    let words = prompts.tool(language, prompt::TOOL_PLANNING);
    let parameter = |name: &str, schema: Value| {
        let mut schema = schema;
        if let Some(members) = schema.as_object_mut() {
            let words = words.parameters.get(name).cloned().unwrap_or_default();
            members.insert("description".to_owned(), words.into());
        }
        (name.to_owned(), schema)
    };
    let properties: serde_json::Map<String, Value> = [
        parameter(
            "command",
            json!({"type": "string", "enum": ["create", "update", "mark_step", "finish"]}),
        ),
        parameter("title", json!({"type": "string"})),
        parameter("steps", json!({"type": "array", "items": {"type": "string"}})),
        parameter(
            "depends_on",
            json!({"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}),
        ),
        parameter("step_index", json!({"type": "integer"})),
        parameter(
            "step_status",
            json!({"type": "string",
                "enum": ["not_started", "in_progress", "completed", "blocked", "skipped"]}),
        ),
        parameter("step_notes", json!({"type": "string"})),
    ]
    .into_iter()
    .collect();
    ToolSpec {
        name: PLANNING_TOOL.to_owned(),
        description: words.description,
        schema: json!({"type": "object", "properties": properties, "required": ["command"]}),
        effect: EffectClass::Read,
        declared: Declared::default(),
        timeout_ms: 0,
        visible: false,
    }
}

/// The tool by which a model asks for what is missing. A person answers it.
pub(crate) fn ask_user_tool(prompts: &Prompts, language: Language) -> ToolSpec {
    let mut words = prompts.tool(language, prompt::TOOL_ASK_USER);
    let about = words.parameters.remove("questions").unwrap_or_default();
    let questions = json!({
        "type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 5,
        "description": about,
    });
    ToolSpec {
        name: ASK_USER.to_owned(),
        description: words.description,
        schema: json!({
            "type": "object", "properties": {"questions": questions}, "required": ["questions"],
        }),
        effect: EffectClass::Read,
        declared: Declared::default(),
        timeout_ms: 0,
        visible: false,
    }
}

/// The plan after a command.
pub(super) fn plan_text(prompts: &Prompts, language: Language, plan: &Plan, bare: bool) -> String {
    let values = json!({"plan": lines(plan, |_| true), "bare": bare});
    prompts.render(language, prompt::PLAN_CHANGED, values)
}

/// What came of a round.
pub(super) fn round_text(
    prompts: &Prompts,
    language: Language,
    reports: &[TaskReport],
    plan: &Plan,
) -> String {
    // Why a step is blocked was said just before.
    let told = |step: &Step| reports.iter().any(|report| report.task.step() == Some(step.id));
    let reports: Vec<Value> = reports.iter().map(report_values).collect();
    let values = json!({"reports": reports, "plan": lines(plan, |step| !told(step))});
    prompts.render(language, prompt::PLAN_ROUND, values)
}

/// Reports that, together, have no more bytes than the window has tokens: about a quarter of it. The
/// longest texts are cut, all to the same length; if there are too many reports for that, the oldest are
/// left out.
pub(super) fn capped<'a>(
    reports: impl IntoIterator<Item = &'a TaskReport>,
    limit: u64,
) -> Vec<TaskReport> {
    let mut reports: Vec<TaskReport> = reports.into_iter().cloned().collect();
    let mut left = limit;
    let newest = reports.iter().rev().take_while(|report| {
        let fits = around(report) <= left;
        left = left.saturating_sub(around(report));
        fits
    });
    let out = reports.len() - newest.count();
    reports.drain(..out);
    let sizes: Vec<u64> = reports.iter().map(|report| report.text.len() as u64).collect();
    let most = usize::try_from(level(&sizes, left)).unwrap_or(usize::MAX);
    for report in &mut reports {
        let end = report.text.floor_char_boundary(most);
        if end < report.text.len() {
            let head = without_half(report.text.get(..end).unwrap_or_default()).len();
            report.text.truncate(head);
            report.text.push_str(prompt::CUT_MARK);
        }
    }
    reports
}

/// Bytes of a report besides its text.
fn around(report: &TaskReport) -> u64 {
    let files: usize = report.files.iter().map(|file| file.as_str().len()).sum();
    (report.words.len() + files) as u64
}

/// What fills a task's question.
pub(super) fn task_values(question: &str, task: &TaskAsked, limit: u64) -> Value {
    let before: Vec<Value> = capped(task.reports(), limit).iter().map(report_values).collect();
    json!({
        "query": question,
        "words": task.words,
        "before": before,
        "failed_before": task.failed_before.as_deref().unwrap_or_default(),
        "result": task.redo.as_ref().map(|redo| redo.result.as_str()).unwrap_or_default(),
        "wanted": task.redo.as_ref().map(|redo| redo.words.as_str()).unwrap_or_default(),
    })
}

fn report_values(report: &TaskReport) -> Value {
    let TaskReport { task, words, text, files, done, left_out, cut } = report;
    json!({
        "task": task, "words": words, "text": text, "files": files, "done": done,
        "left_out": left_out, "cut": cut,
    })
}

/// A plan as a list: id, status, words, what it waits for, and the notes of those with notes.
fn lines(plan: &Plan, with_note: impl Fn(&Step) -> bool) -> String {
    let line = |step| line(step, with_note(step));
    let lines: Vec<String> = plan.steps().iter().map(line).collect();
    format!("{}\n{}", plan.title, lines.join("\n"))
}

fn line(step: &Step, with_note: bool) -> String {
    let status = step.status.as_str();
    let on: Vec<String> = step.depends_on.iter().map(ToString::to_string).collect();
    let waits = if on.is_empty() { String::new() } else { format!(" <- {}", on.join(", ")) };
    let note = match step.note.as_str() {
        "" => String::new(),
        _ if !with_note => String::new(),
        note => format!(" ({note})"),
    };
    format!("{} [{status}] {}{waits}{note}", step.id, step.words())
}
