//! The turn being worked on, and its calls.

use crate::budget::BudgetShare;
use crate::conversation::Reasoning;
use crate::crash::MAX_CRASHES;
use crate::effect::{ChildDispatch, Effect, ToolInvocation};
use crate::entry::Event;
use crate::id::{ChildId, EntryId, EntryName, HumanRequestId, MessageId};
use crate::tool::{
    EffectClass, OfferedTool, ToolArguments, ToolCall, ToolFailure, ToolPolicy, ToolResult,
};

#[derive(Debug, Clone, PartialEq)]
pub(super) struct OpenTurn {
    pub(super) message: MessageId,
    pub(super) text: String,
    pub(super) reasoning: Option<Reasoning>,
    pub(super) calls: Vec<OpenCall>,
    /// What is wrong with the text as an answer.
    pub(super) answer_problem: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct OpenCall {
    pub(super) call: ToolCall,
    pub(super) schema_hash: String,
    pub(super) class: EffectClass,
    pub(super) timeout_ms: u64,
    pub(super) policy: ToolPolicy,
    /// How many drivers died or stood still over it.
    pub(super) crashes: u32,
    pub(super) started: bool,
    /// How often its tool interrupted it.
    pub(super) interrupts: u32,
    /// What a person has to answer before it is made.
    pub(super) held_for: Option<HumanRequestId>,
    /// Of a call to an agent: what its run may use up, once that may begin.
    pub(super) share: Option<AgentShare>,
    pub(super) result: Option<ToolResult>,
}

/// What an agent that is called may use up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AgentShare {
    /// Its part of what its caller has left.
    pub budget: BudgetShare,
    /// How many runs below it may have invocations of their own.
    pub places: u32,
    /// Whether it is driven where its caller is.
    pub(super) alone: bool,
}

impl OpenCall {
    pub(super) fn new(
        call: ToolCall,
        tool: Option<&OfferedTool>,
        outcome: Option<ToolResult>,
    ) -> Self {
        Self {
            call,
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

    /// Whether it is to be made now, or is being made.
    pub(super) fn is_due(&self) -> bool {
        self.result.is_none() && self.held_for.is_none()
    }

    /// The number of the next attempt, from 1.
    pub(super) fn next_attempt(&self) -> u32 {
        1 + self.crashes
    }

    /// Gives the call up if it crashed too often, or has an unknown effect. Returns what viewers see of that.
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
        self.class == EffectClass::Agent
    }

    /// The run that answers it, if it is to an agent and may be made.
    pub(super) fn child_id(&self) -> Option<ChildId> {
        self.call.id.to_child().filter(|_| self.is_to_agent() && self.is_due())
    }

    pub(super) fn due_effect(&self) -> Option<Effect> {
        if self.is_to_agent() {
            let (child, alone) = (self.child_id()?, self.share?.alone);
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
