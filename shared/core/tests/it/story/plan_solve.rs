//! The lines of `plan_solve.txt` as inputs.

use djinn_core::input::Input;
use djinn_core::status::RunStatus;
use serde_json::{Value, json};

use crate::story::{self, machine};

pub(crate) fn input(line: &str) -> Input {
    let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
    match verb {
        "plans" => {
            let (message, command) = rest.split_once(' ').unwrap();
            story::planned(message, &arguments(command))
        }
        "says" => {
            let (message, text) = rest.split_once(' ').unwrap();
            story::replied(message, text.trim_matches('"'), &[])
        }
        "task_done" => story::task_ended(rest, RunStatus::Finished, "It is done."),
        "task_stopped" => story::task_ended(rest, RunStatus::Stopped, "Stopped."),
        "task_failed" => story::task_ended(rest, RunStatus::Failed, "It cannot be done."),
        _ => machine::input(line),
    }
}

/// `create a; b; c<1,2`, `mark 2 completed`, `finish`. If a step says what it waits for, so do all.
pub(crate) fn arguments(command: &str) -> Value {
    let (verb, rest) = command.split_once(' ').unwrap_or((command, ""));
    match verb {
        "mark" => {
            let (step, status) = rest.split_once(' ').unwrap();
            json!({"command": "mark_step", "step_index": step, "step_status": status})
        }
        "finish" => json!({"command": "finish"}),
        verb => {
            let parts: Vec<(&str, Option<&str>)> = rest
                .split("; ")
                .map(|step| step.split_once('<').map_or((step, None), |(s, on)| (s, Some(on))))
                .collect();
            let steps: Vec<&str> = parts.iter().map(|(step, _)| step.trim()).collect();
            let mut arguments = json!({"command": verb, "title": "t", "steps": steps});
            if parts.iter().any(|(_, on)| on.is_some()) {
                let numbers = |on: Option<&str>| -> Vec<u64> {
                    on.unwrap_or("").split(',').filter_map(|n| n.trim().parse().ok()).collect()
                };
                arguments["depends_on"] = parts.iter().map(|(_, on)| json!(numbers(*on))).collect();
            }
            arguments
        }
    }
}
