//! The closing phase: a model call writes the answer, or the answer is stored.

use djinn_text::deliverables::Deliverables;

use crate::agent_loop::Attempts;
use crate::crash::ActiveEffects;
use crate::effect::{AnswerFile, Effect, ToolChoice};
use crate::entry::Event;
use crate::error_code::Failure;
use crate::id::{EntryId, EntryName, MessageId};
use crate::input::{FinishReason, ModelReplied};
use crate::settings::Role;

/// The last effect of a run before its end.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Closing {
    /// The call that writes the answer.
    Summary(SummaryCall),
    /// The complete answer, which is stored before the caller receives it.
    AnswerFile(AnswerFile),
}

impl Closing {
    pub(super) fn due(&self) -> Effect {
        match self {
            Self::Summary(summary) => Effect::CallModel(summary.attempts.to_call(
                summary.message(),
                Role::Summary,
                ToolChoice::None,
            )),
            Self::AnswerFile(file) => Effect::SaveAnswer(file.clone()),
        }
    }

    /// Returns the call that writes the answer, if the call is due.
    pub(super) fn summary(&self) -> Option<&SummaryCall> {
        let Self::Summary(summary) = self else { return None };
        Some(summary)
    }

    /// Returns the attempts at the call, if the call writes this message.
    pub(super) fn attempts_at(&mut self, message: &MessageId) -> Option<&mut Attempts> {
        match self {
            Self::Summary(summary) => {
                (*message == summary.message()).then_some(&mut summary.attempts)
            }
            Self::AnswerFile(_) => None,
        }
    }

    /// Processes a crash, which `ran` may have caused. Returns false if the call is given up.
    pub(super) fn on_resumed(&mut self, ran: &ActiveEffects) -> bool {
        let Self::Summary(summary) = self else { return true };
        !ran.has_message(&summary.message()) || summary.attempts.record_crash()
    }
}

/// The closing model call.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SummaryCall {
    pub(super) attempts: Attempts,
    /// The reason why the work ended early, if it did.
    pub(super) failure: Option<Failure>,
    /// The number of the summary, from 1. Further summaries follow reviews.
    pub(super) number: u32,
}

impl SummaryCall {
    fn message(&self) -> MessageId {
        MessageId::nth_summary(self.number)
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
            draft: false,
            usage: replied.reply.usage,
        };
        (EntryId::of_message(&replied.message, EntryName::Message), event)
    }
}
