//! Plans and tasks in prompts, and the planner's tool.

use djinn_core::conversation::{ChildReport, ConversationItem};
use djinn_core::human::ASK_USER;
use djinn_core::input::ChildSpec;
use djinn_core::language::Language;
use djinn_core::plan::{PLANNING_TOOL, Plan, Step};
use djinn_core::run::Run;
use djinn_core::tool::{EffectClass, ToolPolicy, ToolSpec};
use djinn_text::shorten::find_cut_level;
use djinn_text::urls::trim_partial_placeholder;
use serde_json::{Value, json};

use super::MAX_USER_QUESTIONS;
use super::arguments::step_arguments;
use super::attached::add_names;
use super::window::RequestBounds;
use crate::prompt::{self, Prompts};

/// The maximum number of choices of a question to the user.
const MAX_CHOICES: usize = 6;

/// Returns the planning tool. With `agents`, steps may name an agent. The run itself answers the calls, when
/// the reply is recorded.
pub(crate) fn planning_tool(prompts: &Prompts, language: Language, agents: bool) -> ToolSpec {
    let words = prompts.describe_tool(language, prompt::TOOL_PLANNING);
    let parameter = |name: &str, schema: Value| {
        let mut schema = schema;
        if let Some(members) = schema.as_object_mut() {
            let words = words.parameters.get(name).cloned().unwrap_or_default();
            members.insert("description".to_owned(), words.into());
        }
        (name.to_owned(), schema)
    };
    let agents =
        agents.then(|| parameter("agents", json!({"type": "array", "items": {"type": "string"}})));
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
    .chain(agents)
    .collect();
    ToolSpec {
        name: PLANNING_TOOL.to_owned(),
        description: words.description,
        schema: json!({"type": "object", "properties": properties, "required": ["command"]}),
        effect: EffectClass::Read,
        policy: ToolPolicy::default(),
        timeout_ms: 0,
        visible: false,
    }
}

/// Returns true if the model may ask the user: only before any other work.
pub(super) fn can_ask_user(run: &Run) -> bool {
    let is_first = |item: &ConversationItem| match item {
        ConversationItem::Turn(turn) => turn.calls.iter().all(|(call, _)| call.tool == ASK_USER),
        ConversationItem::Nudge(_) | ConversationItem::UserMessage(_) => true,
        ConversationItem::Round { .. }
        | ConversationItem::PlanEdited(_)
        | ConversationItem::Review(_) => false,
    };
    let items = &run.conversation().items;
    !run.is_child()
        && run.spec().settings.human.clarify
        && items.len() < MAX_USER_QUESTIONS
        && items.iter().all(is_first)
}

/// Returns the tool for questions of the model to its user.
pub(crate) fn ask_user_tool(prompts: &Prompts, language: Language) -> ToolSpec {
    let mut words = prompts.describe_tool(language, prompt::TOOL_ASK_USER);
    let about = words.parameters.remove("questions").unwrap_or_default();
    let choices = json!({
        "type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": MAX_CHOICES,
    });
    let with_choices = json!({
        "type": "object", "properties": {"question": {"type": "string"}, "choices": choices},
        "required": ["question", "choices"],
    });
    let questions = json!({
        "type": "array", "items": {"anyOf": [{"type": "string"}, with_choices]},
        "minItems": 1, "maxItems": 5, "description": about,
    });
    ToolSpec {
        name: ASK_USER.to_owned(),
        description: words.description,
        schema: json!({
            "type": "object", "properties": {"questions": questions}, "required": ["questions"],
        }),
        effect: EffectClass::Read,
        policy: ToolPolicy::default(),
        timeout_ms: 0,
        visible: false,
    }
}

/// Renders the plan after a command.
pub(super) fn plan_text(prompts: &Prompts, language: Language, plan: &Plan, bare: bool) -> String {
    let values = json!({"plan": format_plan(plan, |_| true), "bare": bare});
    prompts.render(language, prompt::PLAN_CHANGED, values)
}

/// Renders the results of a round.
pub(super) fn round_text(
    prompts: &Prompts,
    language: Language,
    reports: &[ChildReport],
    plan: &Plan,
) -> String {
    // The reports already state why a step is blocked.
    let has_report = |step: &Step| reports.iter().any(|report| report.step_id() == Some(step.id));
    let reports: Vec<Value> =
        reports.iter().map(|report| report_values(report, language)).collect();
    let values = json!({"reports": reports, "plan": format_plan(plan, |step| !has_report(step))});
    prompts.render(language, prompt::PLAN_ROUND, values)
}

/// Limits the reports to as many bytes as the window has tokens, about a quarter of the window. The longest
/// texts are cut to a common length. If there are still too many reports, the oldest are dropped.
pub(super) fn cap_reports<'a>(
    reports: impl IntoIterator<Item = &'a ChildReport>,
    limit: u64,
) -> Vec<ChildReport> {
    let mut reports: Vec<ChildReport> = reports.into_iter().cloned().collect();
    let mut free_bytes = limit;
    let newest = reports.iter().rev().take_while(|report| {
        let fits = report_overhead(report) <= free_bytes;
        free_bytes = free_bytes.saturating_sub(report_overhead(report));
        fits
    });
    let out = reports.len() - newest.count();
    reports.drain(..out);
    let sizes: Vec<u64> = reports.iter().map(|report| report.text.len() as u64).collect();
    let most = usize::try_from(find_cut_level(&sizes, free_bytes)).unwrap_or(usize::MAX);
    for report in &mut reports {
        let end = report.text.floor_char_boundary(most);
        if end < report.text.len() {
            let head = trim_partial_placeholder(report.text.get(..end).unwrap_or_default()).len();
            report.text.truncate(head);
            report.text.push_str(prompt::CUT_MARK);
        }
    }
    reports
}

/// Returns the bytes of a report besides its text.
fn report_overhead(report: &ChildReport) -> u64 {
    let files: usize = report.files.iter().map(|file| file.as_str().len()).sum();
    (report.description.len() + files) as u64
}

/// Renders the question of a task.
pub(super) fn task_question(
    prompts: &Prompts,
    run: &Run,
    task: &ChildSpec,
    bounds: RequestBounds,
) -> String {
    let spec = run.spec();
    let language = spec.settings.language;
    let question = add_names(prompts, run, &spec.question, bounds);
    let before = cap_reports(task.reports(), bounds.tokens);
    let before: Vec<Value> = before.iter().map(|report| report_values(report, language)).collect();
    let failed_before = task.previous_failure.as_ref().map(|report| report.full_text(language));
    let values = json!({
        "query": question,
        "words": task.description,
        "before": before,
        "failed_before": failed_before.unwrap_or_default(),
        "result": task.revision.as_ref().map(|redo| redo.previous_result.as_str()).unwrap_or_default(),
        "arguments": step_arguments(spec),
        "wanted": task.revision.as_ref().map(|redo| redo.instructions.as_str()).unwrap_or_default(),
    });
    prompts.render(language, prompt::TASK_QUESTION, values)
}

fn report_values(report: &ChildReport, language: Language) -> Value {
    json!({
        "task": report.child, "words": report.description, "text": report.full_text(language),
        "files": report.files, "done": report.done, "left_out": report.skipped,
        "cut": report.truncated, "changed": report.edit_comment.is_some(),
        "comment": report.edit_comment.as_deref().unwrap_or_default(),
    })
}

/// Formats a plan as a list: id, status, label, dependencies, and notes if `with_note` returns true.
fn format_plan(plan: &Plan, with_note: impl Fn(&Step) -> bool) -> String {
    let line = |step| format_step(step, with_note(step));
    let lines: Vec<String> = plan.steps().iter().map(line).collect();
    format!("{}\n{}", plan.title, lines.join("\n"))
}

fn format_step(step: &Step, with_note: bool) -> String {
    let status = step.status.as_str();
    let on: Vec<String> = step.depends_on.iter().map(ToString::to_string).collect();
    let waits = if on.is_empty() { String::new() } else { format!(" <- {}", on.join(", ")) };
    let note = match step.note.as_str() {
        "" => String::new(),
        _ if !with_note => String::new(),
        note => format!(" ({note})"),
    };
    format!("{} [{status}] {}{waits}{note}", step.id, step.label())
}
