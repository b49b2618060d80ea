//! Calls that are held back until a user responds.

use std::collections::BTreeSet;

use serde_json::Value;

use super::open_turn::result_event;
use super::{AgentLoop, LoopStage, TurnUpdate};
use crate::estimate::Estimate;
use crate::human::{
    ASK_USER, HumanRequest, HumanResponse, Interrupt, Reason, ResponseRecord, Subject,
    approval_reasons, call_risk, digest_call,
};
use crate::id::{CallId, HumanRequestId};
use crate::input::FinishReason;
use crate::settings::RunSettings;
use crate::tool::{
    EffectClass, OfferedTool, ResultView, Risk, ToolArguments, ToolCall, ToolFailure, ToolOutput,
    ToolResult,
};

impl AgentLoop {
    /// Returns the model's text before the open turn's calls.
    #[must_use]
    pub fn open_turn_text(&self) -> &str {
        match &self.stage {
            LoopStage::Acting(turn) => &turn.text,
            LoopStage::Thinking(_) => "",
        }
    }

    /// Returns true if the agent has read text that anybody may have written.
    #[must_use]
    pub fn is_tainted(&self) -> bool {
        self.tainted
    }

    /// Marks the agent as having read text that anybody may have written.
    pub fn taint(&mut self) {
        self.tainted = true;
    }

    /// Holds back the open turn's calls that need approval. If human requests are disabled, a call that
    /// only reads is rejected at once if untrusted text is the only reason.
    pub(super) fn hold_calls(
        &mut self,
        offered: &[OfferedTool],
        settings: &RunSettings,
        known_urls: &BTreeSet<String>,
        update: &mut TurnUpdate,
    ) {
        let settings = &settings.human;
        let is_tainted = self.tainted;
        let LoopStage::Acting(turn) = &mut self.stage else { return };
        let tool_of = |call: &ToolCall| offered.iter().find(|tool| tool.name == call.tool);
        let due = turn.calls.iter().filter(|open| open.is_due());
        let estimates = due.filter_map(|open| tool_of(&open.call)).map(|tool| tool.policy.estimate);
        let estimate = estimates.reduce(Estimate::combine_with).unwrap_or_default();
        let costs = settings.enabled && settings.cost.is_exceeded_by(&estimate);
        for open in turn.calls.iter_mut().filter(|open| open.is_due()) {
            let Some(tool) = tool_of(&open.call) else { continue };
            let ToolArguments::Parsed(arguments) = &open.call.arguments else { continue };
            let mut reasons = approval_reasons(settings, tool, arguments, is_tainted, known_urls);
            if costs && !settings.is_auto_confirmed(&tool.name) {
                reasons.push(Reason::Cost);
            }
            if reasons.is_empty() {
                continue;
            }
            if reasons == [Reason::Untrusted]
                && !settings.enabled
                && tool.effect == EffectClass::Read
            {
                let reason = ToolFailure::Untrusted;
                let result = ToolResult::Failed { reason, detail: String::new() };
                update.events.push(result_event(&open.call, &result));
                open.result = Some(result);
                continue;
            }
            let ask = HumanRequest {
                id: HumanRequestId::of_call(&open.call.id),
                child: None,
                risk: call_risk(settings, tool, arguments),
                reasons,
                estimate: tool.policy.estimate,
                digest: digest_call(&tool.name, arguments),
                expires_at_ms: None,
                subject: Subject::Call {
                    call: open.call.id.clone(),
                    tool: tool.name.clone(),
                    arguments: arguments.clone(),
                },
            };
            open.held_for = Some(ask.id.clone());
            update.requests.push(ask);
        }
    }

    /// Returns a call of the open turn that has no result.
    #[must_use]
    pub fn find_open_call(&self, call: &CallId) -> Option<&ToolCall> {
        let LoopStage::Acting(turn) = &self.stage else { return None };
        let open = turn.calls.iter().find(|open| open.call.id == *call && open.is_due())?;
        Some(&open.call)
    }

    /// Holds an interrupted tool call and returns the human request. `None` if the call is not due.
    pub fn interrupt_call(&mut self, call: &CallId, interrupt: &Interrupt) -> Option<HumanRequest> {
        let open = self.open_call(call).filter(|open| open.is_due())?;
        let ToolArguments::Parsed(arguments) = &open.call.arguments else { return None };
        open.interrupts += 1;
        (open.started, open.crashes) = (false, 0);
        let ask = HumanRequest {
            id: HumanRequestId::of_call_interrupt(call, open.interrupts),
            child: None,
            risk: Risk::Low,
            reasons: Vec::new(),
            estimate: Estimate::default(),
            digest: digest_call(&open.call.tool, arguments),
            expires_at_ms: None,
            subject: Subject::CallInterrupt {
                call: open.call.id.clone(),
                tool: open.call.tool.clone(),
                arguments: arguments.clone(),
                interrupt: interrupt.clone(),
            },
        };
        open.held_for = Some(ask.id.clone());
        Some(ask)
    }

    /// Processes a response about a call, which becomes due or receives a result. `None` if no call waits for
    /// the response. The model reads a change and its comment.
    pub fn resolve_request(
        &mut self,
        request: &HumanRequestId,
        response: &ResponseRecord,
    ) -> Option<TurnUpdate> {
        let LoopStage::Acting(turn) = &mut self.stage else { return None };
        let open = turn.calls.iter_mut().find(|open| open.held_for.as_ref() == Some(request))?;
        open.held_for = None;
        let mut update = TurnUpdate::default();
        let asks_user = open.call.tool == ASK_USER;
        let outcome = match &response.answer {
            // Consent and changed arguments both answer a question.
            HumanResponse::Confirm if asks_user => user_answer("yes"),
            HumanResponse::Modify { arguments } if asks_user => {
                user_answer(&Value::Object(arguments.clone()).to_string())
            }
            HumanResponse::Say { text } if asks_user => user_answer(text),
            HumanResponse::Confirm => return Some(update),
            HumanResponse::Modify { arguments } => {
                open.call.arguments = ToolArguments::Parsed(arguments.clone());
                open.call.edit_comment = Some(response.comment.clone());
                return Some(update);
            }
            // A stopped run answers the call itself.
            HumanResponse::Skip | HumanResponse::Stop => {
                let is_timeout = response.by.is_none();
                let reason =
                    if is_timeout { ToolFailure::Unanswered } else { ToolFailure::Skipped };
                ToolResult::Failed { reason, detail: String::new() }
            }
            HumanResponse::Say { text } => {
                ToolResult::Failed { reason: ToolFailure::Answered, detail: text.clone() }
            }
        };
        update.events.push(result_event(&open.call, &outcome));
        open.result = Some(outcome);
        self.close_turn_if_complete(FinishReason::Done, &mut update);
        Some(update)
    }
}

/// Returns the result of a model's question.
fn user_answer(text: &str) -> ToolResult {
    ToolResult::Done(ToolOutput { view: ResultView::UserAnswer, ..ToolOutput::from_text(text) })
}
