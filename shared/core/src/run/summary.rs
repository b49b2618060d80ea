//! The closing phase: one model call that writes the answer.

use super::Run;
use crate::agent_loop::Attempts;
use crate::code::Failure;
use crate::effect::{Effect, ModelCall, ToolChoice};
use crate::entry::Event;
use crate::file::{FileList, ProductFile};
use crate::id::MessageId;
use crate::input::ModelReplied;
use crate::settings::Role;
use crate::status::RunStatus;

/// What separates the summary's text from the names of the files it hands over.
pub const DELIVERABLES_MARK: &str = "$$$";

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
            retries: self.attempts.retries(),
            fallback: self.attempts.fallback().cloned(),
            tool_choice: ToolChoice::None,
            round: 0,
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
        let summary = Summary::read(&replied.reply.text, &self.produced);
        let completed = Event::MessageCompleted {
            message: replied.message.clone(),
            text: summary.text.clone(),
            reasoning: replied.reply.reasoning.as_ref().map(|reasoning| reasoning.text.clone()),
            cut: false,
            usage: replied.reply.usage,
        };
        let mut events = vec![(replied.message.to_string(), completed)];
        let answer = match summary.text.is_empty() {
            true => self.conversation.last_words().to_owned(),
            false => summary.text,
        };
        let status = if because.is_some() { RunStatus::Failed } else { RunStatus::Finished };
        events.extend(self.end(status, answer, summary.files, because, at_ms));
        events
    }
}

/// A summary as the model wrote it: the answer, then the names of the files it hands over.
struct Summary {
    text: String,
    files: Vec<ProductFile>,
}

impl Summary {
    /// Reads `answer$$$name、name`. Names are matched newest file first; without a match, every file
    /// that a user would be offered is handed over, newest first.
    fn read(reply: &str, produced: &FileList) -> Self {
        let (text, names) = reply.split_once(DELIVERABLES_MARK).unwrap_or((reply, ""));
        let offered = produced.deliverable();
        let mut files: Vec<ProductFile> = Vec::new();
        for name in names.split(['、', ',', '，', '\n', '$']).filter(|name| !name.trim().is_empty())
        {
            let named = offered.iter().find(|file| name.contains(file.name.as_str()));
            files.extend(named.filter(|file| !files.contains(file)).cloned());
        }
        if files.is_empty() {
            files = offered;
        }
        Self { text: text.trim().to_owned(), files }
    }
}
