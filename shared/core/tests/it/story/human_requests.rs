//! The lines of `human_requests.txt` as inputs, and the run that they are told to.

use djinn_core::human::{HumanResponse, Interrupt, ResponseRecord, digest_call};
use djinn_core::id::{CallId, HumanRequestId, MessageId, UserId};
use djinn_core::input::{Input, InterruptTarget, PlanEdit, RunSpec, UserMessage};
use djinn_core::plan::StepEdit;
use djinn_core::tool::{OfferedTool, Risk, ToolPolicy};
use serde_json::{Map, Value, json};

use crate::story::{self, machine};

pub(crate) fn asked_with_approval(question: &str) -> RunSpec {
    let mut asked = story::asked(question);
    asked.settings.human.enabled = true;
    asked
}

/// What the tools of these stories declare.
pub(crate) fn declared(tool: &OfferedTool) -> ToolPolicy {
    let risk = match tool.name.as_str() {
        "send" => Risk::High,
        "file_tool" => Risk::Medium,
        _ => Risk::Low,
    };
    let (sends_out, untrusted) = (tool.name == "send", tool.name == "read");
    ToolPolicy { risk, sends_out, untrusted, ..ToolPolicy::default() }
}

/// The same input, with tools that declare what they do.
pub(crate) fn with_declared(input: Input) -> Input {
    let Input::ModelReplied(mut replied) = input else { return input };
    for tool in &mut replied.offered {
        tool.policy = declared(tool);
    }
    Input::ModelReplied(replied)
}

pub(crate) fn answered(request: &str, answer: HumanResponse) -> ResponseRecord {
    ResponseRecord {
        request: HumanRequestId::new(request).unwrap(),
        id: "a1".to_owned(),
        by: Some(UserId::new("you").unwrap()),
        answer,
        comment: String::new(),
        digest: None,
        via: None,
    }
}

pub(crate) fn changed() -> Map<String, Value> {
    Map::from_iter([("of".to_owned(), json!("changed"))])
}

pub(crate) fn interrupt() -> Interrupt {
    Interrupt { code: "20006".to_owned(), message: "Out of credits.".to_owned(), key: None }
}

pub(crate) fn input(line: &str) -> Input {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    let answer = |answer| Input::HumanResponded(Box::new(answered(rest, answer)));
    match word {
        "confirm" => answer(HumanResponse::Confirm),
        "skip" => answer(HumanResponse::Skip),
        "halt" => answer(HumanResponse::Stop),
        "say" => answer(HumanResponse::Say { text: "Use the other one.".to_owned() }),
        "modify" => answer(HumanResponse::Modify { arguments: changed() }),
        "stale" => {
            let digest = Some(digest_call("file_tool", &changed()));
            let answered = ResponseRecord { digest, ..answered(rest, HumanResponse::Confirm) };
            Input::HumanResponded(Box::new(answered))
        }
        "expired" => Input::HumanRequestExpired { request: HumanRequestId::new(rest).unwrap() },
        "interrupted" => {
            let of = InterruptTarget::Call(CallId::new(rest).unwrap());
            Input::Interrupted { target: of, interrupt: interrupt() }
        }
        "model_interrupted" => {
            let of = InterruptTarget::Message(MessageId::new(rest).unwrap());
            Input::Interrupted { target: of, interrupt: interrupt() }
        }
        _ => with_declared(machine::input(line)),
    }
}

pub(crate) fn said(id: &str, text: &str) -> Input {
    let (id, by) = (id.to_owned(), UserId::new("you").unwrap());
    Input::UserMessageAdded(Box::new(UserMessage { id, by, text: text.to_owned() }))
}

pub(crate) fn edited(id: &str, version: u32, steps: Vec<StepEdit>) -> Input {
    let (id, by) = (id.to_owned(), UserId::new("you").unwrap());
    let title = String::new();
    Input::PlanEdited(Box::new(PlanEdit { id, by, version, title, steps }))
}
