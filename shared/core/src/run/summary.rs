//! The closing phase: one model call that writes the answer.

use crate::agent_loop::Attempts;
use crate::code::Failure;
use crate::effect::{Effect, ModelCall, ToolChoice};
use crate::file::{FileList, ProductFile};
use crate::id::MessageId;
use crate::settings::Role;

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
            tool_choice: ToolChoice::None,
        })
    }
}

/// A summary as the model wrote it: the answer, then the names of the files it hands over.
pub(super) struct Summary {
    pub(super) text: String,
    pub(super) files: Vec<ProductFile>,
}

impl Summary {
    /// Reads `answer$$$name、name`. Names are matched newest file first; without a match, every file
    /// that a user would be offered is handed over, newest first.
    pub(super) fn read(reply: &str, produced: &FileList) -> Self {
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
