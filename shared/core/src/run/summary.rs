//! The closing phase: one model call that writes the answer.

use super::Run;
use crate::agent_loop::Attempts;
use crate::code::{ErrorCode, Failure};
use crate::effect::{Effect, ModelCall, ToolChoice};
use crate::entry::Event;
use crate::id::MessageId;
use crate::input::{Finish, ModelReplied};
use crate::settings::Role;
use crate::status::RunStatus;

/// The closing model call.
#[derive(Debug, Clone, PartialEq)]
pub struct Summarizing {
    pub(super) attempts: Attempts,
    /// Why the work was broken off, if it was.
    pub(super) because: Option<Failure>,
}

impl Summarizing {
    pub(super) fn after(because: Option<Failure>) -> Self {
        Self { attempts: Attempts::default(), because }
    }

    pub(super) fn due(&self) -> Effect {
        Effect::CallModel(ModelCall {
            message: MessageId::summary(),
            role: Role::Summary,
            attempt: self.attempts.next(),
            failed: self.attempts.failed,
            crashes: self.attempts.crashes,
            retries: self.attempts.retries(),
            fallback: self.attempts.fallback().cloned(),
            tool_choice: ToolChoice::None,
            round: 0,
            waits: false,
        })
    }
}

impl Run {
    /// Takes the reply that sums up: the run has its answer.
    pub(super) fn summarized(
        &mut self,
        replied: &ModelReplied,
        because: Option<Failure>,
        at_ms: i64,
    ) -> Vec<(String, Event)> {
        let reply = replied.reply.text.as_str();
        let (text, names) = self.deliverables().split(reply);
        let (text, files) = (text.trim().to_owned(), self.files_listed_in(names));
        let completed = Event::MessageCompleted {
            message: replied.message.clone(),
            text: text.clone(),
            reasoning: replied.reply.reasoning.as_ref().map(|reasoning| reasoning.text.clone()),
            cut: replied.reply.finish != Finish::Done,
            finish: replied.reply.finish,
            answer: !text.is_empty() && self.asked.settings.summary.is_some(),
            usage: replied.reply.usage,
        };
        let mut events = vec![(replied.message.to_string(), completed)];
        let (status, answer, because) = match because {
            Some(because) if text.is_empty() => {
                (RunStatus::Failed, self.conversation.last_words().to_owned(), Some(because))
            }
            Some(because) => (RunStatus::Failed, text, Some(because)),
            None if !text.is_empty() => (RunStatus::Finished, text, None),
            // What the agent said when it was done is the answer then, if it said anything.
            None => match self.conversation.final_words() {
                words if words.is_empty() => {
                    events.extend(self.fail(ErrorCode::EmptyAnswer.into(), at_ms));
                    return events;
                }
                words => (RunStatus::Finished, words, None),
            },
        };
        events.extend(self.end(status, answer, files, because, at_ms));
        events
    }
}
