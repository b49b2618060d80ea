//! The open turn and its calls.

use crate::budget::BudgetShare;
use crate::conversation::Reasoning;
use crate::crash::MAX_CRASHES;
use crate::effect::{ChildDispatch, Effect, ToolInvocation};
use crate::entry::Event;
use crate::id::{CallId, ChildId, EntryId, EntryName, HumanRequestId, MessageId};
use crate::input::{FinishReason, Reply};
use crate::settings::Role;
use crate::tool::{
    EffectClass, OfferedTool, ToolArguments, ToolCall, ToolFailure, ToolPolicy, ToolResult,
};

#[derive(Debug, Clone, PartialEq)]
pub(super) struct OpenTurn {
    pub(super) message: MessageId,
    pub(super) text: String,
    pub(super) reasoning: Option<Reasoning>,
    pub(super) calls: Vec<OpenCall>,
    /// The problem of the text as an answer.
    pub(super) answer_problem: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct OpenCall {
    pub(super) call: ToolCall,
    /// The role whose model works as the called agent, in place of the agent's own role.
    pub(super) model: Option<Role>,
    pub(super) schema_hash: String,
    pub(super) class: EffectClass,
    pub(super) timeout_ms: u64,
    pub(super) policy: ToolPolicy,
    /// The number of crashes and standstills during the call.
    pub(super) crashes: u32,
    pub(super) started: bool,
    /// The number of times that the tool interrupted the call.
    pub(super) interrupts: u32,
    /// The human request that the call waits for.
    pub(super) held_for: Option<HumanRequestId>,
    /// The share of an agent call whose run may begin.
    pub(super) share: Option<AgentShare>,
    pub(super) result: Option<ToolResult>,
}

impl OpenTurn {
    /// Returns the due effects. The run is handed over after all other calls have their results.
    pub(super) fn due(&self) -> Vec<Effect> {
        let can_start = |open: &&OpenCall| !open.hands_over() || self.is_last_open(&open.call.id);
        self.calls.iter().filter(can_start).filter_map(OpenCall::due_effect).collect()
    }

    /// Returns true if no other call lacks its result.
    pub(super) fn is_last_open(&self, call: &CallId) -> bool {
        self.calls.iter().all(|open| open.result.is_some() || open.call.id == *call)
    }
}

/// The share of an agent that is called.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AgentShare {
    /// The part of its caller's remaining budget.
    pub budget: BudgetShare,
    /// Maximum runs below that may have their own invocations.
    pub places: u32,
    /// True if the caller's driver drives the agent.
    pub(super) alone: bool,
}

impl OpenCall {
    pub(super) fn new(
        call: ToolCall,
        model: Option<Role>,
        tool: Option<&OfferedTool>,
        outcome: Option<ToolResult>,
    ) -> Self {
        Self {
            call,
            model,
            schema_hash: tool.map_or_else(String::new, |tool| tool.schema_hash.clone()),
            class: tool.map_or(EffectClass::Read, |tool| tool.effect),
            timeout_ms: tool.map_or(0, |tool| tool.timeout_ms),
            policy: tool.map_or_else(ToolPolicy::default, |tool| tool.policy.clone()),
            crashes: 0,
            started: false,
            interrupts: 0,
            held_for: None,
            share: None,
            result: outcome,
        }
    }

    pub(super) fn is_started_once(&self) -> bool {
        self.class == EffectClass::Once && self.started
    }

    /// Returns true if the call is due or in progress.
    pub(super) fn is_due(&self) -> bool {
        self.result.is_none() && self.held_for.is_none()
    }

    /// Returns the number of the next attempt, from 1.
    pub(super) fn next_attempt(&self) -> u32 {
        1 + self.crashes
    }

    /// Gives up a call that crashed too often or has an unknown effect, and returns the event for viewers.
    pub(super) fn give_up_if_crashed(&mut self) -> Option<(EntryId, Event)> {
        let reason = if self.is_started_once() {
            ToolFailure::Uncertain
        } else if self.crashes >= MAX_CRASHES {
            ToolFailure::Crashed
        } else {
            return None;
        };
        let result = ToolResult::Failed { reason, detail: String::new() };
        let event = result_event(&self.call, &result);
        self.result = Some(result);
        Some(event)
    }

    pub(super) fn is_to_agent(&self) -> bool {
        self.class == EffectClass::Agent && !self.hands_over()
    }

    /// Returns true if the call hands the run over to another agent.
    pub(super) fn hands_over(&self) -> bool {
        self.policy.hands_over
    }

    /// Returns the run that answers an agent call, if the call is due.
    pub(super) fn child_id(&self) -> Option<ChildId> {
        self.call.id.to_child().filter(|_| self.is_to_agent() && self.is_due())
    }

    pub(super) fn due_effect(&self) -> Option<Effect> {
        if self.is_to_agent() {
            let child = self.child_id()?;
            let alone = self.share?.alone;
            let dispatch = ChildDispatch { child, alone, crashes: self.crashes, waits: false };
            return Some(Effect::RunChild(dispatch));
        }
        self.is_due().then(|| {
            Effect::RunTool(ToolInvocation {
                call: self.call.clone(),
                schema_hash: self.schema_hash.clone(),
                policy: self.policy.clone(),
                class: self.class,
                timeout_ms: self.timeout_ms,
                attempt: self.next_attempt(),
                started: self.started,
                interrupts: self.interrupts,
                waits: false,
            })
        })
    }
}

/// Returns the event of a model's reply.
pub(super) fn completed_event(message: &MessageId, reply: &Reply, text: &str) -> (EntryId, Event) {
    let event = Event::MessageCompleted {
        message: message.clone(),
        text: text.to_owned(),
        reasoning: reply.reasoning.as_ref().map(|reasoning| reasoning.text.clone()),
        truncated: reply.finish != FinishReason::Done,
        finish: reply.finish,
        answer: false,
        draft: false,
        usage: reply.usage,
    };
    (EntryId::of_message(message, EntryName::Message), event)
}

pub(super) fn requested_event(call: &ToolCall, tool: Option<&OfferedTool>) -> (EntryId, Event) {
    let arguments = match &call.arguments {
        ToolArguments::Parsed(arguments) => serde_json::Value::Object(arguments.clone()),
        ToolArguments::Malformed { raw, .. } => serde_json::Value::String(raw.clone()),
    };
    let event = Event::CallRequested {
        call: call.id.clone(),
        tool: call.tool.clone(),
        arguments,
        visible: tool.is_some_and(|tool| tool.visible),
    };
    (EntryId::of_call(&call.id, EntryName::Call), event)
}

pub(super) fn result_event(call: &ToolCall, outcome: &ToolResult) -> (EntryId, Event) {
    let event = Event::CallCompleted { call: call.id.clone(), result: outcome.clone() };
    (EntryId::of_call(&call.id, EntryName::CallResult), event)
}
