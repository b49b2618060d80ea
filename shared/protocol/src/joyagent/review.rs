//! Reviews as thoughts, because the protocol has no other place.

use super::{AgentResponse, Translator};
use crate::preview::TextKind;
use djinn_core::entry::{Entry, ReviewResult};
use djinn_core::id::{ChildId, MessageId, Path};
use djinn_messages::Wording;

impl Translator {
    /// Announces the result of a review, with the problems of the answer.
    pub(super) fn announce_review(
        &self,
        entry: &Entry,
        result: &ReviewResult,
    ) -> Vec<AgentResponse> {
        let why = result.failure.as_ref().map(|failure| failure.sentence(self.language));
        let wording = match (result.accepted, &why) {
            (true, _) => Wording::ReviewAccepted,
            (false, None) => Wording::ReviewRejected,
            (false, Some(_)) => Wording::ReviewFailed,
        };
        let round = result.round.to_string();
        let why = why.unwrap_or_default();
        let sentence = wording.fill(self.language, &[("round", round.as_str()), ("why", &why)]);
        let entries = result.problems.iter().chain(&result.missing);
        let lines = entries.map(|text| format!("- {text}"));
        let text = [sentence].into_iter().chain(lines).collect::<Vec<_>>().join("\n");
        vec![self.lane_thought(&entry.path, &entry.id.to_string(), &text, entry.at_ms)]
    }

    /// Replaces the text of an answer that a reviewer did not accept. The page never showed a summary.
    pub(super) fn reject_answer(
        &mut self,
        entry: &Entry,
        message: &MessageId,
    ) -> Vec<AgentResponse> {
        let key = entry.message_key(message);
        if self.replies.get(&entry.path).is_none_or(|reply| reply.key != key) {
            return Vec::new();
        }
        self.replies.remove(&entry.path);
        let text = Wording::AnswerRejected.text(self.language);
        vec![self.thought_event(&key, TextKind::Text, text, true, entry.at_ms)]
    }
}

/// Returns true for a run that judges an answer, and for the runs below. Its texts are no text for users.
pub(super) fn is_of_review(path: &Path) -> bool {
    path.split_first().is_some_and(|(child, _)| matches!(child, ChildId::Review(_)))
}
