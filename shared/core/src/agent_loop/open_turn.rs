//! The turn being worked on, and its calls.

use crate::conversation::Reasoning;
use crate::effect::{Effect, ToolInvocation};
use crate::entry::Event;
use crate::id::{EntryId, EntryName, HumanRequestId, MessageId};
use crate::tool::{EffectClass, OfferedTool, ToolArguments, ToolCall, ToolPolicy, ToolResult};

#[derive(Debug, Clone, PartialEq)]
pub(super) struct OpenTurn {
    pub(super) message: MessageId,
    pub(super) text: String,
    pub(super) reasoning: Option<Reasoning>,
    pub(super) calls: Vec<OpenCall>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct OpenCall {
    pub(super) call: ToolCall,
    pub(super) schema_hash: String,
    pub(super) class: EffectClass,
    pub(super) timeout_ms: u64,
    pub(super) policy: ToolPolicy,
    pub(super) crashes: u32,
    pub(super) started: bool,
    /// How often its tool interrupted it.
    pub(super) interrupts: u32,
    /// What a person has to answer before it is made.
    pub(super) held_for: Option<HumanRequestId>,
    pub(super) result: Option<ToolResult>,
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

    pub(super) fn due_effect(&self) -> Option<Effect> {
        self.is_due().then(|| {
            Effect::RunTool(ToolInvocation {
                call: self.call.clone(),
                schema_hash: self.schema_hash.clone(),
                policy: self.policy.clone(),
                class: self.class,
                timeout_ms: self.timeout_ms,
                attempt: 1 + self.crashes,
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
