//! A model that answers in another's place.

use super::{AgentResponse, Translator};
use crate::entry::Entry;
use crate::id::MessageId;
use crate::input::ModelChanged;
use crate::preview::MessageKey;
use crate::settings::Language;

impl Translator {
    /// Says that a fallback answers, and why, as a thought: the protocol has no other place for it. It is
    /// said once for each reason, and not again before every message.
    pub(super) fn model_changed(
        &mut self,
        entry: &Entry,
        changed: &ModelChanged,
    ) -> Option<AgentResponse> {
        let ModelChanged { message, from, to, failure } = changed;
        // Nobody is shown the call that sums up older turns.
        if message.is_compaction() || !self.replaced.insert((from.clone(), failure.code)) {
            return None;
        }
        let why = failure.sentence(self.language);
        let text = match self.language {
            Language::En => format!("The model {to} answers in place of {from}. {why}"),
            Language::Zh => format!("改由模型 {to} 代替 {from} 回答。{why}"),
        };
        let key = MessageKey {
            within: entry.within.clone(),
            message: MessageId::new(format!("{message}.model")).ok()?,
        };
        Some(self.thought(&key, &text, true, entry.at_ms))
    }
}
