//! Calls that their tool, a provider or a budget stopped: a person is asked whether they are made again.

use crate::entry::Event;
use crate::feedback::{About, Ask, Estimate, Interrupt, MAX_INTERRUPT};
use crate::id::{FeedbackId, MessageId, sha256};
use crate::input::Interrupted;
use crate::run::Run;
use crate::tool::Risk;

impl Run {
    /// Something stopped that can go on once a person has seen to it. `None` if nobody waits for it.
    pub(in crate::run) fn interrupted(
        &mut self,
        of: &Interrupted,
        interrupt: &Interrupt,
        at_ms: i64,
    ) -> Option<Vec<(String, Event)>> {
        let message = interrupt.message.floor_char_boundary(MAX_INTERRUPT);
        let message = interrupt.message.get(..message).unwrap_or_default().to_owned();
        let interrupt = Interrupt { code: interrupt.code.clone(), message };
        let ask = match of {
            Interrupted::Call(call) => self.agent()?.interrupted(call, &interrupt)?,
            // It can be done without.
            Interrupted::Message(message) if message.is_employees() => {
                return self.employees.close().then(Vec::new);
            }
            Interrupted::Message(message) => self.model_interrupted(message, interrupt)?,
        };
        Some(self.ask(vec![ask], "", at_ms).into_iter().collect())
    }

    fn model_interrupted(&mut self, message: &MessageId, interrupt: Interrupt) -> Option<Ask> {
        if self.asking.holds(message) {
            return None;
        }
        self.attempts_at(message)?.start_over();
        let rounds = self.asking.rounds.entry(message.clone()).or_default();
        *rounds += 1;
        let id = FeedbackId::new(format!("{message}.again{rounds}")).ok()?;
        self.asking.held = Some(message.clone());
        let digest = sha256(id.as_str().as_bytes());
        let about = About::ModelInterrupted { message: message.clone(), interrupt };
        let (risk, estimate) = (Risk::Low, Estimate::default());
        Some(Ask {
            id,
            task: None,
            about,
            risk,
            why: Vec::new(),
            estimate,
            digest,
            expires_at_ms: None,
        })
    }
}
