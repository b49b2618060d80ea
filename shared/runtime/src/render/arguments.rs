//! Arguments of agents in prompts.

use djinn_core::agent::{FILE_NAME_ARGUMENT, TASK_ARGUMENT};
use djinn_core::input::RunSpec;
use serde_json::{Value, json};

use crate::prompt;

/// The maximum characters of one argument.
const MAX_ARGUMENT: usize = 20_000;

/// Returns an argument for a prompt, cut to the maximum; an empty text if there is none.
pub(super) fn argument_value(spec: &RunSpec, name: &str) -> Value {
    match spec.argument(name) {
        Some(Value::String(text)) => prompt::truncate_text(&text, MAX_ARGUMENT).into(),
        Some(value) if value.to_string().len() <= MAX_ARGUMENT => value,
        Some(value) => prompt::truncate_text(&value.to_string(), MAX_ARGUMENT).into(),
        None => Value::String(String::new()),
    }
}

/// Returns the arguments besides the task, each with its name and its text.
pub(super) fn other_arguments(spec: &RunSpec) -> Vec<Value> {
    let others = spec.arguments.keys().filter(|name| *name != TASK_ARGUMENT);
    let others = others.map(|name| {
        let value = argument_value(spec, name);
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        json!({"name": name, "value": value})
    });
    others.collect()
}

/// Returns the arguments of a step's agent, besides its task and the name of its file.
pub(super) fn step_arguments(spec: &RunSpec) -> Vec<Value> {
    let mut arguments = other_arguments(spec);
    arguments.retain(|argument| argument.get("name") != Some(&FILE_NAME_ARGUMENT.into()));
    arguments
}
