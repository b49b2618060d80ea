//! Model calls that a provider or a budget interrupted. A user decides if they are repeated.

use std::collections::BTreeMap;

use crate::estimate::Estimate;
use crate::human::{HumanRequest, Interrupt, Subject};
use crate::id::{HumanRequestId, MessageId, sha256_hex};
use crate::tool::Risk;

/// The model call that waits for a user, and the number of interrupts of each call.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Interrupts {
    /// The message of the held call.
    held_message: Option<MessageId>,
    counts: BTreeMap<MessageId, u32>,
}

impl Interrupts {
    /// Returns true if the call for this message waits for a user.
    pub(super) fn holds(&self, message: &MessageId) -> bool {
        self.held_message.as_ref() == Some(message)
    }

    /// Returns true if any call waits for a user.
    pub(super) fn holds_any(&self) -> bool {
        self.held_message.is_some()
    }

    /// Returns the number of interrupts of the call for this message.
    pub(super) fn count_of(&self, message: &MessageId) -> u32 {
        self.counts.get(message).copied().unwrap_or_default()
    }

    /// Holds the call for this message and returns the human request. `None` if the call is already held.
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
        self.held_message = Some(message.clone());
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

    /// Releases the held call.
    pub(super) fn release(&mut self) {
        self.held_message = None;
    }
}
