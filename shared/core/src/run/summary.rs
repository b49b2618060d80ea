//! The closing phase: one model call that writes the answer.

use super::Run;
use crate::agent_loop::Attempts;
use crate::effect::{Effect, ModelCall, ToolChoice};
use crate::entry::Event;
use crate::error_code::{ErrorCode, Failure};
use crate::id::MessageId;
use crate::input::{FinishReason, ModelReplied};
use crate::settings::Role;
use crate::status::RunStatus;

/// The closing model call.
#[derive(Debug, Clone, PartialEq)]
pub struct SummaryCall {
    pub(super) attempts: Attempts,
    /// Why the work was broken off, if it was.
    pub(super) failure: Option<Failure>,
}

impl SummaryCall {
    pub(super) fn with_failure(because: Option<Failure>) -> Self {
        Self { attempts: Attempts::default(), failure: because }
    }

    pub(super) fn due_call(&self) -> Effect {
        Effect::CallModel(ModelCall {
            message: MessageId::summary(),
            role: Role::Summary,
            attempt: self.attempts.next_number(),
            failures: self.attempts.failures,
            crashes: self.attempts.crashes,
            retries: self.attempts.retries(),
            fallback: self.attempts.fallback().cloned(),
            tool_choice: ToolChoice::None,
            interrupts: 0,
            waits: false,
        })
    }
}

impl Run {
    /// Takes the reply that sums up: the run has its answer.
    pub(super) fn on_summary_replied(
        &mut self,
        replied: &ModelReplied,
        because: Option<Failure>,
        at_ms: i64,
    ) -> Vec<(String, Event)> {
        let reply = replied.reply.text.as_str();
        let (text, names) = self.deliverables().split_summary(reply);
        let (text, files) = (text.trim().to_owned(), self.files_listed_in(names));
        let completed = Event::MessageCompleted {
            message: replied.message.clone(),
            text: text.clone(),
            reasoning: replied.reply.reasoning.as_ref().map(|reasoning| reasoning.text.clone()),
            truncated: replied.reply.finish != FinishReason::Done,
            finish: replied.reply.finish,
            answer: !text.is_empty() && self.spec.settings.summary_policy.is_some(),
            usage: replied.reply.usage,
        };
        let mut events = vec![(replied.message.to_string(), completed)];
        let (status, answer, because) = match because {
            Some(because) if text.is_empty() => {
                (RunStatus::Failed, self.conversation.last_text().to_owned(), Some(because))
            }
            Some(because) => (RunStatus::Failed, text, Some(because)),
            None if !text.is_empty() => (RunStatus::Finished, text, None),
            // What the agent said when it was done is the answer then, if it said anything.
            None => match self.conversation.final_text() {
                words if words.is_empty() => {
                    events.extend(self.fail_run(ErrorCode::EmptyAnswer.into(), at_ms));
                    return events;
                }
                words => (RunStatus::Finished, words, None),
            },
        };
        events.extend(self.end_run(status, answer, files, because, at_ms));
        events
    }
}
