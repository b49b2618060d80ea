//! The turn being worked on, and its calls.

use crate::conversation::Reasoning;
use crate::effect::{Effect, ToolRun};
use crate::entry::Event;
use crate::id::{FeedbackId, MessageId};
use crate::tool::{Arguments, Call, EffectClass, OfferedTool, Outcome};

#[derive(Debug, Clone, PartialEq)]
pub(super) struct OpenTurn {
    pub(super) message: MessageId,
    pub(super) text: String,
    pub(super) reasoning: Option<Reasoning>,
    pub(super) calls: Vec<OpenCall>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct OpenCall {
    pub(super) call: Call,
    pub(super) class: EffectClass,
    pub(super) timeout_ms: u64,
    /// Whether its result is text that anybody may have written.
    pub(super) untrusted: bool,
    pub(super) crashes: u32,
    pub(super) started: bool,
    /// How often its tool interrupted it.
    pub(super) round: u32,
    /// What a person has to answer before it is made.
    pub(super) held: Option<FeedbackId>,
    pub(super) outcome: Option<Outcome>,
}

impl OpenCall {
    pub(super) fn new(call: Call, tool: Option<&OfferedTool>, outcome: Option<Outcome>) -> Self {
        Self {
            call,
            class: tool.map_or(EffectClass::Read, |tool| tool.effect),
            timeout_ms: tool.map_or(0, |tool| tool.timeout_ms),
            untrusted: tool.is_some_and(|tool| tool.declared.untrusted),
            crashes: 0,
            started: false,
            round: 0,
            held: None,
            outcome,
        }
    }

    pub(super) fn is_started_once(&self) -> bool {
        self.class == EffectClass::Once && self.started
    }

    /// Whether it is to be made now, or is being made.
    pub(super) fn is_due(&self) -> bool {
        self.outcome.is_none() && self.held.is_none()
    }

    pub(super) fn due(&self) -> Option<Effect> {
        self.is_due().then(|| {
            Effect::RunTool(ToolRun {
                call: self.call.clone(),
                class: self.class,
                timeout_ms: self.timeout_ms,
                attempt: 1 + self.crashes,
                started: self.started,
                round: self.round,
                waits: false,
            })
        })
    }
}

pub(super) fn requested(call: &Call, tool: Option<&OfferedTool>) -> Event {
    let arguments = match &call.arguments {
        Arguments::Parsed(arguments) => serde_json::Value::Object(arguments.clone()),
        Arguments::Malformed { raw, .. } => serde_json::Value::String(raw.clone()),
    };
    Event::CallRequested {
        call: call.id.clone(),
        tool: call.tool.clone(),
        arguments,
        visible: tool.is_some_and(|tool| tool.visible),
    }
}

pub(super) fn completed(call: &Call, outcome: &Outcome) -> (String, Event) {
    let event = Event::CallCompleted { call: call.id.clone(), outcome: outcome.clone() };
    (format!("{}.result", call.id), event)
}
