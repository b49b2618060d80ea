//! The closing phase: one model call that writes the answer.

use djinn_text::deliverables::Deliverables;

use crate::agent_loop::Attempts;
use crate::effect::{Effect, ToolChoice};
use crate::entry::Event;
use crate::error_code::Failure;
use crate::id::{EntryId, EntryName, MessageId};
use crate::input::{FinishReason, ModelReplied};
use crate::settings::Role;

/// The closing model call.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SummaryCall {
    pub(super) attempts: Attempts,
    /// The reason why the work ended early, if it did.
    pub(super) failure: Option<Failure>,
}

impl SummaryCall {
    /// Creates the call after completed work, or after work that a failure ended.
    pub(super) fn with_failure(failure: Option<Failure>) -> Self {
        Self { attempts: Attempts::default(), failure }
    }

    pub(super) fn due_call(&self) -> Effect {
        let message = MessageId::summary();
        Effect::CallModel(self.attempts.to_call(message, Role::Summary, ToolChoice::None))
    }
}

/// The parts of a summary's reply.
pub(super) struct SummaryReply<'a> {
    /// The answer without the list of files.
    pub(super) text: String,
    /// The list of files after the answer, as the model wrote the list.
    pub(super) file_list: &'a str,
}

impl<'a> SummaryReply<'a> {
    /// Parses a reply, given the names of the files that the summary may list.
    pub(super) fn read(replied: &'a ModelReplied, files: &Deliverables) -> Self {
        let (text, file_list) = files.split_summary(&replied.reply.text);
        Self { text: text.trim().to_owned(), file_list }
    }

    /// Returns the event for viewers. A text is marked as the answer if the settings mark answers.
    pub(super) fn event(&self, replied: &ModelReplied, marks_answers: bool) -> (EntryId, Event) {
        let event = Event::MessageCompleted {
            message: replied.message.clone(),
            text: self.text.clone(),
            reasoning: replied.reply.reasoning.as_ref().map(|reasoning| reasoning.text.clone()),
            truncated: replied.reply.finish != FinishReason::Done,
            finish: replied.reply.finish,
            answer: !self.text.is_empty() && marks_answers,
            usage: replied.reply.usage,
        };
        (EntryId::of_message(&replied.message, EntryName::Message), event)
    }
}
