//! Tool calls as dynamic tools, with approvals.

use std::collections::BTreeMap;

use djinn_core::human::{ASK_USER, HumanRequest};
use djinn_core::id::{CallId, HumanRequestId, Path};
use djinn_core::plan::PLANNING_TOOL;
use djinn_core::tool::{ToolFailure, ToolResult};
use djinn_text::truncate::truncate_text;
use serde_json::{Value, json};

use super::parts::ResponseParts;
use crate::call_progress::CallKey;

/// Maximum bytes of a result in a message.
const MAX_OUTPUT: usize = 20_000;

/// The calls without a result.
#[derive(Default)]
pub(super) struct Calls(BTreeMap<CallKey, Call>);

struct Call {
    tool: String,
    input: Value,
    /// True if users may see the result.
    has_visible_result: bool,
    place: Place,
    approval: Option<HumanRequestId>,
}

/// The place where the client shows a call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Nowhere,
    /// In the same message, from an earlier response.
    EarlierResponse,
    ThisResponse,
}

impl Calls {
    /// Shows a call of the run itself, except questions to the user and plans, which are shown as such.
    pub(super) fn request(
        &mut self,
        call: &CallId,
        tool: &str,
        arguments: &Value,
        has_visible_result: bool,
        parts: &mut ResponseParts,
    ) {
        if [ASK_USER, PLANNING_TOOL].contains(&tool) {
            return;
        }
        let key = CallKey { path: Path::default(), call: call.clone() };
        let input = arguments.clone();
        let place = Place::ThisResponse;
        let call = Call { tool: tool.to_owned(), input, has_visible_result, place, approval: None };
        parts.add(call.input_chunk(&key));
        self.0.insert(key, call);
    }

    /// Asks for approval of a call: of the run itself, or of a child.
    pub(super) fn ask_approval(
        &mut self,
        key: &CallKey,
        tool: &str,
        arguments: &Value,
        request: &HumanRequestId,
        parts: &mut ResponseParts,
    ) {
        let call = self.0.entry(key.clone()).or_insert_with(|| Call {
            tool: tool.to_owned(),
            input: Value::Null,
            has_visible_result: true,
            place: Place::Nowhere,
            approval: None,
        });
        let is_changed = call.input != *arguments;
        call.input = arguments.clone();
        call.approval = Some(request.clone());
        if call.place == Place::Nowhere || is_changed {
            parts.add(call.input_chunk(key));
            call.place = Place::ThisResponse;
        }
        parts.add(approval_chunk(key, request));
    }

    /// Shows that a request has a response.
    pub(super) fn close_approval(&mut self, request: &HumanRequestId, parts: &mut ResponseParts) {
        let mut calls = self.0.iter_mut();
        let Some((key, call)) = calls.find(|(_, call)| call.approval.as_ref() == Some(request))
        else {
            return;
        };
        call.approval = None;
        // The client that responded has closed the request of an earlier response itself.
        if call.place == Place::ThisResponse {
            parts.add(call.input_chunk(key));
        }
    }

    /// Shows the result of a call.
    pub(super) fn complete(
        &mut self,
        key: &CallKey,
        result: &ToolResult,
        parts: &mut ResponseParts,
    ) {
        let Some(call) = self.0.remove(key) else { return };
        if call.place == Place::Nowhere {
            parts.add(call.input_chunk(key));
        }
        let id = call_id(key);
        parts.add(match result {
            ToolResult::Done(output) => {
                let text = truncate_text(&output.text, MAX_OUTPUT);
                let output = if call.has_visible_result { json!(text) } else { Value::Null };
                json!({"type": "tool-output-available", "toolCallId": id, "output": output})
            }
            ToolResult::Failed { reason: ToolFailure::Skipped | ToolFailure::Unanswered, .. } => {
                json!({"type": "tool-output-denied", "toolCallId": id})
            }
            ToolResult::Failed { reason, detail } => {
                let detail = truncate_text(detail, MAX_OUTPUT);
                let error = [reason.as_str(), &detail].join(": ");
                let error = error.trim_end_matches(": ");
                json!({"type": "tool-output-error", "toolCallId": id, "errorText": error})
            }
            ToolResult::PlanRefused { error } => {
                json!({"type": "tool-output-error", "toolCallId": id, "errorText": error.to_string()})
            }
        });
    }

    /// Forgets the calls of a child that has ended.
    pub(super) fn forget_child(&mut self, child: &Path) {
        self.0.retain(|key, _| !key.path.is_within(child));
    }

    /// Begins another response. The client shows the calls so far if it knows the message; else the open approvals are
    /// shown again.
    pub(super) fn begin_response(&mut self, is_known: bool, parts: &mut ResponseParts) {
        for (key, call) in &mut self.0 {
            if is_known {
                call.place = Place::EarlierResponse;
                continue;
            }
            call.place = Place::Nowhere;
            if let Some(request) = &call.approval {
                call.place = Place::ThisResponse;
                parts.add(call.input_chunk(key));
                parts.add(approval_chunk(key, request));
            }
        }
    }

    pub(super) fn has_approvals(&self) -> bool {
        self.0.values().any(|call| call.approval.is_some())
    }
}

impl Call {
    fn input_chunk(&self, key: &CallKey) -> Value {
        json!({
            "type": "tool-input-available", "toolCallId": call_id(key), "toolName": self.tool, "input": self.input,
            "dynamic": true, "providerExecuted": true,
        })
    }
}

fn approval_chunk(key: &CallKey, request: &HumanRequestId) -> Value {
    json!({
        "type": "tool-approval-request", "approvalId": request, "toolCallId": call_id(key),
    })
}

/// Returns the id of a call, unique in the run.
fn call_id(key: &CallKey) -> String {
    let CallKey { path, call } = key;
    if path.is_root() { call.to_string() } else { format!("{path}.{call}") }
}

/// Returns the call that a request asks to approve.
pub(super) fn call_to_approve(request: &HumanRequest) -> Option<(CallKey, &str, Value)> {
    let subject = &request.subject;
    let (call, tool, arguments) = subject.call()?;
    if subject.is_question() || subject.can_continue() {
        return None;
    }
    let key = CallKey { path: request.id.path().clone(), call: call.clone() };
    Some((key, tool, json!(arguments)))
}
