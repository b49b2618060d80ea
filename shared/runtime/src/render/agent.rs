//! The prompts of an agent: the instructions of its file, filled with the arguments.

use djinn_core::agent::{AgentContext, AgentSpec, AnswerFormat, TASK_ARGUMENT};
use djinn_core::effect::{ModelCall, ToolChoice};
use djinn_core::input::RunSpec;
use djinn_core::run::{Run, answer_file_name};
use djinn_core::tool::ToolSpec;
use serde_json::{Map, Value, json};

use super::arguments::{argument_value, other_arguments};
use super::attached::add_names;
use super::window::RequestBounds;
use super::{
    LoopPrompts, MAX_BASE_PROMPT, append_notes, format_date, mode_text, plan, style_text,
    system_text_with, to_listed_files, users_question,
};
use crate::prompt::{self, Prompts};

/// The variable of an agent's instructions with the instructions of the ReAct mode.
const MODE_PROMPT: &str = "mode_prompt";

/// The maximum characters of the filled instructions.
const MAX_BODY: usize = 60_000;

/// Returns the prompts of an agent besides the conversation.
pub(super) fn agent_prompts(
    prompts: &Prompts,
    run: &Run,
    agent: &AgentSpec,
    call: &ModelCall,
    tools: &[ToolSpec],
    bounds: RequestBounds,
) -> LoopPrompts {
    let spec = run.spec();
    let language = spec.settings.language;
    let next_step = match call.tool_choice {
        ToolChoice::None => prompts.render(language, prompt::AGENT_LAST_STEP, ()),
        ToolChoice::Auto | ToolChoice::Required | ToolChoice::Named(_) if run.is_child() => {
            let words = json!({"words": spec.description()});
            prompts.render(language, prompt::TASK_NEXT_STEP, words)
        }
        ToolChoice::Auto | ToolChoice::Required | ToolChoice::Named(_) => {
            prompts.render(language, prompt::REACT_NEXT_STEP, json!({"query": spec.question}))
        }
    };
    let step = spec.child.as_ref().filter(|child| child.child.task().is_some());
    let question = match step {
        Some(child) => plan::task_question(prompts, run, child, bounds),
        None => agent_question(prompts, run, bounds),
    };
    LoopPrompts { system: system_text(prompts, run, agent, tools), question, next_step }
}

/// Returns the prompts of an agent that makes a plan: the planner's prompts with the instructions of the
/// agent's file.
pub(super) fn planner_prompts(
    prompts: &Prompts,
    run: &Run,
    agent: &AgentSpec,
    tools: &[ToolSpec],
    bounds: RequestBounds,
) -> LoopPrompts {
    let language = run.spec().settings.language;
    // The planner's own instructions come first in any case.
    let body = render_body(prompts, run, agent, "");
    let query = json!({"query": run.spec().question});
    LoopPrompts {
        system: system_text_with(prompts, prompt::PLAN_SYSTEM, run, tools, &body),
        question: agent_question(prompts, run, bounds),
        next_step: prompts.render(language, prompt::PLAN_NEXT_STEP, query),
    }
}

/// Returns the instructions of the agent's file. Instructions about data and the answer surround them, unless
/// they contain the mode's own instructions, which have both.
fn system_text(prompts: &Prompts, run: &Run, agent: &AgentSpec, tools: &[ToolSpec]) -> String {
    let spec = run.spec();
    let base_prompt = prompt::truncate_text(&spec.base_prompt, MAX_BASE_PROMPT);
    let mode_prompt = if agent.prompt.contains(MODE_PROMPT) {
        mode_text(prompts, prompt::REACT_SYSTEM, run, tools, &base_prompt)
    } else {
        String::new()
    };
    let body = render_body(prompts, run, agent, &mode_prompt);
    if !mode_prompt.is_empty() && body.contains(&mode_prompt) {
        return append_notes(prompts, run, body);
    }
    let (form, schema) = match &agent.answer {
        AnswerFormat::Text if run.is_child() => ("text", String::new()),
        AnswerFormat::Text => ("user", String::new()),
        AnswerFormat::File => ("file", String::new()),
        AnswerFormat::Json(schema) => ("json", schema.to_string()),
    };
    let file = answer_file_name(spec).map(|name| name.to_string()).unwrap_or_default();
    let values = json!({
        "body": body, "form": form, "schema": schema, "file": file, "base_prompt": base_prompt,
        "output_style": style_text(prompts, run),
    });
    let language = spec.settings.language;
    append_notes(prompts, run, prompts.render(language, prompt::AGENT_INSTRUCTIONS, values))
}

fn render_body(prompts: &Prompts, run: &Run, agent: &AgentSpec, mode_prompt: &str) -> String {
    let mut values = body_values(run, agent);
    values.insert(MODE_PROMPT.to_owned(), mode_prompt.into());
    prompts.render_text(&agent.prompt, &agent.name, Value::Object(values), MAX_BODY)
}

/// Returns the values for the instructions: the arguments by name, and the values available to every agent.
fn body_values(run: &Run, agent: &AgentSpec) -> Map<String, Value> {
    let parameters = agent.parameters.get("properties").and_then(Value::as_object);
    let names = parameters.into_iter().flat_map(Map::keys);
    let mut values: Map<String, Value> =
        names.map(|name| (name.clone(), argument_value(run.spec(), name))).collect();
    let files = match agent.context {
        AgentContext::None => Vec::new(),
        AgentContext::Files | AgentContext::Conversation => to_listed_files(run.files().all()),
    };
    let spec = run.spec();
    values.insert("files".to_owned(), json!(files));
    values.insert("date".to_owned(), format_date(run).into());
    values.insert("time_zone".to_owned(), spec.settings.time_zone.as_str().into());
    let base_prompt = prompt::truncate_text(&spec.base_prompt, MAX_BASE_PROMPT);
    values.insert("base_prompt".to_owned(), base_prompt.into());
    values
}

/// Renders the question of the agent, with the names of its attached files.
fn agent_question(prompts: &Prompts, run: &Run, bounds: RequestBounds) -> String {
    let spec = run.spec();
    let language = spec.settings.language;
    let render = |values: Value| prompts.render(language, prompt::AGENT_QUESTION, values);
    if run.is_child() {
        return add_names(prompts, run, &render(question_values(spec)), bounds);
    }
    if spec.arguments.is_empty() {
        return users_question(prompts, run, bounds);
    }
    let task = add_names(prompts, run, &spec.question, bounds);
    render(json!({"task": task, "arguments": other_arguments(spec)}))
}

/// Returns the values of a called agent's question: the task, and the other arguments.
fn question_values(spec: &RunSpec) -> Value {
    let has_task = spec.arguments.contains_key(TASK_ARGUMENT) || spec.arguments.is_empty();
    let task = if has_task { argument_value(spec, TASK_ARGUMENT) } else { Value::Null };
    json!({"task": task, "arguments": other_arguments(spec)})
}
