//! Calls that their tool, a provider or a budget stopped: a person is asked whether they are made again.

use crate::entry::Event;
use crate::human::{Estimate, HumanRequest, Interrupt, MAX_INTERRUPT_BYTES, Subject};
use crate::id::{HumanRequestId, MessageId, sha256_hex};
use crate::input::InterruptTarget;
use crate::run::Run;
use crate::tool::Risk;

impl Run {
    /// Something stopped that can go on once a person has seen to it. `None` if nobody waits for it.
    pub(in crate::run) fn on_interrupted(
        &mut self,
        of: &InterruptTarget,
        interrupt: &Interrupt,
        at_ms: i64,
    ) -> Option<Vec<(String, Event)>> {
        let message = interrupt.message.floor_char_boundary(MAX_INTERRUPT_BYTES);
        let message = interrupt.message.get(..message).unwrap_or_default().to_owned();
        let interrupt = Interrupt { code: interrupt.code.clone(), message };
        let ask = match of {
            InterruptTarget::Call(call) => self.active_loop()?.interrupt_call(call, &interrupt)?,
            // It can be done without.
            InterruptTarget::Message(message) if message.is_employees() => {
                return self.employees.close().then(Vec::new);
            }
            InterruptTarget::Message(message) => self.interrupt_model_call(message, interrupt)?,
        };
        Some(self.request_humans(vec![ask], "", at_ms).into_iter().collect())
    }

    fn interrupt_model_call(
        &mut self,
        message: &MessageId,
        interrupt: Interrupt,
    ) -> Option<HumanRequest> {
        if self.human_requests.holds_message(message) {
            return None;
        }
        self.attempts_at(message)?.start_over();
        let rounds = self.human_requests.interrupts.entry(message.clone()).or_default();
        *rounds += 1;
        let id = HumanRequestId::new(format!("{message}.again{rounds}")).ok()?;
        self.human_requests.held_message = Some(message.clone());
        let digest = sha256_hex(id.as_str().as_bytes());
        let about = Subject::ModelInterrupt { message: message.clone(), interrupt };
        let (risk, estimate) = (Risk::Low, Estimate::default());
        Some(HumanRequest {
            id,
            task: None,
            subject: about,
            risk,
            reasons: Vec::new(),
            estimate,
            digest,
            expires_at_ms: None,
        })
    }
}
