//! A model that answers in another's place, or later.

use super::{AgentResponse, Translator};
use djinn_core::entry::{Entry, Event};
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

    /// Says why a model's reply takes longer, and when it is asked again, as a thought.
    pub(super) fn announce_delay(&self, entry: &Entry) -> Vec<AgentResponse> {
        let Event::ModelDelayed { until_ms, failure, .. } = &entry.event else { return Vec::new() };
        let seconds = (until_ms.saturating_sub(entry.at_ms) + 500).div_euclid(1000).to_string();
        let why = failure.sentence(self.language);
        let values = [("why", why.as_str()), ("seconds", &seconds)];
        let text = Wording::ModelDelayed.fill(self.language, &values);
        vec![self.lane_thought(&entry.path, &entry.id.to_string(), &text, entry.at_ms)]
    }
}
