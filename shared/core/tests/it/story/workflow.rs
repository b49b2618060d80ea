//! The lines of `workflow.txt` as inputs, and the workflow that they are told to.

use djinn_core::agent::{AgentContext, AgentSpec, AnswerFormat, ToolChoiceRule};
use djinn_core::human::HumanResponse;
use djinn_core::input::{Input, RunSpec};
use djinn_core::settings::{Machine, Role};
use djinn_core::status::RunStatus;
use djinn_core::tool::Risk;
use djinn_core::workflow::Workflow;
use serde_json::{Value, json};

use crate::story::confirm::one;
use crate::story::human_requests::answered;
use crate::story::{self, human_requests};

/// The workflow of most cases: a list, a step for each of its items, a check, and a report.
pub(crate) fn workflow() -> Value {
    json!({
        "title": "Weekly",
        "steps": [
            {"id": "split", "task": "Split {{ file }}.", "depends_on": [], "retry": 0},
            {"id": "each", "task": "Sum up {{ item }}.", "depends_on": [0], "retry": 1,
             "for_each": "steps.split", "on_error": "skip"},
            {"id": "check", "task": "Check {{ steps.each }}.", "depends_on": [1], "retry": 1,
             "when": "detail == full", "confirm": true},
            {"id": "report", "agent": "writer", "depends_on": [1, 2], "retry": 1,
             "task": "Report on {{ steps.each }} of {{ file }} ({{ steps.split.0 }} first).",
             "arguments": {"parts": "{{ steps.each }}", "name": "{{ file }}.md", "style": "{{ detail }}",
                           "none": "{{ steps.split.9 }}"}},
        ],
        "answer": "Written: {{ steps.report }}",
    })
}

/// A question to a workflow with two parameters, of which `file` is required.
pub(crate) fn asked_for(workflow: Value, arguments: &Value) -> RunSpec {
    let agent = AgentSpec {
        name: "weekly".to_owned(),
        description: "Reports on a week.".to_owned(),
        prompt: "Weekly.".to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "file": {"type": "string", "description": "The table."},
                "detail": {"type": "string"},
            },
            "required": ["file"],
        }),
        tools: Vec::new(),
        model: Role::Executor,
        machine: Machine::Workflow,
        max_steps: 1_000,
        max_calls: None,
        max_result_chars: None,
        first_tool: None,
        before: Vec::new(),
        after: None,
        answer: AnswerFormat::Text,
        context: AgentContext::Conversation,
        risk: Risk::Low,
        entry: true,
        title: None,
        agent_type: None,
        tool_choice: ToolChoiceRule::Auto,
        stop_at: Vec::new(),
        hands_over: Vec::new(),
        review: None,
        workflow: Some(Box::new(serde_json::from_value::<Workflow>(workflow).unwrap())),
    };
    let mut asked = story::asked("why?");
    asked.settings.mode = "weekly".to_owned();
    asked.arguments = arguments.as_object().unwrap().clone();
    asked.with_agent(agent)
}

pub(crate) fn asked(_: &str) -> RunSpec {
    asked_for(workflow(), &json!({"file": "sales.csv", "detail": "full"}))
}

/// A workflow that may ask for what is missing.
pub(crate) fn asked_without_file(_: &str) -> RunSpec {
    let mut asked = asked_for(workflow(), &json!({}));
    asked.settings.human.clarify = true;
    asked
}

pub(crate) fn input(line: &str) -> Input {
    let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
    let (id, text) = rest.split_once(' ').unwrap_or((rest, "It is done."));
    let answer = |answer| Input::HumanResponded(Box::new(answered(id, answer)));
    match verb {
        "ends" => story::task_ended(id, RunStatus::Finished, text),
        "stops" => story::task_ended(id, RunStatus::Stopped, "Stopped."),
        "fails" => story::task_ended(id, RunStatus::Failed, "It cannot be done."),
        "says" => answer(HumanResponse::Say { text: text.to_owned() }),
        "blank" => answer(HumanResponse::Say { text: " ".to_owned() }),
        "reword" => answer(HumanResponse::Modify { arguments: one("details", text) }),
        "message" => human_requests::said("m1", "Be quick."),
        _ => human_requests::input(line),
    }
}
