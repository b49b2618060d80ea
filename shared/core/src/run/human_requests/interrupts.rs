//! Model calls that a provider or a budget stopped: a person is asked whether they are made again.

use std::collections::BTreeMap;

use crate::estimate::Estimate;
use crate::human::{HumanRequest, Interrupt, Subject};
use crate::id::{HumanRequestId, MessageId, sha256_hex};
use crate::tool::Risk;

/// The model call that waits for a person, and how often each was interrupted.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Interrupts {
    /// The message whose call is not to be made again yet.
    held: Option<MessageId>,
    counts: BTreeMap<MessageId, u32>,
}

impl Interrupts {
    /// Whether the call that writes this message waits for a person.
    pub(super) fn holds(&self, message: &MessageId) -> bool {
        self.held.as_ref() == Some(message)
    }

    /// Whether any call does.
    pub(super) fn holds_any(&self) -> bool {
        self.held.is_some()
    }

    /// How often the call that writes this message was interrupted.
    pub(super) fn count_of(&self, message: &MessageId) -> u32 {
        self.counts.get(message).copied().unwrap_or_default()
    }

    /// Holds the call that writes this message back: what a person is asked about it. `None` if it is
    /// held already.
    pub(super) fn hold(
        &mut self,
        message: &MessageId,
        interrupt: Interrupt,
    ) -> Option<HumanRequest> {
        if self.holds(message) {
            return None;
        }
        let count = self.counts.entry(message.clone()).or_default();
        *count += 1;
        let id = HumanRequestId::of_model_interrupt(message, *count);
        self.held = Some(message.clone());
        Some(HumanRequest {
            digest: sha256_hex(id.to_string().as_bytes()),
            id,
            child: None,
            subject: Subject::ModelInterrupt { message: message.clone(), interrupt },
            risk: Risk::Low,
            reasons: Vec::new(),
            estimate: Estimate::default(),
            expires_at_ms: None,
        })
    }

    /// No call waits for a person any more.
    pub(super) fn release(&mut self) {
        self.held = None;
    }
}
