//! A model that answers in another's place.

use super::{AgentResponse, Translator};
use djinn_core::entry::Entry;
use djinn_core::input::ModelChanged;
use djinn_messages::Wording;

impl Translator {
    /// Says that a fallback answers, and why, as a thought: the protocol has no other place for it. It is
    /// said once for each reason, and not again before every message.
    pub(super) fn announce_fallback(
        &mut self,
        entry: &Entry,
        changed: &ModelChanged,
    ) -> Vec<AgentResponse> {
        let ModelChanged { message, from, to, failure } = changed;
        // Nobody is shown the call that sums up older turns.
        if message.is_compaction() || !self.announced_fallbacks.insert((from.clone(), failure.code))
        {
            return Vec::new();
        }
        let why = failure.sentence(self.language);
        let values = [("to", to.as_str()), ("from", from), ("why", &why)];
        let text = Wording::FallbackAnswers.fill(self.language, &values);
        // Its id names its task, where there is one.
        vec![self.lane_thought(&entry.path, &entry.id.to_string(), &text, entry.at_ms)]
    }
}
